"""Spark's session and its JVM: everything here knows Spark and nothing of files, tables or metrics.

Where to begin reading: `session` builds the session and its catalogs, one per Nessie reference. `gateway` is the one
door to Java; `failures` explains Java's exceptions. `hadoop` reads and writes objects, `isolate` reads files one by one
so that a failure has an owner, and `spark_sql` spells literals and types.
"""
