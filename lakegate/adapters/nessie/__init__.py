"""Branches, receipts and decisions on Nessie. Vendor words and errors end here.

`catalog` is the three ports of the catalog. It calls Nessie through `rest`, and spells receipts as `contents` and
decisions as `notes`, in the properties of commits. `errors` translates. It never forces a merge, and repeats no request
whose outcome it does not know.
"""

from lakegate.adapters.nessie.catalog import NessieCatalog
from lakegate.adapters.nessie.errors import nessie_errors

__all__ = ["NessieCatalog", "nessie_errors"]
