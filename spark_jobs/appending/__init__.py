"""The one append, and the faults of files that can be read but not be appended.

Where to begin reading: `append`. Each other module finds one fault, by file: `text_sizes` (too many bytes),
`pattern_tries` (too much work for patterns), `decimals` (digits beyond the type), `path_lengths`, `partition_counts`,
and `not_null` (nulls that the table does not take). They read and do not write; only `append` commits.
"""
