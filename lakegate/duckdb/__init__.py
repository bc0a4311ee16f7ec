"""DuckDB's words: Spark's SQL in its dialect (`dialect`), and each kind of metric over rows (`metrics`).

It is SQL text alone: whoever asks opens DuckDB, and a handler that names a table needs none.
"""
