"""The Spark jobs: standard library, pyspark and lakegate.audit alone, because they arrive in a zip.

Where to begin reading: `append_and_audit`, which runs the steps of `lakegate.audit.run`, and `engine`, which gives each
of them to a module. Files are looked at before any row is read (`staged`, `staged_text`, the footers and headers); the
table is made and appended to (`table`, `rewritten` with `overwrite`, `append`, `text` with `parsing` and `unparsed`);
its commits are compared (`iceberg`), measured (`measure`, `aggregates`, `dictionaries`, `keys` with `base`), and rows
are fetched (`samples`, `quarantine`). Under all of it: `session`, `java`, `hadoop`, `nessie`, `apart`.
"""
