"""Formats of files: how each says what it holds, and what Spark would misread of it.

Where to begin reading: `footer`, which is what a reader of a format gives. Then `parquet`, `orc` and `avro`, one module
a format; Avro's has others beneath it, because its files say nowhere how many rows they have (`avro_schema`,
`avro_blocks`, `avro_claims`).
"""
