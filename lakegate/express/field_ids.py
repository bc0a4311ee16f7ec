"""Field ids in a parquet footer's own bytes (Thrift's compact protocol). Arrow takes a negative id for none, and other
readers take it for one: by it they find nothing in a column.
"""

from collections.abc import Iterator

_SCHEMA, _FIELD_ID = 2, 9  # fields of parquet's FileMetaData and SchemaElement
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_NUMBERS = (4, 5, 6)
_MANY = 15  # of a list's items: how many stands behind it


def field_ids(body: bytes) -> list[int | None]:
    """Return the field id of each column of a flat file that Arrow has read, None if it has none. Raise ValueError or
    IndexError if its footer is none.
    """
    size = int.from_bytes(body[-8:-4], "little")
    footer = _Reader(body[-8 - size : -8])
    for number, kind in footer.fields():
        if number == _SCHEMA and kind == _LIST:
            return [footer.id_in_struct() for _ in range(footer.size()[0])][1:]  # the first is the root
        footer.skip(kind)
    raise ValueError("a footer without columns")


class _Reader:
    """A place in bytes, which moves on."""

    def __init__(self, body: bytes) -> None:
        self._body, self._at = body, 0

    def _next(self) -> int:
        self._at += 1
        return self._body[self._at - 1]

    def _number(self) -> int:
        found, shift = 0, 0
        while (byte := self._next()) & 0x80:
            found, shift = found | (byte & 0x7F) << shift, shift + 7
        return found | byte << shift

    def _signed(self) -> int:
        found = self._number()
        return found >> 1 ^ -(found & 1)

    def fields(self) -> Iterator[tuple[int, int]]:
        """Yield number and type of a struct's fields. Whoever asks reads the values."""
        last = 0
        while head := self._next():
            last = last + (head >> 4) if head >> 4 else self._signed()
            yield last, head & 0x0F

    def size(self) -> tuple[int, int]:
        """Read a list's head: how many items it has, and their type."""
        many, kind = divmod(self._next(), 16)
        return (self._number() if many == _MANY else many), kind

    def id_in_struct(self) -> int | None:
        found = None
        for number, kind in self.fields():
            if number == _FIELD_ID and kind in _NUMBERS:
                found = self._signed()
            else:
                self.skip(kind)
        return found

    def skip(self, kind: int, *, in_list: bool = False) -> None:
        """Pass over a value. Within a list a truth value takes a byte of its own."""
        if kind in (_TRUE, _FALSE, _BYTE):
            self._at += 1 if in_list or kind == _BYTE else 0
        elif kind in _NUMBERS:
            self._number()
        elif kind == _DOUBLE:
            self._at += 8
        elif kind == _BINARY:
            size = self._number()
            self._at += size
        elif kind in (_LIST, _SET):
            many, inner = self.size()
            for _ in range(many):
                self.skip(inner, in_list=True)
        elif kind == _STRUCT:
            for _, inner in self.fields():
                self.skip(inner)
        else:  # parquet has no map in its footers
            raise ValueError(f"a footer with a value of type {kind}")
