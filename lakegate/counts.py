"""A number with what it counts, as people are told it everywhere. It knows regular plurals alone."""


def count(number: int, noun: str) -> str:
    """`1 file`, `1,200 files`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
