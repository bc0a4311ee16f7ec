"""Faults of a text file that its first and last bytes show: another format, or a compression that is not there."""

import re

from lakegate.audit.advice import Advice, Fault, setting
from lakegate.audit.model.files import SUFFIXES
from lakegate.audit.model.limits import Limits
from lakegate.audit.schema.inspection import UPLOADED_WHOLE
from lakegate.audit.schema.kinds import MAGIC, NAMES, begins_as, of_format

_REQUEST = "write it as the contract says, as text"


def _unsaid(codec: str) -> Fault:
    return Fault(
        f"it is compressed by {codec}, and neither its name nor the contract says so",
        Advice(
            vendor=f"end its name with {SUFFIXES[codec]}, or to upload it uncompressed",
            contract="say so, at the contract's landing server, if all files of the table are",
            lines=setting("compression", codec),
        ),
    )


def _unread(codec: str) -> Fault:
    message = f"it is compressed by {codec}, which is not read: gzip, bzip2 and zstd are"
    return Fault(message, Advice(vendor="compress it by gzip, bzip2 or zstd, or not at all"))


UTF_32 = Fault("it is UTF-32", Advice(vendor="write it as UTF-8"))
UTF_16 = Fault("it is UTF-16", Advice(vendor="write it as UTF-8"))
_OTHER_FORMATS = {
    **{magic: Fault(f"it is {NAMES[kind]}", of_format(kind, _REQUEST)) for magic, kind in MAGIC.items()},
    b"PK\x03\x04": Fault("it is a zip file", Advice(vendor="unzip it first, or to compress it by gzip, bzip2 or zstd")),
    b"\xff\xfe\x00\x00": UTF_32,
    b"\x00\x00\xfe\xff": UTF_32,
    b"\xff\xfe": UTF_16,
    b"\xfe\xff": UTF_16,
    b"\x1f\x8b": _unsaid("gzip"),
    b"BZh": _unsaid("bzip2"),
    b"\x28\xb5\x2f\xfd": _unsaid("zstd"),
    b"\xfd7zX": _unread("xz"),
    b"\x04\x22\x4d\x18": _unread("lz4"),
}
_OTHER_COMPRESSION = Fault(
    "it is not compressed as its name or the contract says",
    Advice(vendor="compress it as its name ends, or to leave that end off an uncompressed file"),
)
_NO_END = Fault("it does not end as bzip2 does: it is cut off, or something stands behind its end", UPLOADED_WHOLE)
# The most bytes that one byte can hold: deflate's limit, and blocks of bzip2 and zstd that repeat one letter.
_MOST_RATIO = {SUFFIXES["gzip"]: 1032, SUFFIXES["bzip2"]: 1_100_000, SUFFIXES["zstd"]: 32_768}
_BEGINS = {
    SUFFIXES["gzip"]: re.compile(rb"\x1f\x8b"),
    SUFFIXES["bzip2"]: re.compile(rb"BZh"),
    SUFFIXES["zstd"]: re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"),  # a frame, or a skippable one
}
# bzip2 ends with this marker, a checksum, and bits that fill the last byte. Hadoop does not ask for it, and reports no
# error for a file that is cut off just before it.
_BZIP2_END, _BZIP2_BITS = 0x177245385090, 48
_CHECKSUM_BITS, _BYTE_BITS = 32, 8
TAIL = (_BZIP2_BITS + _CHECKSUM_BITS) // _BYTE_BITS + 1
"""The bytes that show an end of bzip2."""


def fault_of_ends(suffix: str, start: bytes, end: bytes) -> Fault | None:
    """Return why a file with these FIRST and last bytes is not the text that the ending of its name says."""
    if suffix and not _BEGINS[suffix].match(start):
        return _OTHER_COMPRESSION
    if suffix == SUFFIXES["bzip2"] and not _ends_as_bzip2(end):
        return _NO_END
    other_formats = {} if suffix else _OTHER_FORMATS
    return next((other for magic, other in other_formats.items() if begins_as(start, magic)), None)


def compression(name: str) -> str:
    """Return the ending of a file's name that tells its compression; "" if none does."""
    return next((suffix for suffix in _BEGINS if name.endswith(suffix)), "")


def may_exceed(limits: Limits, suffix: str, size: int) -> bool:
    """Return True if a compressed file of so many bytes could hold more than the limit."""
    return size * _MOST_RATIO[suffix] > limits.uncompressed


def _ends_as_bzip2(end: bytes) -> bool:
    """Return True if the end marker is there; it may begin at any bit."""
    bits = int.from_bytes(end) >> _CHECKSUM_BITS
    return any(bits >> pad & (1 << _BZIP2_BITS) - 1 == _BZIP2_END for pad in range(_BYTE_BITS))
