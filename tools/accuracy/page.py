"""The page: what was measured, as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import mean

from accuracy import elsewhere, labelled, policing, remedies, simulated, tables, wild
from accuracy.judged import CLASSES, LIMITATIONS, Capacity, Judged, Shares
from accuracy.remedies import Prediction
from accuracy.tables import OURS, PAPER, Rate, grid, share


@dataclass
class Findings:
    """Everything that was measured."""

    scenarios: list[simulated.Outcome]
    held_out: list[simulated.Outcome]
    predictions: list[list[Prediction]]
    """Pair by pair; nothing for a pair whose limit does not hold."""
    policing: list[policing.Outcome] = field(default_factory=list)
    labelled: list[tuple[labelled.Label, Judged | None]] = field(default_factory=list)
    worlds: list[wild.World] = field(default_factory=list)
    places: list[wild.World] = field(default_factory=list)
    """Worlds of another generator."""
    turned: list[wild.World] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    how: str = ""


class Part:
    """The scenarios as they are, or the held-out ones."""

    def __init__(self, words: str, outcomes: list[simulated.Outcome]) -> None:
        self.words = words
        self.outcomes = outcomes
        self.intervals = [row for found in outcomes for row in found.intervals]
        self.halves = [row for found in outcomes for row in found.halves]
        self.shares: list[Shares] = [row for found in outcomes for row in found.shares]
        self.capacities: list[Capacity] = [row for found in outcomes for row in found.capacities]


def page(found: Findings) -> str:
    """The whole page."""
    parts = (Part("scenarios", found.scenarios), Part("held out", found.held_out))
    sections = (
        _head(found),
        _targets(parts, found),
        wild.section(found.worlds),
        elsewhere.section(found.places),
        elsewhere.turned_section(found.turned),
        _by_cause(parts),
        _by_limitation(parts),
        _by_tap(parts),
        _confusions(parts),
        _calibration(parts, found),
        _shares(parts),
        _capacity(parts, found),
        _headroom(found.predictions),
        _policing(found.policing),
        _labelled(found.labelled),
        _wrong(parts),
        _left_out(parts),
        [f"Skipped: {reason}." for reason in found.skipped],
    )
    return "\n\n".join(block for section in sections for block in section) + "\n"


def _head(found: Findings) -> Iterator[str]:
    yield "<!-- Made by `make accuracy`; change tools/accuracy. -->"
    yield "# Accuracy"
    yield (
        "How often the diagnosis is right, measured on scenarios of the simulator and on captures\n"
        "of others whose truth is known. “Scenarios” are those of the repository, on which\n"
        "thresholds are developed. “Held out” are variants of them that nobody tunes on: other\n"
        "seeds, faster and slower, nearer and farther paths, larger and smaller windows, drawn at\n"
        "random and kept when the simulator's own record of what held the sender back agrees\n"
        "with the label. An interval counts when it lies wholly within a span of known truth,\n"
        "lasts half a second or more, and has data. An answer is right when its cause is the\n"
        "expected one or one that the scenario accepts beside it. The paper's tree is given the\n"
        "benefit of its words: `transport` is right for it where the sender's own window or\n"
        "random loss limits, either bottleneck where a policer does."
    )
    if found.how:
        yield found.how


def _targets(parts: Sequence[Part], found: Findings) -> Iterator[str]:
    yield "## In short"
    rows: list[list[str]] = []
    for words, target, values in (
        ("intervals right", "≥ 97 %", [share(_right(p.intervals)) for p in parts]),
        ("the same, mean of scenarios", "", [_by_scenario(p.intervals) for p in parts]),
        ("paper's tree", "", [share(_paper_right(p.intervals)) for p in parts]),
        ("worst cause", "≥ 90 %", [_worst_cause(p.intervals) for p in parts]),
        ("worst tap", "≥ 97 %", [_worst_tap(p.intervals) for p in parts]),
        ("high confidence right", "≥ 98 %", [share(_high(p.intervals)) for p in parts]),
        ("paced called a bottleneck", "0", [_paced(p.intervals) for p in parts]),
        ("reordering called loss", "0", [_reordered(p.intervals) for p in parts]),
        ("whole directions right", "", [share(_right(p.halves)) for p in parts]),
        ("directions with a verdict", "100 %", [_answered(p) for p in parts]),
        ("capacity within 10 %", "≥ 90 %", [share(_capacities(p)[0]) for p in parts]),
        ("worst error of time shares", "≤ 5 pp", [_worst_share(p) for p in parts]),
    ):
        rows.append([words, target, *values])
    yield grid(["", "target", *(part.words for part in parts)], rows)
    yield from _more_targets(found)


def _more_targets(found: Findings) -> Iterator[str]:
    rows = []
    flat = [row for pair in found.predictions for row in pair]
    for part in remedies.PATHS if flat else ():
        mine = [row for row in flat if row.part == part]
        near, right = tables.pair_rate(mine, _is_near), tables.pair_rate(mine, _is_told)
        rows.append([f"headroom within 20 %, by pair, {part} paths", "≥ 80 %", share(near)])
        rows.append(["the same, or no number where none shows", "≥ 88 %", share(right)])
    for part in ("development", "report"):
        for table in policing.TABLES if found.policing else ():
            chunks = [row for row in _policed(found.policing, table, part) if _is_chunk(row)]
            words = f"policing study, {part} part: {table} while a chunk is sent"
            rows.append([words, "≥ 95 %", share(_right(chunks))])
    if rows:
        yield grid(["", "target", "reached"], rows)


def _by_cause(parts: Sequence[Part]) -> Iterator[str]:
    yield "## Causes"
    yield "Recall is of what is expected, precision of what is answered."
    found = [
        tables.class_rates(
            part.intervals, lambda row: row.expected, lambda row: row.cause, OURS.is_right
        )
        for part in parts
    ]
    names = sorted({name for rates in found for name in rates})
    rows = []
    for name in names:
        cells = [f"`{name}`"]
        for rates in found:
            mine = rates.get(name)
            cells += [_of(mine.recall), _of(mine.precision)] if mine else ["", ""]
        rows.append(cells)
    heads = [f"{part.words}: {word}" for part in parts for word in ("recall", "precision")]
    yield grid(["cause", *heads], rows)


def _by_limitation(parts: Sequence[Part]) -> Iterator[str]:
    yield "## Limitations, beside the paper's tree"
    for part in parts:
        found = [
            tables.class_rates(
                part.intervals, lambda row: row.expected_limitation, tree.answer, tree.is_right
            )
            for tree in (OURS, PAPER)
        ]
        rows = []
        for name in [*LIMITATIONS, "mixed", tables.NONE]:
            cells = [f"`{name}`"]
            for rates in found:
                mine = rates.get(name)
                cells += [_of(mine.recall), _of(mine.precision)] if mine else ["", ""]
            if any(cells[1:]):
                rows.append(cells)
        heads = [
            f"{tree.words}: {word}" for tree in (OURS, PAPER) for word in ("recall", "precision")
        ]
        yield f"### {part.words.capitalize()}"
        yield grid(["limitation", *heads], rows)


def _by_tap(parts: Sequence[Part]) -> Iterator[str]:
    yield "## Where the capture is made"
    found = [
        (tables.rates_by(part.intervals, lambda row: row.tap, tree.is_right))
        for part in parts
        for tree in (OURS, PAPER)
    ]
    names = sorted({name for rates in found for name in rates})
    rows = [[name, *(_of(rates.get(name, Rate(0, 0))) for rates in found)] for name in names]
    heads = [f"{part.words}: {tree.words}" for part in parts for tree in (OURS, PAPER)]
    yield grid(["tap", *heads], rows)


def _confusions(parts: Sequence[Part]) -> Iterator[str]:
    yield "## Confusion"
    yield "Rows are the truth, columns the answers."
    for part in parts:
        for tree in (OURS, PAPER):
            expected, answered, counts = tables.confusion(part.intervals, tree.answer)
            yield f"### {part.words.capitalize()}, {tree.words}"
            yield grid(
                ["", *answered],
                [[row, *(str(counts[row, one] or "") for one in answered)] for row in expected],
            )


def _calibration(parts: Sequence[Part], found: Findings) -> Iterator[str]:
    yield "## Confidence"
    yield "How often an answer of each confidence is right."
    groups = [(part.words, part.intervals) for part in parts]
    for part in ("development", "report") if found.policing else ():
        groups.append((f"policing, {part} part", list(_policed(found.policing, "intervals", part))))
    rows = []
    for words, judged in groups:
        rates = tables.calibration(judged)
        cells = (rates.get(name, Rate(0, 0)) for name in ("high", "medium", "low", tables.NONE))
        rows.append([words, *map(_of, cells)])
    yield grid(["", "high", "medium", "low", "no answer"], rows)


def _shares(parts: Sequence[Part]) -> Iterator[str]:
    yield "## Shares of the time"
    yield "Mean absolute error against the simulator, in percentage points."
    rows = []
    for part in parts:
        means = tables.share_errors_by_name(part.shares)
        balanced = {name: mean(one[name] for one in means.values()) for name in CLASSES if means}
        for words, count, errors in (
            ("intervals", len(part.shares), tables.share_errors(part.shares)),
            ("scenarios", len(means), balanced),
        ):
            cells = [f"{errors[name]:.1f}" for name in CLASSES if name in errors]
            rows.append([f"{part.words}, mean of {words}", str(count), *cells])
    yield grid(["", "number", *CLASSES], rows)
    means = tables.share_errors_by_name(parts[0].shares)
    ranked = sorted(means.items(), key=lambda item: -max(item[1].values()))[: MOST_WRONG // 2]
    yield "The scenarios with the largest errors:"
    yield grid(
        ["scenario", *CLASSES],
        [[name, *(f"{errors[one]:.1f}" for one in CLASSES)] for name, errors in ranked],
    )


def _capacity(parts: Sequence[Part], found: Findings) -> Iterator[str]:
    yield "## Capacity"
    yield (
        "Against the slowest link of the path, for directions of 300 data packets and more. Of\n"
        "random worlds not all can be seen: a shaper lets bursts pass at the rate of the next\n"
        "link, and a link behind the capture at which nothing queues leaves no trace."
    )
    groups = {part.words: part.capacities for part in parts}
    for words, worlds in (("random worlds", found.worlds), ("places", found.places)):
        groups[words] = [row for world in worlds for row in world.capacities]
    rows = []
    for words, mine in groups.items():
        near, missing = tables.capacity_rate(mine)
        off = [row.found_bps / row.configured_bps for row in mine if row.found_bps is not None]
        counts = [sum(each > 2 for each in off), sum(each < 0.5 for each in off)]
        reasons = Counter(row.unknown or "no reason" for row in mine if row.found_bps is None)
        why = ", ".join(f"{word} {count}" for word, count in reasons.most_common(3))
        shares = [share(Rate(count, len(off))) for count in counts]
        rows.append([words, _of(near), *shares, str(missing), why])
    yield grid(["", "within 10 %", "above twice", "below half", "not given", "why"], rows)
    far = Counter(
        (row.name, row.tap)
        for row in parts[0].capacities
        if row.found_bps is not None and not tables.is_capacity_near(row)
    )
    if far:
        yield (
            "Off in the scenarios: "
            + ", ".join(f"{name} ({tap})" for name, tap in sorted(far))
            + "."
        )


def _headroom(predictions: list[list[Prediction]]) -> Iterator[str]:
    flat = [row for pair in predictions for row in pair]
    if not flat:
        return
    yield "## Headroom"
    yield (
        "Pairs that differ in the remedy alone, on several paths: `headroom_bps` of the limited\n"
        "run against what the remedied run reaches. A pair is near when most taps are within\n"
        "20 %. No number is right where the capture shows none: the run is made again with the\n"
        "narrow link twice as fast, and the gaps between packets stay what they were.\n"
        "Predictions are developed on some paths and reported on others."
    )
    groups: dict[str, list[Prediction]] = {}
    for row in flat:
        groups.setdefault(row.remedy, []).append(row)
    rows = [[remedy, *_predicted(mine)] for remedy, mine in groups.items()]
    heads = [f"{part}: {what}" for part in remedies.PATHS for what in ("near", "right")]
    more = ["taps near", "without a number", "of these rightly"]
    more += ["predicted / reached, median", "cause right"]
    yield grid(["remedy", *heads, *more], [*rows, ["all", *_predicted(flat)]])
    dropped = sum(not pair for pair in predictions)
    yield f"{dropped} of {len(predictions)} pairs were left out: their limit does not hold."


def _predicted(rows: list[Prediction]) -> Iterator[str]:
    for part in remedies.PATHS:
        mine = [row for row in rows if row.part == part]
        yield _of(tables.pair_rate(mine, _is_near))
        yield _of(tables.pair_rate(mine, _is_told))
    ratios = sorted(row.predicted_bps / row.reached_bps for row in rows if row.predicted_bps)
    yield _of(tables.rate(rows, _is_near))
    yield str(len(rows) - len(ratios))
    yield str(sum(row.is_hidden for row in rows))
    yield f"{ratios[len(ratios) // 2]:.2f}" if ratios else ""
    yield _of(tables.rate(rows, lambda row: row.is_cause_right))


def _policing(outcomes: list[policing.Outcome]) -> Iterator[str]:
    if not outcomes:
        return
    yield "## Policing study"
    yield (
        "Captures of Flach et al. (SIGCOMM 2016). Thresholds are developed on those with even\n"
        "numbers and reported on those with odd ones."
    )
    for table in policing.TABLES:
        rows = []
        for family in [*policing.ALLOWED, policing.BETWEEN]:
            cells = [family]
            for part in ("development", "report"):
                mine = [row for row in _policed(outcomes, table, part) if row.expected == family]
                cells += [_of(_right(mine)), _of(_paper_right(mine))]
            if any(cells[1:]):
                rows.append(cells)
        left_out = sum(found.left_out[table] for found in outcomes)
        yield f"### {table.capitalize()}"
        yield grid(
            ["family", "development", "paper's tree", "report", "paper's tree"],
            rows,
        )
        yield f"{left_out} were left out: part chunk, part silence."
    yield from _wrong_captures(outcomes)


def _wrong_captures(outcomes: list[policing.Outcome]) -> Iterator[str]:
    rows = [
        [f"`{name}`", expected, _of(rate), answers]
        for name, expected, rate, answers in tables.worst(
            _policed(outcomes, "intervals", "development"), MOST_WRONG // 2
        )
    ]
    yield "Captures of the development part with the most wrong intervals:"
    yield grid(["capture", "truth", "right", "wrong answers"], rows)


def _labelled(rows: list[tuple[labelled.Label, Judged | None]]) -> Iterator[str]:
    if not rows:
        return
    yield "## Labelled captures"
    yield grid(
        ["capture", "what is known", "answer", "confidence", "right", "paper's tree"],
        [
            [f"`{label.file}`", label.says, row.cause or "", row.confidence or "",
             "yes" if row.is_right else "no", row.paper or ""]
            for label, row in rows
            if row is not None
        ],
    )  # fmt: skip
    rest = [label.says for label, row in rows if row is None]
    yield f"{len(rest)} more state no limit: {'; '.join(rest)}."


def _wrong(parts: Sequence[Part]) -> Iterator[str]:
    yield "## Where it is wrong"
    for part in parts:
        rows = [
            [f"`{name}`", f"`{expected}`", _of(rate), answers]
            for name, expected, rate, answers in tables.worst(part.intervals, MOST_WRONG)
        ]
        yield f"### {part.words.capitalize()}"
        yield grid(["scenario", "truth", "right", "wrong answers"], rows)


def _left_out(parts: Sequence[Part]) -> Iterator[str]:
    yield "## Labels in doubt"
    scenarios, held_out = parts
    spans = sum(len(found.case.expects) for found in held_out.outcomes)
    doubts = [row for found in held_out.outcomes for row in found.left_out]
    yield (
        f"Of {spans} spans of the held-out scenarios {len(doubts)} were left out, since the\n"
        "simulator's record does not agree with the label. Labels of the scenarios themselves\n"
        "stay as they are; those in doubt:"
    )
    own = [row for found in scenarios.outcomes for row in found.left_out]
    yield grid(["scenario", "why"], [[f"`{row.name}`", row.reason] for row in own])


def _policed(outcomes: list[policing.Outcome], table: str, part: str) -> Iterator[Judged]:
    for found in outcomes:
        yield from (row for row in found.rows[table] if row.group == part)


def _is_chunk(row: Judged) -> bool:
    return row.expected != policing.BETWEEN


def _is_near(row: Prediction) -> bool:
    return row.is_near


def _is_told(row: Prediction) -> bool:
    return row.is_right


def _right(rows: Iterable[Judged]) -> Rate:
    return tables.rate(rows, OURS.is_right)


def _paper_right(rows: Iterable[Judged]) -> Rate:
    return tables.rate(rows, PAPER.is_right)


def _high(rows: Iterable[Judged]) -> Rate:
    return _right(row for row in rows if row.confidence == "high")


def _by_scenario(rows: list[Judged]) -> str:
    found = tables.rates_by(rows, lambda row: row.name, OURS.is_right)
    mean_of_all = tables.mean_share(found.values())
    return "" if mean_of_all is None else f"{100 * mean_of_all:.1f} %"


def _worst_cause(rows: list[Judged]) -> str:
    found = tables.rates_by(rows, lambda row: row.expected, OURS.is_right)
    return _least(found)


def _worst_tap(rows: list[Judged]) -> str:
    return _least(tables.rates_by(rows, lambda row: row.tap, OURS.is_right))


def _least(found: dict[str, Rate]) -> str:
    if not found:
        return ""
    name, least = min(found.items(), key=lambda item: item[1].share or 0.0)
    return f"{name} {share(least)}"


def _paced(rows: list[Judged]) -> str:
    paced = [row for row in rows if row.expected == "application/paced"]
    called = sum((row.limitation or "").endswith("bottleneck") for row in paced)
    return f"{called} of {len(paced)}"


def _reordered(rows: list[Judged]) -> str:
    clean = [row for row in rows if row.name.startswith("trap_reordering") and not row.drops]
    called = sum(row.cause in _LOSSES for row in clean)
    return f"{called} of {len(clean)}"


def _answered(part: Part) -> str:
    with_data = sum(found.with_data for found in part.outcomes)
    return share(Rate(sum(found.with_verdict for found in part.outcomes), with_data))


def _capacities(part: Part) -> tuple[Rate, int]:
    return tables.capacity_rate(part.capacities)


def _worst_share(part: Part) -> str:
    errors = tables.share_errors(part.shares)
    name = max(errors, key=lambda name: errors[name], default="")
    return f"{errors[name]:.1f} pp ({name})" if name else ""


def _of(rate: Rate) -> str:
    return "" if rate.share is None else f"{share(rate)} of {rate.total}"


MOST_WRONG = 20
_LOSSES = ("random_loss", "policer", "unshared_bottleneck/loss", "shared_bottleneck/loss")
