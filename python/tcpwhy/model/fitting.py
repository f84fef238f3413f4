"""Throughput models against measurements: their errors, and the constants that fit best.

A table has a row for each transfer: `throughput_bps` as measured, and whatever is known of the path
under the names of the models' parameters (`rtt_ns`, `loss`, `mss_bytes`, `window_bytes`,
`capacity_bps`, ...). `controller` and `rtt_min_ns` help to tell where a model holds.
"""

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, NamedTuple, TypeVar

from tcpwhy import model
from tcpwhy._core import UsageError

T = TypeVar("T")
MEASURED = "throughput_bps"
HINTS = ("controller", "rtt_min_ns")
"""Columns that no model takes and that tell where one holds."""
NEAR = 0.20
"""A prediction is near when the measurement is off by no more than this."""
RESAMPLES = 2000
FITTED = {
    "pftk": ("rto_ns",),
    "cubic": ("c",),
    "slow_start": ("initial_window_segs",),
}
"""Parameters that are constants of a sender rather than of a path."""
PREFACTORS = {"mathis": "c"}
"""Steps of a model that its rate is proportional to."""
CONTROLLERS = {
    "mathis": ("reno", "newreno"),
    "pftk": ("reno", "newreno"),
    "cubic": ("cubic",),
    "bbr": ("bbr",),
}
"""Begins of the names of controllers that a model is about; the others are about all."""
HELD = 0.9
"""Share of a bound from which it, and not loss, holds a transfer back."""
INFLATED = 1.5
"""RTT over the least one from which the queue of the transfer itself is in it."""
LOSSES_SPREAD = 2.0
"""Largest over smallest loss from which an exponent can be told."""


class Error(NamedTuple):
    """A model beside a measurement."""

    row: int
    """Number of the transfer, from 1."""
    model: str
    throughput_bps: float | None
    predicted_bps: float | None
    ratio: float | None
    """Measured over predicted."""
    doubt: str | None
    """The condition of the model that does not hold; then the row does not count."""


@dataclass(frozen=True)
class Summary:
    """How well a model does where its conditions hold."""

    model: str
    rows: int
    ratio: float | None
    """Median of measured over predicted."""
    near: float | None
    """Share of the rows whose measurement is within a fifth of the prediction."""
    rms_log_error: float | None
    """Root of the mean square of ln(measured / predicted)."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Conditions that do not hold, with the number of rows."""


class Constant(NamedTuple):
    """A constant of a model that fits measurements, with its interval of 95 %."""

    model: str
    name: str
    value: float
    low: float
    high: float
    usual: float
    """What the model has by itself."""
    rows: int
    """Transfers that it rests on."""


Interval = tuple[float, float, float]
"""A value, and between which two it lies with 95 %."""


def errors(names: Sequence[str] = (), /, **columns: Any) -> list[Error]:
    """Compare every transfer with every model, or with those named.

    Args:
        names: models; all of those for which there are columns unless given.
        columns: `throughput_bps` and what is known, numbers or columns of one length.

    Raises:
        UsageError: without measurements, for columns of several lengths, an unknown model, or one
            that needs a column which is not there.

    """
    rows = _rows(columns)
    return [
        _error(number, chosen, row)
        for chosen in _chosen(names, columns)
        for number, row in enumerate(rows, 1)
    ]


def validate(names: Sequence[str] = (), /, **columns: Any) -> list[Summary]:
    """Sum up the errors of every model where its conditions hold. Arguments as for `errors`."""
    return summaries(errors(names, **columns))


def summaries(found: Sequence[Error]) -> list[Summary]:
    """Sum up errors, model by model."""
    groups: dict[str, list[Error]] = {}
    for error in found:
        groups.setdefault(error.model, []).append(error)
    return [_summary(name, group) for name, group in groups.items()]


def fit(names: Sequence[str] = (), /, **columns: Any) -> list[Constant]:
    """Fit the constants of models, where their conditions hold. Arguments as for `errors`.

    Every transfer gives the value with which the model is right for it; the median of those counts,
    which a few odd transfers do not move. `scale` is what the prediction is to be multiplied by,
    `loss_exponent` the slope of ln(throughput × RTT / MSS) over ln(loss) by least squares.
    Intervals are of the bootstrap (Efron 1979): transfers drawn with replacement.
    """
    rows = _rows(columns)
    found: list[Constant] = []
    for chosen in _chosen(names, columns):
        compared = [_error(number, chosen, row) for number, row in enumerate(rows, 1)]
        kept = [(error, rows[error.row - 1]) for error in compared if error.doubt is None]
        if kept:
            found += _constants(chosen, kept)
    return found


def interval(items: Sequence[T], statistic: Callable[[Sequence[T]], float]) -> "Interval":
    """Give a statistic with its 95 % interval (Efron 1979): items drawn with replacement."""
    draw = random.Random(1)
    values = sorted(statistic(draw.choices(items, k=len(items))) for _ in range(RESAMPLES))
    return statistic(items), values[int(0.025 * RESAMPLES)], values[int(0.975 * RESAMPLES)]


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Slope of the line through points by least squares; 0 when they have one abscissa."""
    x = sum(a for a, _ in points) / len(points)
    y = sum(b for _, b in points) / len(points)
    spread = sum((a - x) ** 2 for a, _ in points)
    if spread == 0:
        return 0.0
    return sum((a - x) * (b - y) for a, b in points) / spread


def _constants(
    chosen: model.Model, kept: Sequence[tuple[Error, Mapping[str, Any]]]
) -> Iterator[Constant]:
    def constant(name: str, usual: float, values: Sequence[float]) -> Constant:
        value, low, high = interval(values, median)
        return Constant(chosen.name, name, value, low, high, usual, len(values))

    ratios = [error.ratio for error, _ in kept if error.ratio is not None]
    yield constant("scale", 1.0, ratios)
    step = PREFACTORS.get(chosen.name)
    if step:
        usual = [model.explain(chosen.name, **_known(chosen, row)).steps[step] for _, row in kept]
        scaled = [value * ratio for value, ratio in zip(usual, ratios, strict=True)]
        yield constant(step, median(usual), scaled)
    for name in FITTED.get(chosen.name, ()):
        values = [value for error, row in kept if (value := _needed(chosen, name, error, row))]
        if values:
            default = chosen.parameter(name).default
            yield constant(name, math.nan if default is None else default, values)
    losses = [row["loss"] for _, row in kept if row.get("loss")]
    lossy = len(losses) == len(kept) and max(losses) >= LOSSES_SPREAD * min(losses)
    if lossy and any(parameter.name == "loss" for parameter in chosen.parameters):
        points = [(math.log(row["loss"]), _log_window(error, row)) for error, row in kept]
        expected = [
            (math.log(row["loss"]), _log_window(error._replace(ratio=1.0), row))
            for error, row in kept
        ]
        value, low, high = interval(points, slope)
        yield Constant(chosen.name, "loss_exponent", value, low, high, slope(expected), len(points))


def _log_window(error: Error, row: Mapping[str, Any]) -> float:
    """Take the logarithm of the window that was measured, or with a ratio of one predicted."""
    bps = (error.predicted_bps or 1.0) * (error.ratio or 1.0)
    return math.log(bps * row.get("rtt_ns", 1.0) / row.get("mss_bytes", 1.0))


def _needed(chosen: model.Model, name: str, error: Error, row: Mapping[str, Any]) -> float | None:
    """Find the value with which a model is right; None where no value is, or any."""
    others = {key: value for key, value in _known(chosen, row).items() if key != name}
    try:
        return model.solve(chosen.name, name, rate_bps=error.throughput_bps or 0.0, **others)
    except UsageError:
        return None


def _error(number: int, chosen: model.Model, row: Mapping[str, Any]) -> Error:
    measured = row[MEASURED]
    if not measured or measured <= 0:
        return Error(number, chosen.name, measured, None, None, "the throughput is not known")
    found = model.explain(chosen.name, **_known(chosen, row))
    doubt = found.reason or found.caution or _doubt(chosen.name, row, measured)
    ratio = measured / found.rate_bps if found.rate_bps else None
    return Error(number, chosen.name, measured, found.rate_bps, ratio, doubt)


def _doubt(name: str, row: Mapping[str, Any], measured: float) -> str | None:
    """Which condition of a model does not hold, as far as the row tells."""
    controller, mine = row.get("controller"), CONTROLLERS.get(name)
    if controller and mine and not str(controller).lower().startswith(mine):
        return f"the controller is not {mine[0]}"
    window = link = math.inf
    if row.get("window_bytes") and row.get("rtt_ns"):
        window = row["window_bytes"] * 8e9 / row["rtt_ns"]
    if row.get("capacity_bps"):
        link = row["capacity_bps"]
    if name in ("mathis", "cubic") and measured >= HELD * window:
        return "the window holds it back"
    if name in ("mathis", "cubic", "pftk") and measured >= HELD * link:
        return "the link is full"
    if name in ("capacity", "window") and row.get("loss"):
        return "losses may hold it back"
    if name == "window" and window > link:
        return "the link carries less than the window"
    if name == "capacity" and window < link:
        return "the window is less than the link carries"
    least = row.get("rtt_min_ns")
    if name in ("mathis", "cubic", "pftk") and least and row["rtt_ns"] > INFLATED * least:
        return "the RTT grows with the window"
    return None


def _summary(name: str, group: Sequence[Error]) -> Summary:
    ratios = [e.ratio for e in group if e.doubt is None and e.ratio is not None]
    left_out = Counter(error.doubt for error in group if error.doubt is not None)
    if not ratios:
        return Summary(name, 0, None, None, None, left_out)
    near = sum(abs(ratio - 1) <= NEAR for ratio in ratios) / len(ratios)
    rms = math.sqrt(sum(math.log(ratio) ** 2 for ratio in ratios) / len(ratios))
    return Summary(name, len(ratios), median(ratios), near, rms, left_out)


def _chosen(names: Sequence[str], columns: Mapping[str, Any]) -> list[model.Model]:
    """Find the models that are wanted, or all that have what they need."""

    def missing(one: model.Model) -> list[str]:
        return [p.name for p in one.parameters if p.required and p.name not in columns]

    wanted = [model.model(name) for name in names]
    for one in wanted:
        if missing(one):
            raise UsageError(f"the model {one.name} needs {' and '.join(missing(one))}")
    found = wanted or [one for one in model.models().values() if not missing(one)]
    if not found:
        needs = "; ".join(f"{m.name}: {', '.join(missing(m))}" for m in model.models().values())
        raise UsageError(f"no model has the columns that it needs ({needs})")
    return found


def _known(chosen: model.Model, row: Mapping[str, Any]) -> dict[str, Any]:
    names = {parameter.name for parameter in chosen.parameters}
    return {name: value for name, value in row.items() if name in names}


def is_used(column: str) -> bool:
    """Tell whether a column means anything to the models."""
    return column in (MEASURED, *HINTS) or any(
        column == parameter.name for one in model.models().values() for parameter in one.parameters
    )


def _rows(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    if MEASURED not in columns:
        raise UsageError(f"there is no column {MEASURED}: what was measured, in bit/s")
    unknown = [name for name in columns if not is_used(name)]
    if unknown:
        raise UsageError(f"no model knows {', '.join(unknown)}: `tcpwhy model` has their names")
    listed = {name: _list(value) for name, value in columns.items()}
    lengths = {len(value) for value in listed.values() if value is not None}
    if len(lengths) > 1:
        raise UsageError(f"columns have different lengths: {sorted(lengths)}")
    count = lengths.pop() if lengths else 1
    return [
        {
            name: _plain(columns[name] if values is None else values[at])
            for name, values in listed.items()
        }
        for at in range(count)
    ]


def _list(value: Any) -> list[Any] | None:
    """Give a column as a list, None for a single value."""
    for turn in ("to_pylist", "to_list", "tolist"):
        if hasattr(value, turn):
            items = getattr(value, turn)()
            return items if isinstance(items, list) else None
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else None


def _plain(value: Any) -> Any:
    """Turn not a number into None, and Decimal and the like into float."""
    if value is None or isinstance(value, str):
        return value
    number = float(value)
    return None if math.isnan(number) else number
