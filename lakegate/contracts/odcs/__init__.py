"""ODCS: a contract's text as values that know their lines, and the standard's words. It knows no table.

Begin with `document`, which every reader of a contract is handed; `size_limits` ends the reading of one that is too
large. `vocabulary` has every word with the answer to it, `json_schema` the standard's own demands, `settings` our
`customProperties`, and `writing` writes a document, with remarks behind its lines. A new word is a row of
`vocabulary`, from which docs/reference/contract-words.md is written.
"""
