"""A number with its noun and its verb, in the one form that people read. It knows regular plurals alone."""


def count(number: int, noun: str, one: str = "", more: str = "") -> str:
    """Return `1 file`, `1,200 files`; with a verb in its two forms, `1 file waits`, `1,200 files wait`."""
    verb = one if number == 1 else more
    return f"{number:,} {noun}" + ("" if number == 1 else "s") + (f" {verb}" if verb else "")
