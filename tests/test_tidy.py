"""The house rules hold, and the checks of the rules can fail."""

import pytest

import arrows
import exports
import tidy


def test_the_tree_is_tidy():
    assert [str(breach) for breach in tidy.check_tree(tidy.ROOT)] == []


LONG_RUST = "fn long() {\n" + "    step();\n" * 80 + "}\n"
LONG_PYTHON = "def long():\n" + "    step()\n" * 80


@pytest.mark.parametrize(
    ("path", "text", "rule"),
    [
        ("crates/core/src/a.rs", "use std::time::Instant;\n", "Instant in a pure crate"),
        ("crates/sim/src/a.rs", "let f = std::fs::read(p);\n", "std::fs in a pure crate"),
        ("crates/core/src/a.rs", "unsafe { x() }\n", "unsafe in a pure crate"),
        ("crates/py/src/a.rs", "unsafe { x() }\n", "unsafe outside"),
        ("crates/sim/src/a.rs", "use tcpwhy_core::flow::Half;\n", "must not import"),
        ("crates/sim/src/a.rs", "use tcpwhy_core::{score, units};\n", "must not import"),
        ("crates/core/src/a.rs", "use tcpwhy_sim::link;\n", "must not import"),
        ("crates/io/src/a.rs", "#[allow(dead_code)]\n", "use expect"),
        ("crates/io/src/a.rs", "// -------- helpers --------\n", "banner"),
        ("tools/a.py", "# ======\n", "banner"),
        ("tools/a.py", "x = '" + "y" * 100 + "'\n", "columns"),
        ("tools/a.py", "pass\n" * 501, "lines"),
        ("tools/a.py", LONG_PYTHON, "long has 81 lines"),
        ("crates/io/src/a.rs", LONG_RUST, "long has 82 lines"),
        ("ARCHITECTURE.md", "See `crates/core/src/phantom.rs`.\n", "is not there"),
        ("crates/io/src/a.rs", "// See ALGORITHMS 7.\n", "by section"),
        ("crates/io/src/a.rs", "// A rate (algorithms 99).\n", "no section 99"),
        ("crates/core/src/flow/a.rs", "// The last that was told.\n", "docs/style.md"),
        ("crates/core/src/record/a.rs", "/// A" + " b" * 25 + ".\n", "of 26 words"),
        ("crates/sim/src/a.rs", "//! A" + " b" * 13 + "\n//!" + " c" * 13 + ".\n", "of 27 words"),
        ("tools/a.py", "# A" + " b" * 25 + ".\n", "of 26 words"),
        ("tools/a.py", '"""A.\n\nA' + " b" * 25 + '.\n"""\n', "of 26 words"),
    ],
)
def test_a_breach_is_found(path, text, rule):
    breaches = tidy.check(tidy.Source(path, text))
    assert len(breaches) == 1
    assert rule in str(breaches[0])


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("crates/core/src/a.rs", "// An Instant would be wrong here.\n"),
        ("crates/core/src/a.rs", 'let text = "std::fs is unsafe";\n'),
        ("crates/core/src/a.rs", "#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n"),
        ("crates/io/src/sys.rs", "unsafe { x() }\n"),
        ("crates/sim/src/a.rs", "use tcpwhy_core::{units, wire};\n"),
        ("crates/io/src/a.rs", "// A rate (algorithms 10, harmonic rule).\n"),
        ("ARCHITECTURE.md", "Begin at `crates/core/src/pipeline.rs` and in `store.py`.\n"),
        ("crates/io/src/a.rs", '// RFC 5681: "a' + " b" * 30 + '".\n'),
        ("crates/io/src/a.rs", "// A" + " b" * 24 + " (RFC 9293 section 3.1, RFC 3168).\n"),
        ("crates/io/src/a.rs", "//! ```text\n//! a" + " b" * 30 + "\n//! ```\n"),
        ("tools/a.py", '"""A.\n\nSo:\n\n    a' + " b" * 30 + '\n"""\n'),
    ],
)
def test_what_is_allowed_is_not_a_breach(path, text):
    assert tidy.check(tidy.Source(path, text)) == []


def test_a_file_of_tests_that_is_not_compiled_is_found(tmp_path):
    tests = tmp_path / "crates" / "a" / "tests"
    tests.mkdir(parents=True)
    (tests.parent / "Cargo.toml").write_text('[[test]]\nname = "all"\n')
    (tests / "all.rs").write_text("mod named;\n")
    for name in ("named", "forgotten"):
        (tests / f"{name}.rs").write_text("")
    (breach,) = tidy.unnamed_tests(tmp_path)
    assert breach.path == "crates/a/tests/forgotten.rs"


CIRCLES = {
    "core": set(),
    "sim": {
        # One sender, and one receiver, in several files: state in one, its steps in the others.
        ("tcp/limit.rs", "tcp/pacing.rs", "tcp/send.rs", "tcp/sender.rs"),
        ("tcp/receiver.rs", "tcp/window.rs"),
    },
    "io": set(),
    "py": set(),
}


@pytest.mark.parametrize("crate", CIRCLES)
def test_files_import_in_one_direction(crate):
    root = tidy.ROOT / "crates" / crate / "src"
    found = arrows.circles(arrows.arrows(root))
    names = {tuple(str(path.relative_to(root)) for path in circle) for circle in found}
    assert names == CIRCLES[crate]


def test_a_circle_is_found(tmp_path):
    (tmp_path / "a.rs").write_text("use crate::b::{Inner, other};\n")
    (tmp_path / "b.rs").write_text("use super::c::Thing;\n// use crate::d::Gone;\n")
    (tmp_path / "c.rs").write_text("fn f() { crate::a::g() }\n")
    (tmp_path / "d.rs").write_text("use crate::a;\n")
    graph = arrows.arrows(tmp_path)
    assert [[path.stem for path in circle] for circle in arrows.circles(graph)] == [["a", "b", "c"]]


def test_core_offers_what_others_use():
    core = tidy.ROOT / "crates" / "core"
    rust = [path for path in tidy.tracked(tidy.ROOT) if path.suffix == ".rs"]
    assert exports.unused(core, [path for path in rust if core / "src" not in path.parents]) == []


def test_what_nobody_uses_is_found(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "lib.rs").write_text("pub mod a;\nmod b;\npub use b::{Kept, Lost};\n")
    (tmp_path / "src" / "a.rs").write_text(
        "pub struct Part;\npub fn used(_: Part) {}\n// pub fn said() {}\npub fn unused() {}\n"
    )
    (tmp_path / "src" / "b.rs").write_text("pub struct Kept;\npub struct Lost;\npub fn own() {}\n")
    (tmp_path / "user.rs").write_text("use it::{Kept, a::used};\n")
    found = exports.unused(tmp_path, [tmp_path / "user.rs"])
    assert found == ["src/a.rs: unused", "src/lib.rs: Lost"]
