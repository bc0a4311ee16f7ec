"""Contracts inferred from sample files: types as they are, and checks that the samples pass, with the numbers that each
rests on. It changes nothing in any installation.

Begin with `inferred`, the page: it reads samples, suggests, writes and judges. A file is opened by its format: `typed`
(parquet, ORC, Avro), `delimited` (CSV) or `json_lines`; `text` gives values of the last two the types that `spelled`
finds. `agreement` finds one type for all samples, `numbers` measures columns, `suggestions` decides by those numbers
alone, and `writing` makes YAML of it.
"""
