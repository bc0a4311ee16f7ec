"""A fault in one phrase, with advice: the next thing to write, and its writer. It decides nothing."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, kw_only=True)
class Advice:
    """The next thing to write. `vendor` is what to ask of whoever writes the files. `contract` is what its owner is to
    change if the file is right, and `lines` are the contract's lines for that, as YAML. `operator` is what to do in the
    installation. All are phrases that begin with a verb.
    """

    vendor: str = ""
    contract: str = ""
    lines: str = ""
    operator: str = ""

    def __bool__(self) -> bool:
        return bool(self.vendor or self.contract or self.operator)

    @property
    def steps(self) -> tuple["Step", ...]:
        """The ways on, each a sentence of its own."""
        return tuple(self._steps())

    def _steps(self) -> Iterator["Step"]:
        if self.vendor:
            yield Step(sentence=f"Ask the vendor to {self.vendor}.")
        if self.contract:
            sentence = f"{self.contract}{':' if self.lines else '.'}"
            yield Step(sentence=f"If the file is right, {sentence}", lines=self.lines)
        if self.operator:
            yield Step(sentence=f"{self.operator[:1].upper()}{self.operator[1:]}.")


NO_ADVICE = Advice()


@dataclass(frozen=True, kw_only=True)
class Step:
    """One way on as a sentence, with the lines to write in the contract."""

    sentence: str
    lines: str = ""


def setting(word: str, value: object) -> str:
    """Return the contract's lines of one of lakegate's own settings."""
    return f"customProperties:\n  - {{property: {word}, vendor: lakegate, value: {value}}}"


class Fault(str):
    """A fault of a file: one phrase, compared and stored as that text, with its advice beside it."""

    __slots__ = ("advice",)
    advice: Advice

    def __new__(cls, text: str, advice: Advice) -> Self:
        fault = str.__new__(cls, text)
        fault.advice = advice
        return fault

    def but(self, text: str) -> "Fault":
        """Return the fault in other words, with the same advice."""
        return Fault(text, self.advice)

    @property
    def in_full(self) -> str:
        """The fault and its advice as one line, where nothing but a text is kept."""
        steps = (f"{step.sentence} {' '.join(step.lines.split())}".strip() for step in self.advice.steps)
        return f"{self}. {' '.join(steps)}".removesuffix(" ").removesuffix(".")
