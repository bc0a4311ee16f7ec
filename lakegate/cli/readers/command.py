"""`readers`: the texts of one engine, or of all, for one table on one reference. It asks the installation for its
tables only if nobody names one.
"""

from collections.abc import Mapping, Sequence

from lakegate.cli.installation import Installation
from lakegate.cli.readers.engines import ENGINES, Engine
from lakegate.cli.readers.reading import Reading, table_of
from lakegate.cli.terminal import print_lines, say_json
from lakegate.errors import Misconfigured
from lakegate.operations.questions import ListRoutes
from lakegate.ports import MAIN, Ref

UNKNOWN = "namespace.table"
"""A table's name to replace, for an installation that has no contract yet."""


def readers(installation: Installation, word: str | None, table: str | None, ref: str, *, as_json: bool) -> None:
    """Print the texts."""
    at = Ref.parse(ref)
    if not at.branch:
        raise Misconfigured(f"{ref}: name the branch, too, as in main@<hash>: Nessie's rules go by it")
    engines = engines_for(word, at)
    reading = Reading.of(installation.place, table or table_of(at.branch) or _first(installation), at)
    if as_json:
        say_json([facts(engine, reading) for engine in engines])
        return
    for number, engine in enumerate(engines):
        print_lines(*([""] if number else []), *engine.text(reading).split("\n"))


def engines_for(word: str | None, ref: Ref) -> Sequence[Engine]:
    """Return the engine of that name, or without one all engines that can read the reference."""
    able = [engine for engine in ENGINES if engine.reads_branches or ref == Ref(MAIN)]
    if word is None:
        return able
    if matches := [engine for engine in able if engine.word == word]:
        return matches
    words = ", ".join(engine.word for engine in able)
    if word in [engine.word for engine in ENGINES]:
        raise Misconfigured(f"{word} reads main alone, and not {ref}; these can: {words}")
    raise Misconfigured(f"there is no text for {word}; there are: {words}")


def facts(engine: Engine, reading: Reading) -> Mapping[str, object]:
    """Return a text with what it is, for a script."""
    return {
        "engine": engine.word,
        "table": reading.table,
        "ref": str(reading.ref),
        "tried": bool(engine.remark),
        "page": engine.page,
        "text": engine.text(reading),
    }


def _first(installation: Installation) -> str:
    """Return the first table that has a contract."""
    return min((route.table for route in installation.operations.run(ListRoutes())), default=UNKNOWN)
