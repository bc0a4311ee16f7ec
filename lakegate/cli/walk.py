"""Walking through the checklist with a person at a terminal. Trying it all takes days: answers are kept in a file, and
the next walk goes on where this one was left.
"""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from rich.prompt import Prompt
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from lakegate.cli.terminal import console, say
from lakegate.counts import count
from lakegate.doctor.checklist import CHECKLIST
from lakegate.errors import Misconfigured


class Answer(StrEnum):
    """A person's word on one line of the checklist."""

    HELD = "held"
    FAILED = "failed"
    LATER = "later"
    STOP = "stop"


def walk(path: Path) -> bool:
    """Ask for each line that has no answer in the file, and write every answer to it at once. Return False if a line
    has failed by its answer.
    """
    given, screen = _read(path), console()
    for number, (what, how) in enumerate(CHECKLIST, 1):
        if what in given:
            continue
        say("", f"{number} of {len(CHECKLIST)}: {what}", f"    {how}")
        answer = Answer(Prompt.ask("What became of it?", console=screen, choices=[*Answer], default=Answer.LATER))
        if answer is Answer.STOP:
            break
        if answer is not Answer.LATER:
            given[what] = str(answer) if answer is Answer.HELD else Prompt.ask("What did you see?", console=screen)
            _write(path, given)
    failed = [what for what, seen in given.items() if seen != Answer.HELD]
    left = len(CHECKLIST) - len(given)
    say("", f"{len(given) - len(failed)} held, {len(failed)} failed, {left} left to try: {path}")
    say(*(f"✗ {what}: {given[what]}" for what in failed))
    if given:
        say(f"Please send us {count(len(given), 'answer')}: the file is ready for an issue.")
    return not failed


def _read(path: Path) -> dict[str, str]:
    """Return the answers of earlier walks to lines that the checklist still has."""
    try:
        found = YAML(typ="safe").load(path.read_text(encoding="utf-8")) if path.exists() else {}
    except (OSError, UnicodeError, YAMLError) as error:
        raise Misconfigured(f"{path} cannot be read as a walk's answers: {error}; name another file") from None
    if not isinstance(found, Mapping):
        raise Misconfigured(f"{path} has no answers of a walk; name another file")
    return {what: str(found[what]) for what, _ in CHECKLIST if what in found}


def _write(path: Path, given: Mapping[str, str]) -> None:
    yaml = YAML(typ="safe")
    yaml.default_flow_style = False
    with path.open("w", encoding="utf-8") as file:
        yaml.dump(dict(given), file)
