"""Count what a reader of the product meets: the functions that settling reaches, full folders, docstrings' beginnings.

It reads sources and imports none, so it counts any checkout alike. Methods do not count as functions.

    python tools/form.py [root]
"""

from __future__ import annotations

import ast
import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

WORKFLOW = "lakegate/workflow"
START = "lakegate.workflow.settle.settle"
PRODUCT = ("lakegate", "handlers", "spark_jobs", "infra")
NOUN_CLAUSES = ("What", "Whether", "How", "The")
SHORT = 2  # lines of a helper's body
Graph = Mapping[str, frozenset[str]]
Trees = Mapping[str, ast.Module]


def modules(root: Path, package: str) -> dict[str, ast.Module]:
    """Return the package's modules by dotted name."""
    paths = sorted(_sources(root / package))
    return {".".join(path.relative_to(root).with_suffix("").parts): ast.parse(path.read_text()) for path in paths}


def _sources(folder: Path) -> Iterator[Path]:
    """Return the modules that are ours; set-up puts node's packages, which have Python templates, below `infra`."""
    return (path for path in folder.rglob("*.py") if "node_modules" not in path.parts)


def graph(trees: Trees) -> Graph:
    """Return, by qualified name, the functions that each function names directly or by a constant of its module."""
    found = {f"{module}.{it.name}" for module, tree in trees.items() for it in functions(tree)}
    scopes = {module: _scope(module, tree, found) for module, tree in trees.items()}
    return {
        f"{module}.{it.name}": frozenset(_named(it, scopes[module])) - {f"{module}.{it.name}"}
        for module, tree in trees.items()
        for it in functions(tree)
    }


def reached(graph: Graph, start: str) -> dict[str, int]:
    """Return the functions that are reached from one, each with the length of the shortest way."""
    depth, queue = {start: 0}, deque([start])
    while queue:
        name = queue.popleft()
        for other in sorted(graph[name] - depth.keys()):
            depth[other] = depth[name] + 1
            queue.append(other)
    return depth


def levels(root: Path, package: str) -> dict[str, int]:
    """Return how many modules each folder of the package has, without its `__init__`."""
    paths = (path for path in (root / package).rglob("*.py") if path.stem != "__init__")
    return dict(sorted(Counter(str(path.parent.relative_to(root)) for path in paths).items()))


def shared_names(trees: Trees) -> list[str]:
    """Return the public functions and classes of which there are several of the same name."""
    names = Counter(it.name for tree in trees.values() for it in _public(tree))
    return sorted(name for name, times in names.items() if times > 1)


def noun_clauses(trees: Trees) -> tuple[int, int]:
    """Return how many docstrings begin with a noun clause or an article, and how many there are."""
    documented = ast.Module | ast.ClassDef | ast.FunctionDef
    nodes = (node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, documented))
    texts = [text for node in nodes if (text := ast.get_docstring(node))]
    return sum(text.split()[0] in NOUN_CLAUSES for text in texts), len(texts)


def confetti(trees: Trees) -> list[str]:
    """Return the private functions whose body has at most two lines and whose name their module uses once."""
    return [
        f"{module}.{it.name}"
        for module, tree in trees.items()
        for it in functions(tree)
        if it.name.startswith("_") and _lines(it) <= SHORT and _uses(tree, it.name) == 1
    ]


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """Yield the module's own functions."""
    return (node for node in tree.body if isinstance(node, ast.FunctionDef))


def _public(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    own = (node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef))
    return (node for node in own if not node.name.startswith("_"))


def _lines(function: ast.FunctionDef) -> int:
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def _uses(tree: ast.Module, name: str) -> int:
    return sum(isinstance(node, ast.Name) and node.id == name for node in ast.walk(tree))


def _scope(module: str, tree: ast.Module, found: set[str]) -> dict[str, frozenset[str]]:
    """Return the functions that each name in a module stands for."""
    scope = {it.name: frozenset([f"{module}.{it.name}"]) for it in functions(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names = {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            scope |= {name: frozenset([function]) for name, function in names.items() if function in found}
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            listed = frozenset(_named(node.value, scope))
            scope |= {target.id: listed for target in targets if isinstance(target, ast.Name) and listed}
    return scope


def _named(node: ast.AST, scope: Mapping[str, frozenset[str]]) -> Iterable[str]:
    names = (it.id for it in ast.walk(node) if isinstance(it, ast.Name))
    return (function for name in names for function in scope.get(name, ()))


def _source_lines(root: Path) -> int:
    paths = (path for folder in PRODUCT for path in _sources(root / folder))
    return sum(len(path.read_text().splitlines()) for path in paths)


def main(root: Path) -> None:
    """Print the numbers."""
    workflow, lakegate = modules(root, WORKFLOW), modules(root, "lakegate")
    product = {name: tree for folder in PRODUCT for name, tree in modules(root, folder).items()}
    depth = reached(graph(workflow), START)
    farthest = max(depth, key=lambda name: depth[name])
    began, documented = noun_clauses(lakegate)
    print(f"settle reaches {len(depth)} functions in {len({it.rpartition('.')[0] for it in depth})} modules")
    print(f"the shortest way to the farthest has {depth[farthest]} calls: {farthest}")
    for folder in (WORKFLOW, "lakegate/contracts", "lakegate/audit", "spark_jobs"):
        print("modules: " + ", ".join(f"{level} {count}" for level, count in levels(root, folder).items()))
    print(f"product lines: {_source_lines(root)}")
    print(f"docstrings in lakegate that begin with {', '.join(NOUN_CLAUSES)}: {began} of {documented}")
    print(f"public names that the workflow has twice: {', '.join(shared_names(workflow)) or 'none'}")
    print(f"private functions with one use and at most {SHORT} lines: {len(confetti(product))}")


if __name__ == "__main__":
    main(Path(*sys.argv[1:2]))
