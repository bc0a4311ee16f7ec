"""Regular expressions of contracts, and what they cost an engine. It knows no contract and no column.

Begin with `portable`, which takes a pattern apart and writes it anew. `cost` bounds the tries of an engine that goes
back and `stack` the depth of its calls, both over `charset`; `tries` says the bound in SQL for each text. `prefilter`
finds cheaper conditions, and `like` rewrites LIKE. What is accepted must stay quick in Java, RE2 and
Python: tests/hostile holds each of these to that.
"""
