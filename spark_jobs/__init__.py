"""The Spark jobs: standard library, pyspark and lakegate.audit alone, because they arrive in a zip.

Where to begin reading: `append_and_audit`, which runs the steps of `lakegate.audit.run`, and `engine`, which gives
each of them to a module. Files are looked at before any row is read (`staged`, `staged_text`, `formats`). The table is
made and appended to (`table`, `rewritten` with `overwrite`, `append` with `sizes`, `text` with `parsing` and
`unparsed`). Its commits are compared (`iceberg`) and measured (`measure`, `aggregates`, `dictionaries`, `keys` with
`base`), and rows are fetched (`samples`, `quarantine`, `failing_keys`). One row of `kinds` says how a kind of metric
is measured and its failing rows are found. Under all of it: `session`, `java`, `hadoop`, `nessie`, `apart`.
"""
