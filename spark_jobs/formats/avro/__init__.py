"""Avro files. They do not say how many rows they have, so their blocks are walked and checked before a row is read.

Where to begin reading: `header`, which has the format's row. `schema` measures a schema, `blocks` walks from block to
block, and `claims` checks that a block can hold the rows it claims.
"""
