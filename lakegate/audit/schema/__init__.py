"""Columns: of a file, of the contract and of the table, and how they fit. No module opens a file or changes a table.

Start reading at `fit`. It compares `types`, by `names` as engines compare them; `inspection` applies it to files.
`faults` are the kinds of misfits, each with advice, and `lines` are a contract's words for columns, as YAML.
Names with `owners` are no column's, and `partitions` have names of their own.
"""
