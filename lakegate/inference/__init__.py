"""Contracts inferred from sample files: types as they are, and checks that the samples pass, with the numbers that each
rests on. It changes nothing in any installation.

Begin with `contract`, the page: it reads samples, suggests, writes and judges. A file is opened by its format:
`typed_samples` (parquet, ORC and Avro) or `text_samples`. Of those, `csv_dialect` proposes a dialect for the whole
file, `json_lines` looks at each value, `text_types` finds types that write each text again, and `text` reads rows
as the job does. `agreement` finds one type for all samples, `numbers` measures columns, `suggestions` decides by those
numbers alone, and `writing` makes a contract of it. `evaluator` asks a contract's checks of rows in memory, by the
express engine.
"""
