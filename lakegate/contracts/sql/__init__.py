"""SQL that people write in contracts: a rule about a row, or a query that gives one number. It makes no metric.

Begin with `statements`, which parses a text and writes it anew. `allowlist` goes through the tree and checks each piece
and the kinds of its operands, `functions` is the table of what may be called, and `growth` limits how long texts
become. A new function is a row of `functions`, and of `growth` if its result is a text.
"""
