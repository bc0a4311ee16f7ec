"""Outcomes of SQL's expressions, as trees: which values they may have, whatever the rows.

Begin with `expressions`, which judges a tree; `values` is what it goes by. `truths` judges comparisons and `numbers`
arithmetic. `relations` says how far two expressions of one thing are from each other, and `lengths` how long a text is.
A function that is not judged may have any value: a new one is a row of the table at the end of `expressions`.
"""
