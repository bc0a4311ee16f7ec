"""Ingest: the stack `<name>`, of all that works on the buckets and can be made again.

Begin with `stack`, which also has the outputs that the command line finds the installation by. `inbox` is the way from
the landing bucket to the function `ingest`, `function` a function with its role, log and alarms, `spark` the EMR
Serverless application with the jobs' role, `people` the policies to ask and to act, `identity` a role's part in the
catalog. `signals` has the alarms on what the functions emit, `deliveries` those on what AWS drops, `dashboard` shows
all. `dead_letters` serves all of them.
"""
