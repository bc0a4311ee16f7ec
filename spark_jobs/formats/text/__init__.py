"""Text files: CSV and JSON lines. They have no footer and no types, so lines are counted and values are parsed.

Where to begin reading: `scan` looks at staged files and counts their lines without parsing a value. `rows` turns lines
into rows of the contract's types and says what is wrong with the others, by the strict rules of `parsing`.
"""
