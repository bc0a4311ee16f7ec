"""An environment's settings file: an installation's options as TOML. It is checked whole, and each fault has its line.

It knows no AWS resources.
"""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from infra.config import SETTING_NAME, Config, context_values
from lakegate.errors import Misconfigured

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
            message = _AT_LINE.sub("", str(error))
            raise Misconfigured(f"{path}:{at[1]}: {message}" if at else f"{path}: {message}") from error

    def config(self, override: Callable[[str], object], region: str = "") -> Config:
        """Return the choices of the file and of `override`, which goes before it. Raise Misconfigured with everything
        that is wrong at once. `region` is the stack's, if known.
        """
        base, wrong = Config.parse(self.values, strict=True)
        overrides, misspoken = Config.parse(context_values(override))
        config = base.model_copy(update={name: getattr(overrides, name) for name in overrides.model_fields_set})
        faults = [self._with_place([name], f"{name} {words}") for name, words in wrong.items()]
        faults += [(0, f"-c {name} {words}") for name, words in misspoken.items()]
        for text in config.faults(region, {*wrong, *misspoken}):
            names = SETTING_NAME.findall(text)
            of_command = overrides.model_fields_set.intersection(names)  # whose words name the command's option
            faults.append((0, text) if of_command else self._with_place(names, text))
        if faults:
            raise Misconfigured("\n".join(text for _, text in sorted(faults)))
        return config

    def _with_place(self, names: Sequence[str], text: str) -> tuple[int, str]:
        """Return a fault with its line: that of the first of these settings which this file gives, or 0."""
        line = next((self.lines[name] for name in names if name in self.lines), 0)
        place, words = f"{self.path}:{line}" if line else f"{self.path}", SETTING_NAME.sub(r"\1", text)
        return line, f"{place}: {words}"


def _lines(text: str) -> dict[str, int]:
    """Return the line of each name in a valid file. TOML's parser returns no lines, but each statement ends with
    its line: so the fewest lines that are TOML by themselves are one statement.
    """
    starts: dict[str, int] = {}
    first, statement = 1, ""
    for number, line in enumerate(text.split("\n"), 1):
        statement += line + "\n"
        try:
            names = tomllib.loads(statement)
        except tomllib.TOMLDecodeError:
            continue
        for name in names:
            starts.setdefault(name, first)  # a table's names come after all others
        first, statement = number + 1, ""
    return starts
