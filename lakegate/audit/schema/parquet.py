"""The ends of a parquet file: they say where its footer is, or which fault it has."""

from lakegate.audit.advice import Advice, Fault
from lakegate.audit.model.files import FileKind
from lakegate.audit.schema.inspection import UPLOADED_WHOLE, WRITTEN_ANEW
from lakegate.audit.schema.kinds import not_of
from lakegate.counts import count

ENCRYPTED_FAULT = Fault("it is encrypted", Advice(vendor="write it without encryption of its own: storage encrypts it"))
TRUNCATED_FAULT = Fault("it is truncated: it begins as a parquet file and does not end as one", UPLOADED_WHOLE)
TAIL = 8  # bytes: the footer's length, and the magic
_MAGIC, _ENCRYPTED_MAGIC = b"PAR1", b"PARE"
_SMALLEST = 12  # magic, footer length, magic


def footer_length(length: int, first: bytes, last: bytes) -> int | Fault:
    """Return how many bytes the footer has, by the first and the last bytes of a file of this length; or its fault."""
    if last.endswith(_ENCRYPTED_MAGIC):
        return ENCRYPTED_FAULT
    if not first.startswith(_MAGIC):
        return not_of(FileKind.PARQUET, first)
    if not last.endswith(_MAGIC) or length < _SMALLEST:
        return TRUNCATED_FAULT
    length_in_file, room = int.from_bytes(last[-TAIL:-4], "little"), length - _SMALLEST
    if not 0 < length_in_file <= room:
        return Fault(
            f"its footer says that it has {count(length_in_file, 'byte')}, and there are {room:,}", WRITTEN_ANEW
        )
    return length_in_file
