"""One module an engine: `version()`, and `auditor(spark, rules, table)`, which gives a function that audits the table
once and returns the names of the rules that failed. Each is written as the engine's own documentation would have it.
"""
