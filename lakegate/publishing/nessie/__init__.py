"""Branches, receipts, decisions and tables on Nessie. Vendor words and errors end here.

`catalog` is the three ports of the catalog. It calls Nessie through `rest`, and spells receipts as `contents` and
decisions as `records`, in the properties of commits. `errors` translates. It never forces a merge, and repeats no
request whose outcome it does not know. `tables` are those of its Iceberg REST, through PyIceberg.
"""

from lakegate.publishing.nessie.catalog import NessieCatalog
from lakegate.publishing.nessie.errors import nessie_errors
from lakegate.publishing.nessie.tables import NessieTables

__all__ = ["NessieCatalog", "NessieTables", "nessie_errors"]
