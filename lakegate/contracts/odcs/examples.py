"""Lines that a contract may lack, as YAML, for a person to write. The words are right; the values are examples."""

from collections.abc import Mapping

EXAMPLES: Mapping[str, str] = {
    "apiVersion": "apiVersion: v3.2.0",
    "kind": "kind: DataContract",
    "id": "id: shop-orders",
    "version": "version: 1.0.0",
    "status": "status: active",
    "name": "name: orders",
    "server": "server: landing",
    "type": "type: s3",
    "location": "location: s3://landing/shop/orders/*.parquet",
    "format": "format: parquet",
    "metric": "metric: nullValues",
    "query": "query: SELECT COUNT(*) FROM {object} WHERE amount < 0",
    "to": "to: shop.customers.id",
    "from": "from: orders.customer",
    "property": "property: latency",
    "element": "element: orders.placed",
    "unit": "unit: d",
}
"""A line for each word that may be missing."""
TYPE = "logicalType: string"
PHYSICAL_NAME = "physicalName: shop.orders"
OPERATOR = "mustBe: 0"
COLUMNS = "properties:\n  - name: id\n    logicalType: integer"
LANDING = (
    "servers:\n  - server: landing\n    type: s3\n    location: s3://landing/shop/orders/*.parquet\n    format: parquet"
)
SCHEMA = f"schema:\n  - name: orders\n    {PHYSICAL_NAME}\n    {COLUMNS.replace(chr(10), chr(10) + '    ')}"
WHOLE = "\n".join([*(EXAMPLES[word] for word in ("apiVersion", "kind", "id", "version", "status")), LANDING, SCHEMA])
"""A whole contract."""


def part(word: str) -> str:
    """Return the line of a nested column's part: its items, or a map's key or value."""
    return f"{word}: {{{TYPE}}}"
