"""An environment's settings file: an installation's options as TOML. It is checked whole, and each fault has its line.

It knows no AWS resources.
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Self

from infra.config import Config
from lakegate.errors import Misconfigured

DEFAULTS = {field.name: field.default for field in fields(Config)}
TYPES = {bool: "true or false", int: "a whole number", str: "text in quotes", tuple: "a list of texts, in brackets"}
_NAMED = re.compile(r"-c (\w+)")  # a fault of Config names each setting like this
_AT_LINE = re.compile(r"\s*\(at line ([0-9]+), column [0-9]+\)")


@dataclass(frozen=True, kw_only=True)
class SettingsFile:
    """A file's values, and the line on which each begins."""

    path: Path
    values: Mapping[str, object]
    lines: Mapping[str, int]

    @classmethod
    def read(cls, path: Path) -> Self:
        try:
            text = path.read_text(encoding="utf-8")
            return cls(path=path, values=tomllib.loads(text), lines=_lines(text))
        except OSError as error:
            raise Misconfigured(f"{path}: {error.strerror}. -c settings=… names an environment's TOML file") from error
        except UnicodeDecodeError as error:
            raise Misconfigured(f"{path}: the file is not UTF-8") from error
        except tomllib.TOMLDecodeError as error:
            at = _AT_LINE.search(str(error))
            said = _AT_LINE.sub("", str(error))
            raise Misconfigured(f"{path}:{at[1]}: {said}" if at else f"{path}: {said}") from error

    def config(self, override: Callable[[str], object], region: str = "") -> Config:
        """Return the choices of the file and of `override`, which goes before it. Raise Misconfigured with everything
        that is wrong at once. `region` is the stack's, if known.
        """
        overridden = {name: given for name in DEFAULTS if (given := override(name)) not in (None, "")}
        own = dict(self._own_faults())
        usable = {name: value for name, value in self.values.items() if name not in own}
        config, wrong = Config.parse({**usable, **overridden}.get)
        faults = [(self.lines[name], f"{self.path}:{self.lines[name]}: {text}") for name, text in own.items()]
        together = [text for text in config.faults(region) if not own.keys() & _NAMED.findall(text)]
        faults += [self._placed(text, overridden) for text in (*wrong, *together)]
        if faults:
            raise Misconfigured("\n".join(text for _, text in sorted(faults)))
        return config

    def _own_faults(self) -> Iterator[tuple[str, str]]:
        """Yield a fault for each name that is no setting's, and each value of another type."""
        for name, value in self.values.items():
            if name not in DEFAULTS:
                near = get_close_matches(name, DEFAULTS, n=1)
                yield name, f"{name} is no setting" + (f": did you mean {near[0]}?" if near else "")
            elif not _fits(value, DEFAULTS[name]):
                yield name, f"{name} is {TYPES[type(DEFAULTS[name])]}"

    def _placed(self, text: str, overridden: Mapping[str, object]) -> tuple[int, str]:
        """Return a fault with its line: that of the first setting which it names and this file gives, or 0. A fault of
        what the command line gave is told in the command line's words.
        """
        names = _NAMED.findall(text)
        if overridden.keys() & names:
            return 0, text
        line = next((self.lines[name] for name in names if name in self.lines), 0)
        place, said = f"{self.path}:{line}" if line else f"{self.path}", _NAMED.sub(r"\1", text)
        return line, f"{place}: {said}"


def _fits(value: object, default: object) -> bool:
    if isinstance(default, tuple):
        return isinstance(value, list) and all(isinstance(part, str) for part in value)
    return type(value) is type(default)  # True is an int for isinstance


def _lines(text: str) -> dict[str, int]:
    """Return the line on which each name of a valid file stands. TOML's parser tells none, but each statement ends with
    its line: so the fewest lines that are TOML by themselves are one statement.
    """
    found: dict[str, int] = {}
    first, statement = 1, ""
    for number, line in enumerate(text.split("\n"), 1):
        statement += line + "\n"
        try:
            names = tomllib.loads(statement)
        except tomllib.TOMLDecodeError:
            continue
        for name in names:
            found.setdefault(name, first)  # a table's names come after all others
        first, statement = number + 1, ""
    return found
