"""A number with its noun, in the one form that people are told. It knows regular plurals alone."""


def count(number: int, noun: str) -> str:
    """Return `1 file`, `1,200 files`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
