"""Rules of text files, CSV and JSON lines, that no engine decides: the Spark job and `lakegate.reading` keep them.

Begin with `scan`: a file's inspection by what its lines show. `dialect` tells by the first line that a file is written
in another way than its contract says. `values` has the spellings of each type, `fields` those of a CSV's line,
`objects` those of JSON's, and `first_bytes` the files that are no text at all. `causes` advises rows that do not parse.
No module opens a file.
"""
