"""`DeadLetters` in memory."""

from collections.abc import Iterable

from lakegate.ports import DeadLetter


class MemoryDeadLetters:
    """`DeadLetters` of one list, to which a test adds."""

    def __init__(self) -> None:
        self.letters: list[DeadLetter] = []

    def read(self) -> list[DeadLetter]:
        return list(self.letters)

    def delete(self, letters: Iterable[DeadLetter]) -> None:
        letter_ids = {letter.id for letter in letters}
        self.letters = [letter for letter in self.letters if letter.id not in letter_ids]
