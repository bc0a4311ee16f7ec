"""SQL that people write in contracts: a rule about a row, or a query that gives one number. It makes no metric.

Begin with `statements`, which parses a text and writes it anew. `allowlist` has each piece of syntax with the kinds of
its operands, and `growth` limits how long texts become. A new function is a row of `allowlist`, and of `growth` if its
result is a text.
"""
