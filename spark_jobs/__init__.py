"""The Spark job: it reads staged files, appends them to a branch, and measures what the branch then holds.

Where to begin reading: `append_and_audit` is the entry point and runs the steps of `lakegate.audit.run`; `engine` gives
each step to a room. Rooms, from the bottom up: `jvm` (session, catalogs, Hadoop, exceptions), `formats` (staged files),
`tables` (Iceberg tables of a branch), `appending` (the one append), `metrics` (the audit's numbers and failing rows).
`probe` looks at where the job runs, and touches no table.
Imports point down. The job arrives as a zip, so it uses the standard library, pyspark and `lakegate.audit` alone.
"""
