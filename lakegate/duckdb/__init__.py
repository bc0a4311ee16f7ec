"""DuckDB's SQL: translations of Spark's expressions (`dialect`), and each kind of metric over rows (`metrics`).

It makes SQL text alone. The caller opens DuckDB, so a handler can import it without DuckDB.
"""
