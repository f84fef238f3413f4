"""Which file of a crate imports which, and the circles among them. A test keeps them few."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

ModulePath = tuple[str, ...]

IMPORT = re.compile(r"\b((?:crate|super|self)(?:::\w+)+)(?:::\{)?")
GROUP = re.compile(r"\buse\s+((?:crate|super|self)(?:::\w+)*)::\{([^;]*)\};", re.S)


def module_of(path: Path, root: Path) -> ModulePath:
    """Give the module that a file is, as the names on the way to it."""
    parts = path.relative_to(root).with_suffix("").parts
    return parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts


def arrows(root: Path) -> dict[Path, set[Path]]:
    """Give, for each file below the `src` of a crate, the files that it imports from."""
    files = {
        module_of(path, root): path
        for path in sorted(root.rglob("*.rs"))
        if "tests" not in path.stem
    }
    return {
        path: {files[target] for target in _targets(path, module, files)} - {path}
        for module, path in files.items()
    }


def _targets(
    path: Path, module: ModulePath, files: Mapping[ModulePath, Path]
) -> Iterator[ModulePath]:
    text = path.read_text("utf-8").partition("#[cfg(test)]")[0]
    text = re.sub(r"//.*", "", text)
    for name in _names(text):
        head, *rest = name.split("::")
        base = () if head == "crate" else module if head == "self" else module[:-1]
        while rest and rest[0] == "super":
            base, rest = base[:-1], rest[1:]
        found = (*base, *rest)
        while found and found not in files:
            found = found[:-1]
        # What a file takes from its own parent or child is one thought in several files.
        if found and found != module[: len(found)] and module != found[: len(module)]:
            yield found


def _names(text: str) -> Iterator[str]:
    for base, inside in GROUP.findall(text):
        for item in re.findall(r"[\w:]+", inside):
            yield f"{base}::{item}"
    yield from IMPORT.findall(text)


def circles(graph: Mapping[Path, set[Path]]) -> list[list[Path]]:
    """Give the groups of files each of which leads to all others of it (Tarjan 1972)."""
    index: dict[Path, int] = {}
    low: dict[Path, int] = {}
    stack: list[Path] = []
    found: list[list[Path]] = []

    def visit(node: Path) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in sorted(graph[node]):
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            group = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(group) > 1:
                found.append(sorted(group))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found
