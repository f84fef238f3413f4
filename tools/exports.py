"""What a crate offers and nobody outside of it names. A test keeps the list empty."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

ITEM = re.compile(
    r"^\s*pub (?:const |async |unsafe )*(?:fn|struct|enum|trait|const|static|type) (\w+)", re.M
)
MODULE = re.compile(r"^pub mod (\w+);", re.M)
EXPORT = re.compile(r"^pub use ([\w:]+?)(?:::\{([^}]*)\})?;", re.M | re.S)
# A function or type up to its body, a field or a constant up to its end.
SIGNATURE = re.compile(r"^\s*pub (?!mod|use)[^;{=]*", re.M)
# What a macro writes into another crate.
MACRO = re.compile(r"\$crate::[\w:{}, *]+")
TESTS = "#[cfg(test)]\nmod"


def unused(crate: Path, others: Iterable[Path]) -> list[str]:
    """Give what the crate at `crate` offers, and yet none of the files `others` names.

    What the signature of another item names has to be offered too, and does not count.
    """
    outside = set(re.findall(r"\w+", "\n".join(path.read_text("utf-8") for path in others)))
    texts = {path: code(path) for path in reachable(crate / "src" / "lib.rs")}
    needed = [found for text in texts.values() for found in SIGNATURE.findall(text)]
    needed += [
        found for path in (crate / "src").rglob("*.rs") for found in MACRO.findall(code(path))
    ]
    return sorted(
        f"{path.relative_to(crate)}: {name}"
        for path, text in texts.items()
        for name in items(text)
        if name not in outside and not is_needed(name, needed)
    )


def reachable(file: Path) -> Iterator[Path]:
    """Give a file and those of its modules that can be named from outside."""
    yield file
    folder = file.parent if file.stem in ("lib", "mod") else file.with_suffix("")
    for name in MODULE.findall(code(file)):
        beside, below = folder / f"{name}.rs", folder / name / "mod.rs"
        yield from reachable(beside if beside.exists() else below)


def items(text: str) -> Iterator[str]:
    """Give the names that a file offers."""
    yield from ITEM.findall(text)
    for path, group in EXPORT.findall(text):
        yield from re.findall(r"\w+", group) or [path.rpartition("::")[2]]


def is_needed(name: str, signatures: Iterable[str]) -> bool:
    """Whether a signature names `name` other than to declare it."""
    declares = re.compile(rf"(?<!')\b(?:fn|struct|enum|trait|const|static|type) {name}\b")
    named = re.compile(rf"\b{name}\b")
    return any(named.search(declares.sub("", found)) for found in signatures)


def code(path: Path) -> str:
    """Give a file without comments and tests."""
    text = path.read_text("utf-8").partition(TESTS)[0]
    return re.sub(r"//.*", "", text)
