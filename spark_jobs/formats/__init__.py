"""Formats of files: how each says what it holds, and what Spark would misread of it.

Where to begin reading: `kinds`, one row a kind of file, and `format`, which is what a row says. Then `parquet`, `orc`
and `avro`, one module a format, each of which reads a `footer`. Avro's has others beneath it, because its files say
nowhere how many rows they have: `avro_schema`, `avro_blocks`, `avro_claims`.
"""
