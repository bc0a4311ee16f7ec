"""The one append, and the faults of files that can be read but not be appended.

Where to begin reading: `append`, then `faults`, which finds the files that make it fail. `rows` reads staged files as
the table's rows, with each decimal held to its type by `decimals`. The other modules find one fault each: `text_sizes`
(too many bytes), `path_lengths`, `partition_counts`, and `not_null` (nulls that the table does not take). Only
`append` commits.
"""
