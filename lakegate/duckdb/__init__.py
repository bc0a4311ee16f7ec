"""DuckDB's SQL: translations of Spark's expressions (`dialect`), and each kind of metric over rows (`metrics`).

`macros` are functions that translations call, `numbers` gives arithmetic the types that Spark gives it, and
`aggregates` hand over numbers that depend on the order of adding. tests/spark/test_catalyst.py asks Spark's own
evaluator.

It makes SQL text alone. The caller opens DuckDB, so a handler can import it without DuckDB.
"""
