"""Count what a reader of one function may have to read: the functions of a package that it reaches, and how far.

It reads sources and imports none. A function counts where another one names it, called or not, or names a constant of
its own module that lists it. Methods do not count.

    python tools/reach.py [root] [package] [module.function]
"""

from __future__ import annotations

import ast
import sys
from collections import deque
from collections.abc import Iterable, Mapping
from pathlib import Path

DEFAULTS = (".", "lakegate/workflow", "settle.settle")
Graph = Mapping[str, frozenset[str]]


def modules(root: Path, package: str) -> dict[str, ast.Module]:
    """Return the package's modules by dotted name."""
    paths = sorted((root / package).rglob("*.py"))
    return {".".join(path.relative_to(root).with_suffix("").parts): ast.parse(path.read_text()) for path in paths}


def graph(trees: Mapping[str, ast.Module]) -> Graph:
    """Return, by qualified name, the functions that each function names."""
    found = {f"{module}.{it.name}" for module, tree in trees.items() for it in _functions(tree)}
    scopes = {module: _scope(module, tree, found) for module, tree in trees.items()}
    return {
        f"{module}.{it.name}": frozenset(_named(it, scopes[module])) - {f"{module}.{it.name}"}
        for module, tree in trees.items()
        for it in _functions(tree)
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


def _functions(tree: ast.Module) -> Iterable[ast.FunctionDef]:
    return (node for node in tree.body if isinstance(node, ast.FunctionDef))


def _scope(module: str, tree: ast.Module, found: set[str]) -> dict[str, frozenset[str]]:
    """Return the functions that each name in a module stands for."""
    scope = {it.name: frozenset([f"{module}.{it.name}"]) for it in _functions(tree)}
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


def main(root: str, package: str, start: str) -> None:
    """Print the numbers, and the farthest function."""
    depth = reached(graph(modules(Path(root), package)), f"{package.replace('/', '.')}.{start}")
    farthest = max(depth, key=lambda name: depth[name])
    rooms = {name.rpartition(".")[0] for name in depth}
    print(f"{len(depth)} functions in {len(rooms)} modules; {depth[farthest]} calls to {farthest}")


if __name__ == "__main__":
    main(*(*sys.argv[1:], *DEFAULTS[len(sys.argv) - 1 :]))
