"""Files of text, CSV and JSON lines, read in this process exactly as the Spark job reads them, without Spark.

Begin with `text`: `inspect` says what the job says of a file before it parses a value, and `parts` yields its rows as
Arrow has them, with the rows that do not parse. The rules are `lakegate.audit.text`; what Spark's own parsers decide is
kept to here (`values`, `moments`, `fields`, `records`, `objects`), and where it cannot be certain, HandedOver is raised
and nothing is guessed. `source` opens a file and unpacks it, and `lines` are its lines.
"""
