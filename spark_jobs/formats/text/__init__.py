"""Text files. They have no footer and no types, so lines are counted and values are parsed.

Where to begin reading: `text_format` says what a text format is, and `csv_text` and `json_lines` are the two.
`scan` inspects staged files after `first_bytes` has looked at their ends. `rows` gives files of one layout to their
format, which makes `parsed_files`: rows of `lines`, with values by the strict rules of `parsing`.
"""
