"""The house rules that no other tool checks. Prints one line per breach; a test runs it too."""

import ast
import functools
import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent

FILE_LINES, FUNCTION_LINES, COLUMNS = 500, 70, 100
BLOB_BYTES = 1_000_000

# The pure crates have no clock, no files, no sockets, no threads.
PURE = ("crates/core/src/", "crates/sim/src/")
IMPURE = r"\b(Instant|SystemTime|std::(fs|net::(Tcp|Udp)\w*|thread|process|env)|unsafe)\b"

# The judge does not know the defendant, nor the defendant the judge.
FORBIDDEN_IMPORTS = {
    "crates/core/": r"\btcpwhy_(sim|io)\b",
    "crates/sim/": r"\btcpwhy_io\b|\btcpwhy_core::(\{[^}]*\b)?(flow|score)\b",
    "crates/io/": r"\bpyo3\b",
}

UNSAFE_HERE = "crates/io/src/sys"

# Comments cite a section of it by its number: "(algorithms 10)".
ALGORITHMS = "docs/algorithms.md"

CITED_LATER = ("tools/tidy.py", "tests/test_tidy.py")

# Words of docs/style.md that are gone for good, by the folders that are free of them.
BANNED = {
    "crates/core/src/diagnosis/": r"told|lately|deaf|spare|settled|stretch|stretches",
    "crates/core/src/flow/": r"told|lately|deaf|spare|settled|stretch|stretches",
    "crates/core/src/wire/": r"told|lately|deaf|spare|settled|of which",
    "crates/core/src/record/": r"told|lately|deaf|spare|settled",
    "crates/core/src/score/": r"told|lately|deaf|spare|settled|of which|stretch|stretches",
    "crates/core/src/model/": r"told|lately|deaf|spare|settled",
}


# Words of a sentence in a comment. Quoted words and where they stand do not count.
SENTENCE_WORDS = 25
QUOTED = r'"[^"]*"|\([^()]*\b(?:RFC|section|[12][0-9]{3})\b[^()]*\)'


class Breach(NamedTuple):
    """A rule that a file breaks."""

    path: str
    line: int
    rule: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}"


@dataclass(frozen=True)
class Source:
    """A file under test."""

    path: str
    text: str

    @functools.cached_property
    def lines(self) -> list[str]:
        """The lines, without their ends."""
        return self.text.splitlines()

    @functools.cached_property
    def nodes(self) -> list[ast.AST]:
        """The nodes of the syntax tree of Python."""
        return list(ast.walk(ast.parse(self.text)))

    @property
    def is_rust(self) -> bool:
        """Whether it is Rust."""
        return self.path.endswith(".rs")

    @property
    def is_python(self) -> bool:
        """Whether it is Python, stubs included."""
        return self.path.endswith((".py", ".pyi"))


def sizes(source: Source) -> Iterator[tuple[int, str]]:
    """Files and lines have a limit."""
    if len(source.lines) > FILE_LINES:
        yield FILE_LINES, f"{len(source.lines)} lines: a file has at most {FILE_LINES}"
    for number, line in enumerate(source.lines, 1):
        if len(line) > COLUMNS:
            yield number, f"{len(line)} columns: a line has at most {COLUMNS}"


def functions(source: Source) -> Iterator[tuple[int, str]]:
    """Functions have a limit."""
    spans = _python_functions if source.is_python else _rust_functions
    for number, name, length in spans(source):
        if length > FUNCTION_LINES:
            yield number, f"{name} has {length} lines: a function has at most {FUNCTION_LINES}"


def purity(source: Source) -> Iterator[tuple[int, str]]:
    """The pure crates touch nothing; unsafe code stands in one place."""
    if not source.is_rust:
        return
    for number, code in _rust_code(source):
        if source.path.startswith(PURE) and (match := re.search(IMPURE, code)):
            yield number, f"{match[0]} in a pure crate"
        elif re.search(r"\bunsafe\b", code) and not source.path.startswith(UNSAFE_HERE):
            yield number, f"unsafe outside {UNSAFE_HERE}"
        if re.search(r"#!?\[allow\(", code):
            yield number, "allow: use expect with a reason"


def directions(source: Source) -> Iterator[tuple[int, str]]:
    """Imports follow the arrows of the architecture."""
    for folder, forbidden in FORBIDDEN_IMPORTS.items():
        if not (source.is_rust and source.path.startswith(folder)):
            continue
        for number, code in _rust_code(source):
            if match := re.search(forbidden, code):
                yield number, f"{folder} must not import {match[0]}"


def banners(source: Source) -> Iterator[tuple[int, str]]:
    """Comments are sentences."""
    for number, line in enumerate(source.lines, 1):
        if re.match(r"\s*(//+|#+)\s*([-=*#/~]\s?){4,}", line):
            yield number, "a banner: comments are sentences"


def paths(source: Source) -> Iterator[tuple[int, str]]:
    """What the map shows is there."""
    if source.path not in ("ARCHITECTURE.md", "CONTRIBUTING.md", "README.md"):
        return
    for number, line in enumerate(source.lines, 1):
        for name in re.findall(r"`((?:[\w.-]+/)+[\w.-]*|[\w-]+\.(?:rs|py|md|sql|toml))`", line):
            # What lies beside the repository need not be there.
            inside = not name.startswith("../")
            if inside and not (ROOT / name).exists() and _named(name) not in _tracked_names():
                yield number, f"{name} is not there"


def citations(source: Source) -> Iterator[tuple[int, str]]:
    """What a comment cites is there."""
    if source.path.startswith(CITED_LATER):
        return
    for number, line in enumerate(source.lines, 1):
        if re.search(r"\bALGORITHMS\b", line):
            yield number, f"ALGORITHMS: cite {ALGORITHMS} by section, as (algorithms 10)"
        for section in re.findall(r"\(algorithms (\d+)\b", line):
            if section not in _sections():
                yield number, f"{ALGORITHMS} has no section {section}"


def words(source: Source) -> Iterator[tuple[int, str]]:
    """Words of the style that are not used stay away."""
    for folder, banned in BANNED.items():
        if source.path.startswith(folder):
            for number, line in enumerate(source.lines, 1):
                if match := re.search(rf"\b({banned})\b", line):
                    yield number, f"{match[0]}: see docs/style.md for the word"


def sentences(source: Source) -> Iterator[tuple[int, str]]:
    """Sentences of comments are short."""
    for number, text in _rust_comments(source) if source.is_rust else _python_comments(source):
        for sentence in re.split(r"(?<=[.;:?])\s+", re.sub(QUOTED, "", text)):
            count = sum(bool(re.search(r"\w", word)) for word in sentence.split())
            if count > SENTENCE_WORDS:
                yield number, f"a sentence of {count} words: at most {SENTENCE_WORDS}"


RULES: list[Callable[[Source], Iterator[tuple[int, str]]]] = [
    sizes,
    functions,
    purity,
    directions,
    banners,
    paths,
    citations,
    words,
    sentences,
]


def check(source: Source) -> list[Breach]:
    """Apply every rule that is meant for this kind of file."""
    if not (source.is_rust or source.is_python):
        return [Breach(source.path, *found) for found in paths(source)]
    return [Breach(source.path, *found) for rule in RULES for found in rule(source)]


def tracked(root: Path) -> list[Path]:
    """List the files that are, or would be, under version control."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    return [path for name in listing.stdout.split("\0") if name and (path := root / name).is_file()]


def check_tree(root: Path) -> Iterator[Breach]:
    """Check the whole repository."""
    for path in tracked(root):
        name = str(path.relative_to(root))
        if path.stat().st_size > BLOB_BYTES:
            yield Breach(name, 0, f"{path.stat().st_size} bytes: a file has at most {BLOB_BYTES}")
        if path.suffix in (".rs", ".py", ".pyi", ".md"):
            yield from check(Source(name, path.read_text(encoding="utf-8")))
    yield from unnamed_tests(root)


def unnamed_tests(root: Path) -> Iterator[Breach]:
    """Find files of tests that no program of tests has: cargo would not say so."""
    for path in sorted(root.glob("crates/*/tests/*.rs")):
        manifest = (path.parents[1] / "Cargo.toml").read_text(encoding="utf-8")
        modules = (path.parent / "all.rs").read_text(encoding="utf-8")
        if f'[[test]]\nname = "{path.stem}"\n' not in manifest and (
            f"mod {path.stem};\n" not in modules
        ):
            yield Breach(
                str(path.relative_to(root)), 0, "a file of tests that all.rs does not name"
            )


def _named(name: str) -> str:
    return f"/{name.rstrip('/')}/"


@functools.cache
def _tracked_names() -> str:
    """Give the paths of all tracked files in one text, each between slashes."""
    return "\n".join(_named(str(path.relative_to(ROOT))) for path in tracked(ROOT))


@functools.cache
def _sections() -> frozenset[str]:
    text = (ROOT / ALGORITHMS).read_text(encoding="utf-8")
    return frozenset(re.findall(r"^## (\d+) ", text, re.M))


def _python_functions(source: Source) -> Iterator[tuple[int, str, int]]:
    for node in source.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
            # The documentation of a public function is worth its room.
            first = node.body[0]
            is_doc = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            doc = (first.end_lineno or 0) - first.lineno + 1 if is_doc else 0
            yield node.lineno, node.name, node.end_lineno - node.lineno + 1 - doc


def _rust_functions(source: Source) -> Iterator[tuple[int, str, int]]:
    """Find functions by rustfmt's layout: the closing brace stands under the first letter."""
    qualifiers = r"(?:pub(?:\([^)]*\))? )?(?:const |async |unsafe |extern \"C\" )*"
    head = re.compile(rf"(\s*){qualifiers}fn (\w+)")
    for start, line in enumerate(source.lines):
        if not (match := head.match(line)) or line.rstrip().endswith((";", "}")):
            continue
        for end in range(start, len(source.lines)):
            if source.lines[end] == f"{match[1]}}}":
                yield start + 1, match[2], end - start + 1
                break
            if end > start and head.match(source.lines[end]):
                break


def _rust_code(source: Source) -> Iterator[tuple[int, str]]:
    """Give the lines without comments and texts, up to the unit tests at the end of the file."""
    for number, line in enumerate(source.lines, 1):
        if line.startswith("#[cfg(test)]"):
            return
        yield number, re.sub(r'"(\\.|[^"\\])*"', '""', line).partition("//")[0]


def _rust_comments(source: Source) -> Iterator[tuple[int, str]]:
    """Give paragraphs of comments, each with its first line."""
    matches = (re.match(r"\s*//[/!]?\s?(.*)", line) for line in source.lines)
    yield from _paragraphs((match[1] if match else None for match in matches), 1)


def _python_comments(source: Source) -> Iterator[tuple[int, str]]:
    """Give paragraphs of comments and of documentation, each with its first line."""
    matches = (re.match(r"\s*#[!:]?\s?(.*)", line) for line in source.lines)
    yield from _paragraphs((match[1] if match else None for match in matches), 1)
    for node in source.nodes:
        text = node.value if isinstance(node, ast.Expr) else None
        if isinstance(text, ast.Constant) and isinstance(text.value, str):
            yield from _paragraphs(inspect.cleandoc(text.value).splitlines(), text.lineno)


def _paragraphs(lines: Iterable[str | None], start: int) -> Iterator[tuple[int, str]]:
    """Join lines to paragraphs, without tables, drawings and code; None is no comment."""
    first, parts, is_code = 0, list[str](), False
    for number, line in enumerate([*lines, None], start):
        text = (line or "").strip()
        is_code ^= text.startswith("```")
        # An entry of a list, or what is set in, begins anew.
        is_apart = not text or re.match(r"[-|`]|\d\. | {4}", line or "") is not None
        if parts and is_apart:
            yield first, " ".join(parts)
            parts = []
        if text and not is_code and not re.match(r"[|`]| {4}", line or ""):
            first = first if parts else number
            parts.append(text)


if __name__ == "__main__":
    breaches = list(check_tree(ROOT))
    print(*breaches, sep="\n", end="\n" if breaches else "")
    sys.exit(bool(breaches))
