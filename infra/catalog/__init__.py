"""Catalog: the stack `<name>-catalog`, a Nessie with identities, unless an installation brings one of its own.

Begin with `stack`. `network` is the VPC and who may reach whom, `database` the PostgreSQL that Nessie keeps everything
in, `server` Nessie's tasks, `front` the load balancer with TLS and the name that clients call, `watch` the alarms on
all of them. `settings` is Nessie's own settings and imports nothing of CDK, `sizes` what dev and prod differ in, and
`faults` what an installation may not choose. The database must outlive the stack, as the buckets do.
"""
