"""Contents and operations as Nessie spells them: a receipt is a UDF content that holds JSON."""

from collections.abc import Iterator, Mapping
from typing import Any

from lakegate.audit.model.codec import PARSE_ERRORS
from lakegate.landing.receipts import NAMESPACE, Receipt
from lakegate.ports import MetadataFile

SPACE = (NAMESPACE, "receipts")
SPACES = (SPACE[:1], SPACE)
WATERMARK = (NAMESPACE, "watermark")
DIALECT = "lakegate"
WITH_METADATA = ("ICEBERG_TABLE", "ICEBERG_VIEW")

Key = tuple[str, ...]
Json = dict[str, Any]


def kind_of(old: Json | None, new: Json | None) -> str:
    """Return Nessie's type of a changed content, or nothing if its type changed."""
    kinds = {content["type"] for content in (old, new) if content}
    return str(kinds.pop()) if len(kinds) == 1 else ""


def receipt_in(key: Key, content: Json) -> Receipt | None:
    """Return the receipt that a content holds, if it is one and is stored under its own name."""
    if key[:-1] != SPACE or content.get("type") != "UDF":
        return None
    try:
        receipt = Receipt.from_json(content["sqlText"])
    except PARSE_ERRORS:
        return None
    return receipt if receipt.name == key[-1] else None


def metadata_file(key: Json, content: Json | None) -> Iterator[MetadataFile]:
    """Yield the metadata file of a content that is a table or a view."""
    if content and content["type"] in WITH_METADATA:
        table, is_view = ".".join(key["elements"]), content["type"] == "ICEBERG_VIEW"
        yield MetadataFile(table=table, uri=content["metadataLocation"], is_view=is_view)


def write(key: Key, content: Json) -> Json:
    """Return the operation that puts a content."""
    return {"type": "PUT", "key": {"elements": list(key)}, "content": content}


def delete(key: Key) -> Json:
    """Return the operation that deletes a content."""
    return {"type": "DELETE", "key": {"elements": list(key)}}


def edits(target: Mapping[Key, Json | None], current: Mapping[Key, Json]) -> list[Json]:
    """Return the operations that turn the contents in `current` into those in `target` (None: delete)."""
    different = [(key, content) for key, content in target.items() if content != current.get(key)]
    return [write(key, _portable(content, current.get(key))) if content else delete(key) for key, content in different]


def _portable(content: Json, current: Json | None) -> Json:
    """Return a content for another branch, without its id if the key is new there: Nessie then assigns an id of its
    own.
    """
    return content if current else {name: value for name, value in content.items() if name != "id"}


def namespace(key: Key) -> Json:
    """Return a content that is a namespace."""
    return {"type": "NAMESPACE", "elements": list(key)}


def text_content(text: str, current: Json | None) -> Json:
    """Return a content that holds the text. Nessie accepts a new value for an existing content only with that content's
    id.
    """
    content = {"type": "UDF", "dialect": DIALECT, "sqlText": text}
    return content | ({"id": current["id"]} if current else {})
