"""Branches of one table as Iceberg's own, in any catalog that PyIceberg opens. Vendor words and errors end here.

`branches` is the port. A branch is a reference of the table to a snapshot, whose id names the commit. `refs` reads
references and snapshots, and `commits` makes each change once.
"""
