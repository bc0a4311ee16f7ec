"""The Spark jobs: standard library, pyspark and lakegate.audit alone, because they arrive in a zip.

Where to begin reading: `append_and_audit`, whose steps are the others. It looks at files before any row is read
(`look`, `staged`, `staged_text`, `formats`), makes the table and appends (`table`, `rewritten` with `overwrite`,
`append`, `text` with `parsing` and `unparsed`), proves what the branch holds (`prove`, `iceberg`), measures (`measure`,
`aggregates`, `dictionaries`, `keys` with `base`) and fetches rows (`samples`, `quarantine`, `failing_keys`). One row of
`kinds` says how a kind of metric is measured, and how its failing rows are found. Under all of it: `session`, `java`,
`hadoop`, `nessie`, `apart`, `errors`.
"""
