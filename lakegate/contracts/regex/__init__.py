"""Regular expressions of contracts, and what they cost an engine. It knows no contract and no column.

Begin with `portable`, which takes a pattern apart and writes it anew. `repetition` says, over `charset`, which patterns
are refused and how long a text may be that the others are asked of. `prefilter` finds cheaper conditions, and `like`
rewrites LIKE. What is accepted must stay quick in Java, RE2 and Python: tests/hostile holds each of these to that.
"""
