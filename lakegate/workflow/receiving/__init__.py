"""Receiving: the parts of `receive`.

Begin with `triage`, which sorts a table's files by what is known of them. `arrivals` looks files up and lets each
failure stay alone. `untried_files` decides the files that need no attempt. `company` says how long files wait for
others, `shares` how many batches each table opens now, by the jobs that `slots` counts, and `queued` notes the files
that wait. `canary` drops a file of the service's own.
"""
