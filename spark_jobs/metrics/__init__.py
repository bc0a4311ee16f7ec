"""Metrics of the appended batch, and the rows that fail them.

Where to begin reading: `kinds` has one row per kind of metric, and `measure` takes each metric from the cheapest source
that proves it: statistics, then `dictionaries`, then `aggregates`. `keys` counts repeated and orphaned keys, and
`failing_keys` finds their rows. `samples` fetches failing rows for the report, and `malformed` the rows that never got
to the table. Only `quarantine` writes.
"""
