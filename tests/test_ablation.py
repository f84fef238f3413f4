"""What the evidence is worth: a column that tells everything costs much, one of noise nothing."""

import numpy as np
import pytest

from fit import ablation, forest, gather


def rows(seed):
    """Give rows of two answers that the first column tells; the second one is noise."""
    random = np.random.default_rng(seed)
    told = random.integers(0, 2, 600)
    right = np.eye(len(gather.CLASSES), dtype=bool)[told]
    values = np.column_stack([told, random.random(600)]).astype(np.float32)
    empty = np.zeros(600)
    return gather.Rows(
        values, right, told.astype(np.int8), empty, empty, empty, empty, empty, np.ones(600)
    )


def test_only_what_tells_something_costs_when_it_is_unknown(monkeypatch):
    # So few rows are not dealt out.
    monkeypatch.setattr(forest, "PARTS", 1)
    fitted, judging = rows(1), rows(2)
    model = ablation.grown(fitted, [0, 1], workers=1)
    assert isinstance(model, forest.Model)
    share = [
        ablation.right_share(model, judging, ablation.unknown(judging.values, columns))
        for columns in ([], [1], [0])
    ]
    assert share[0] == 1
    assert share[1] == pytest.approx(1, abs=0.02)
    assert share[2] < 0.6
    assert not np.isnan(judging.values).any(), "what is judged stays as it is"


def test_every_item_belongs_to_a_family():
    words = gather.items()
    found = ablation.described()
    assert set(found) == {word for word in words if not word.startswith("before_")}
    names = [name for path in ablation.families_of(ablation.ITEMS) for name in [path.stem]]
    assert "mod" not in names
    assert "delay" in names
    first = next(iter(found))
    assert [words[at] for at in ablation.places(words, [first])] == [first, f"before_{first}"]


def test_the_page_keeps_what_is_around_the_tables(tmp_path):
    path = tmp_path / "page.md"
    path.write_text("a\n<!-- ablation -->\nold\n<!-- end -->\nz\n")
    text = ablation.page(3, 7, 0.9, {"x": 0.02, "y": -0.01}, {"time": (2, 0.05)})
    ablation.write(path, text)
    found = path.read_text()
    assert found.startswith("a\n")
    assert found.endswith("<!-- end -->\nz\n")
    assert "| time | 2 | 5.00 |" in found
    assert "1 of 2 items cost nothing" in found
    assert "old" not in found


def test_a_page_without_a_place_for_the_tables_is_refused(tmp_path):
    path = tmp_path / "page.md"
    for text in (None, "a page\n", f"only {ablation.BEGIN}\n"):
        if text is not None:
            path.write_text(text)
        with pytest.raises(SystemExit, match=r"page\.md: a page with <!-- ablation -->"):
            ablation.around(path)
