"""Made-up rows for a contract's types, ranges, enums, patterns and keys, with one fault if it is asked for.

Start reading at `rows`. `values` and `patterns` draw what a column might hold, and `files` writes the rows.
"""
