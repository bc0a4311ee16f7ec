"""Iceberg tables on the attempt's branch: their metadata, their definition, and commits other than the append.

Where to begin reading: `iceberg` loads tables, compares two states and reads given data files. `ddl` creates a table or
evolves it. `base` answers for tables as they are at the attempt's base. `overwrite` replaces data files, and
`rewritten` takes rows out of data files that someone else has compacted; both commit, so change them with care.
`nessie` reads the branch's head.
"""
