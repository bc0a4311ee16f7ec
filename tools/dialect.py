"""Count the names that are a pronoun, a participle or an adverb, which CONTRIBUTING.md has no place for.

It reads sources and imports none.

    python tools/dialect.py [root]: each name of the dialect and its place, and how many each package has
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

PRODUCT = ("lakegate", "handlers", "spark_jobs", "infra")
PRONOUNS = """
    another anybody anything both each either every everybody everything few it its itself less many mine more most
    neither nobody none nothing one ones others ours own same several she some somebody something such that theirs them
    these they this those what which who whose
"""
ADVERBS = """
    above again ago ahead alone already always apart around aside away behind below beneath beside besides between
    beyond elsewhere enough here how inside instead later never nowhere off once only otherwise out outside since still
    then there together twice until when where why within yet
"""
PARTICIPLES = """
    become begun bound broken brought built caught chosen cut dealt done drawn fed felt forgotten found given gone grown
    heard held hidden kept known left lent lost made meant met proven put said seen sent shown sought spelt spoken taken
    told understood written
    depending differing drifting existing failing fitting flying going having holding lacking lasting leaving matching
    meeting missing moving noting observing outliving passing referring remembering repeating rewriting running sending
    standing starting trusting unforgiving waiting working
"""
VERBS = "lie lies look looks note notes say says stand stands tell tells"
DIALECT = frozenset(f"{PRONOUNS} {ADVERBS} {PARTICIPLES} {VERBS}".split())
# Parts of longer names for which the field has other words: notify, report, return; record.
PARTS = frozenset(("its", "noted", "noting", "said", "says", "tell", "tells", "told", "whose"))
# Words in `ed` that are states of files, no participles, or the field's own.
STATES = ("blocked", "discarded", "published", "queued", "rejected", "superseded", "unrouted")
OTHERS_IN_ED = ("bed", "embed", "expected", "feed", "hundred", "malformed", "need", "red", "required", "seed", "speed")
PLAIN = frozenset((*STATES, *OTHERS_IN_ED))


def is_dialect(name: str) -> bool:
    """Return true if a name says neither a thing nor what is done."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().strip("_").split("_")
    if len(words) > 1:
        return not PARTS.isdisjoint(words)
    return words[0] in DIALECT or (words[0].endswith("ed") and words[0] not in PLAIN)


def bound_names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield each name that a module binds, with its line: targets, parameters, functions, methods and classes."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=str(name), ctx=ast.Store()) | ast.Attribute(attr=str(name), ctx=ast.Store()):
                yield name, node.lineno
            case ast.arg(arg=str(name)) | ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                yield name, node.lineno
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, node.lineno


def dialect_names(root: Path) -> Iterator[tuple[str, str, int]]:
    """Yield the product's names of the dialect: module, name and line (0 for the module's own name)."""
    for path in sorted(path for folder in PRODUCT for path in (root / folder).rglob("*.py")):
        if "node_modules" not in path.parts:
            names = [(path.stem, 0), *bound_names(ast.parse(path.read_text()))]
            module = str(path.relative_to(root))
            yield from ((module, name, line) for name, line in names if is_dialect(name))


def count_by_package(root: Path) -> Counter[str]:
    """Return how many names of the dialect each package has; a package is a folder of `lakegate`, or of the root."""
    return Counter(_package(Path(module)) for module, _, _ in dialect_names(root))


def _package(module: Path) -> str:
    return "/".join(module.parts[:-1][: 2 if module.parts[0] == "lakegate" else 1])


def main(root: Path) -> None:
    """Print names and counts."""
    for module, name, line in dialect_names(root):
        print(f"{module}:{line}: {name}")
    counts = count_by_package(root)
    print("\n".join(f"{package}: {count}" for package, count in sorted(counts.items())))
    print(f"all: {counts.total()}")


if __name__ == "__main__":
    main(Path(*sys.argv[1:2]))
