"""Numbers with their noun and their verb, for people. It forms regular plurals only."""


def count(number: int, noun: str, singular: str = "", plural: str = "") -> str:
    """Return `1 file` or `1,200 files`. With a verb in two forms, return `1 file waits` or `1,200 files wait`."""
    verb = singular if number == 1 else plural
    return f"{number:,} {noun}" + ("" if number == 1 else "s") + (f" {verb}" if verb else "")
