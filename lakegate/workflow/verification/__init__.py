"""Verification: the catalog, the service's bucket and the lake are compared, which a restore may have parted.

Begin reading at `verify`, which only the command line calls, and which writes nothing. `storage` reads the files that
references need, `ledger` what receipts, reports and main's tables say, and `attempts` what open branches refer to. They
return `facts`, and `rules` judges these; it is pure.
"""
