"""An environment's settings file: tables of TOML. It is checked whole, and each fault has its line.

It knows no AWS resources.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from infra.completion import with_defaults
from infra.config import Config, names_in
from infra.former import CONSTANTS, NEW_NAMES, new_form
from lakegate.errors import Misconfigured

_AT_LINE = re.compile(r"\s*\(at line ([0-9]+), column [0-9]+\)")


@dataclass(frozen=True, kw_only=True)
class SettingsFile:
    """A file's values by the settings' names, `table.key`, and the line on which each begins."""

    path: Path
    values: Mapping[str, object]
    lines: Mapping[str, int]

    @classmethod
    def read(cls, path: Path) -> Self:
        try:
            text = path.read_text(encoding="utf-8")
            values = flat(tomllib.loads(text))
        except OSError as error:
            raise Misconfigured(f"{path}: {error.strerror}. -c settings=… names an environment's TOML file") from error
        except UnicodeDecodeError as error:
            raise Misconfigured(f"{path}: the file is not UTF-8") from error
        except tomllib.TOMLDecodeError as error:
            at = _AT_LINE.search(str(error))
            message = _AT_LINE.sub("", str(error))
            raise Misconfigured(f"{path}:{at[1]}: {message}" if at else f"{path}: {message}") from error

        if not values.keys().isdisjoint({*NEW_NAMES, *CONSTANTS}):
            raise Misconfigured(
                f"{path}: settings are in tables now, and some have gone. Put this into the file, in the place of all "
                f"that is there:\n\n{new_form(values)}"
            )
        return cls(path=path, values=values, lines=_lines(text))

    def config(self, region: str = "") -> Config:
        """Return the settings. Raise Misconfigured with everything that is wrong at once. `region` is the stack's, if
        known.
        """
        config, wrong = Config.parse(with_defaults(self.values))
        faults = [self._with_place([name], f"{name} {words}") for name, words in wrong.items()]
        faults += [self._with_place(names_in(text), text) for text in config.faults(region, wrong)]
        if faults:
            raise Misconfigured("\n".join(text for _, text in sorted(faults)))
        return config

    def _with_place(self, names: Sequence[str], text: str) -> tuple[int, str]:
        """Return a fault with its line: that of the first of these settings which this file gives, or 0."""
        line = next((self.lines[name] for name in names if name in self.lines), 0)
        return line, f"{self.path}:{line}: {text}" if line else f"{self.path}: {text}"


def write(path: Path, config: Config) -> Path:
    """Write a file that gives these settings, and return its path."""
    path.write_text(new_form(config.model_dump(mode="json", by_alias=True, exclude_defaults=True)))
    return path


def flat(tables: Mapping[str, object]) -> dict[str, object]:
    """Return the values of tables by `table.key`, and those that are in none by their key."""
    values: dict[str, object] = {}
    for name, value in tables.items():
        values |= (
            {f"{name}.{key}": member for key, member in value.items()} if isinstance(value, dict) else {name: value}
        )
    return values


def _lines(text: str) -> dict[str, int]:
    """Return the line of each name in a valid file. TOML's parser returns no lines, but each statement ends with
    its line: so the fewest lines that are TOML below their table's header are one statement.
    """
    starts: dict[str, int] = {}
    first, header, statement = 1, "", ""
    for number, line in enumerate(text.split("\n"), 1):
        statement += line + "\n"
        is_header = statement.lstrip().startswith("[")
        try:
            tables = tomllib.loads(statement if is_header else header + statement)
        except tomllib.TOMLDecodeError:
            continue
        header = statement if is_header else header
        for name in flat(tables):
            starts.setdefault(name, first)
        first, statement = number + 1, ""
    return starts
