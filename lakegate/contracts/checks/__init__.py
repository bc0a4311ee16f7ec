"""Checks: what a contract demands of a metric, each made from a word of it.

Begin with `check`, a check with its metric. Each table of rules is a subject: `column_rules` of a column's own words,
`quality` of ODCS's library and queries, `custom` of words of ours with the makers in `custom_rules` and `drifts`.
`relationships`, `promises` and `quarantine` read the sections of those names. A new check is a row of one of
the tables.
"""
