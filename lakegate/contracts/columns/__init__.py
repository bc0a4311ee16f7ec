"""Columns: names, types and the parts of nested ones. It does not know what must be true of them.

Begin with `fields`: a `Field` is the column that checks, metrics and SQL are handed. `reader` makes them of a contract,
and `types` knows ODCS's and Spark's types. A new type is a row of `types`.
"""
