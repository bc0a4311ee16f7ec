"""Metrics: what is measured of a file's rows, in SQL that is built as a tree. It does not know which word asks for it.

Begin with `metric`, which gives each its id. `rows` counts rows with a wrong value, `texts` and `arrays` those of these
types, and `aggregates` takes one number of a whole column. A new metric is a function; a new *kind* of metric begins in
`lakegate/audit/model/plan.py`.
"""
