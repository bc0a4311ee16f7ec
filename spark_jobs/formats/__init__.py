"""Formats of staged files: what each file says of itself, and how Spark reads it.

Where to begin reading: `registry` has one row per format, and `format` says what a row holds; then `inspection`, which
looks at each staged file before any row is read. `parquet`, `orc` and `avro` read a `footer`; `text` scans lines.
`origin` gives a row the id of its file. To add a format, write one module and its row in `registry`. Nothing here
writes.
"""
