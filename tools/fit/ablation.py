"""What each item of evidence and each family of items is worth: accuracy without it.

python -m fit.ablation [--worlds 3000] [--cache FOLDER] [--output FILE]

An item is left out by not knowing it, now and before; a family by a fit that never saw it. All
answers are judged one by one, without the filter over time, on worlds that were not fitted.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import numpy as np

from fit import forest, gather, varying
from fit.__main__ import CALIBRATE_FROM
from fit.forest import Array, Model
from fit.gather import ROOT, Rows

ITEMS = ROOT / "crates/core/src/diagnosis/items"
PAGE = ROOT / "docs/fit.md"
BEGIN, END = "<!-- ablation -->", "<!-- end -->"
NAMED = re.compile(r'^    "(\w+)" [A-Z]\w+ "([^"]+)"', re.MULTILINE)
TOP = 20
"""Items that the page shows, those that cost most."""


def main() -> None:
    """Gather, fit, leave out, write."""
    parser = argparse.ArgumentParser(prog="fit.ablation", description=__doc__)
    parser.add_argument("--worlds", type=int, default=3000, help="worlds that are fitted")
    parser.add_argument("--held", type=int, default=1500, help="worlds that judge")
    parser.add_argument("--cache", type=Path, default=ROOT / "target" / "fit")
    parser.add_argument("--output", type=Path, default=PAGE)
    parser.add_argument("--workers", type=int, default=2, help="processes")
    options = parser.parse_args()
    # It takes an hour: a page without a place for the tables is better known before.
    around(options.output)
    fitted, judging = (
        gather.gather(name, seeds, gather.of_world, options.cache, options.workers)
        for name, seeds in (
            ("worlds", range(options.worlds)),
            ("held worlds", range(CALIBRATE_FROM, CALIBRATE_FROM + options.held)),
        )
    )
    words = gather.items()
    whole = grown(fitted, list(range(len(words))), options.workers)
    least = right_share(whole, judging, judging.values)
    items = {
        plain: least - right_share(whole, judging, unknown(judging.values, places(words, [word])))
        for word, plain in described().items()
    }
    families = {}
    for path in families_of(ITEMS):
        out = set(places(words, [word for word, _ in NAMED.findall(path.read_text("utf-8"))]))
        kept = [at for at in range(len(words)) if at not in out]
        without = grown(fitted, kept, options.workers)
        share = right_share(without, judging, judging.values[:, kept])
        families[path.stem] = (len(out) // 2, least - share)
    known = int((judging.main >= 0).sum())
    write(options.output, page(options.worlds, known, least, items, families))


def families_of(folder: Path) -> list[Path]:
    """Give the files that declare items, one for each family."""
    return [path for path in sorted(folder.glob("*.rs")) if path.stem != "mod"]


def described() -> dict[str, str]:
    """Give the plain words of each item by its name."""
    found: dict[str, str] = {}
    for path in families_of(ITEMS):
        found.update(NAMED.findall(path.read_text("utf-8")))
    return found


def places(words: list[str], names: list[str]) -> list[int]:
    """Give the columns of items, now and before."""
    wanted = {*names, *(f"before_{name}" for name in names)}
    return [at for at, word in enumerate(words) if word in wanted]


def grown(rows: Rows, columns: list[int], workers: int) -> Model:
    """Fit a forest that sees some columns."""
    known = rows.main >= 0
    values, (right, main) = rows.values[known][:, columns], varying.outputs(rows)
    return forest.fit(values, right[known], main[known], rows.weight[known], workers)


def unknown(values: Array, columns: list[int]) -> Array:
    """Give a copy in which nobody knows some columns."""
    copy = values.copy()
    copy[:, columns] = np.nan
    return copy


def right_share(model: Model, rows: Rows, values: Array) -> float:
    """Give the share of rows whose likeliest answer is right."""
    known = rows.main >= 0
    answer = model.logits(values[known]).argmax(1)
    return float(rows.right[known][np.arange(len(answer)), answer].mean())


def page(
    worlds: int,
    known: int,
    least: float,
    items: dict[str, float],
    families: dict[str, tuple[int, float]],
) -> str:
    """Give the tables in Markdown."""
    lines = [
        f"{worlds:,} worlds fitted, without the filter over time: {least:.1%} of {known:,}",
        "intervals of other worlds are right. So many points fewer are without a family:",
        "",
        "| family | items | costs |",
        "|---|---:|---:|",
    ]
    for name, (count, cost) in sorted(families.items(), key=lambda each: -each[1][1]):
        lines.append(f"| {name} | {count} | {100 * cost:.2f} |")
    lines += ["", "And where nobody knows an item, those that cost most:", ""]
    lines += ["| item | costs |", "|---|---:|"]
    most = sorted(items.items(), key=lambda each: -each[1])
    lines += [f"| {plain} | {100 * cost:.2f} |" for plain, cost in most[:TOP]]
    idle = sum(cost <= 0 for _, cost in most)
    lines += ["", f"{idle} of {len(most)} items cost nothing: others say the same."]
    return "\n".join(lines)


def around(path: Path) -> tuple[str, str]:
    """Give what stands before and after the marks of a page."""
    try:
        before, rest = path.read_text("utf-8").split(BEGIN)
        return before, rest.split(END, 1)[1]
    except (OSError, ValueError, IndexError) as error:
        raise SystemExit(f"{path}: a page with {BEGIN} and {END} is needed: {error}") from error


def write(path: Path, text: str) -> None:
    """Put the tables between the marks of a page."""
    before, after = around(path)
    path.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
