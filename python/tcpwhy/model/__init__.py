"""Throughput models: what TCP should reach, given the path.

from tcpwhy import model
model.predict("cubic", rtt_ns=80e6, loss=1e-4)  # bit/s, or None outside the model's domain
model.predict("mathis", rtt_ns=flows["rtt_mean_ns"], loss=losses)  # columns give a column

Parameters are in base units, as the end of their names says; `models()` lists them. A column is a
numpy array, whatever has the Arrow interface (pyarrow, polars, pandas), or a list; the answer is a
numpy array, a pyarrow array or a list, with NaN, NULL or None where the model has no answer.
"""

import difflib
import math
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tcpwhy import _core
from tcpwhy._core import UsageError
from tcpwhy.extras import require


class Parameter(NamedTuple):
    """What a model needs to know."""

    name: str
    """The name, the unit last."""
    doc: str
    allowed: str
    """The values that it may have, in words."""
    default: float | None
    """A number, or the place of a word among the choices; None when there is none."""
    derived: str | None
    """How it follows from the others when it is not given."""
    choices: tuple[str, ...]
    """The words that it may be, if it is no number."""

    @property
    def required(self) -> bool:
        """Whether it has to be given."""
        return self.default is None and self.derived is None

    @property
    def unit(self) -> str:
        """The unit as names end in it, or an empty text."""
        end = self.name.rpartition("_")[2]
        return end if end in UNITS else ""

    @property
    def quantity(self) -> str:
        """The name without the unit."""
        return self.name.removesuffix(f"_{self.unit}") if self.unit else self.name


UNITS = ("ns", "bytes", "bps", "segs")
"""Ends of names that are units."""


class Model(NamedTuple):
    """A formula, and what is known about it."""

    name: str
    doc: str
    formula: str
    source: str
    conditions: tuple[str, ...]
    """What must hold for the prediction to be worth something."""
    parameters: tuple[Parameter, ...]

    def parameter(self, name: str) -> Parameter:
        """Find a parameter by its name, with or without the unit."""
        wanted = name.replace("-", "_")
        for parameter in self.parameters:
            if wanted in (parameter.name, parameter.quantity):
                return parameter
        known = ", ".join(parameter.name for parameter in self.parameters)
        raise UsageError(f"the model {self.name} has no parameter {name}: it has {known}")


class Prediction(NamedTuple):
    """A prediction and how it came about."""

    rate_bps: float | None
    reason: str | None
    """Why there is no rate."""
    caution: str | None
    """Why the rate is to be taken with care."""
    steps: dict[str, float]
    """What the rate was computed from, by names with units."""


def models() -> dict[str, Model]:
    """Give every model by its name, in the order in which they are listed."""
    found = {}
    for name, doc, formula, source, conditions, rows in _core.models():
        parameters = tuple(
            Parameter(parameter, about, allowed, default, derived, tuple(choices))
            for parameter, about, allowed, default, derived, choices in rows
        )
        found[name] = Model(name, doc, formula, source, tuple(conditions), parameters)
    return found


def model(name: str) -> Model:
    """Find a model by its name."""
    known = models()
    if name.replace("-", "_") not in known:
        alike = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        meant = f"did you mean {alike[0]}? There" if alike else "there"
        raise UsageError(f"no model {name!r}: {meant} are {', '.join(known)}")
    return known[name.replace("-", "_")]


def predict(name: str, /, **parameters: Any) -> Any:
    """Predict the rate of payload in bit/s.

    Args:
        name: a model; `models()` has them.
        parameters: numbers, words or columns. Columns have the same length; numbers go with all
            rows. What is not given has the model's default.

    Returns:
        A number or None, or a column after the kind of the first column given.

    Raises:
        UsageError: for a parameter that the model does not have, or columns that do not fit.

    """
    chosen = model(name)
    values = [_column(parameter, value) for parameter, value in _given(chosen, parameters)]
    first = next((value for value in parameters.values() if _is_column(value)), None)
    if first is None:
        return _core.predict_one(chosen.name, [float(value) for value in values])[0]
    column = _core.predict(chosen.name, values)
    if _is_arrow(first):
        return require("pyarrow", extra="arrow").array(column)
    if hasattr(first, "__array__"):
        return require("numpy", extra="pandas").frombuffer(column.to_bytes())
    return column.to_list()


def explain(name: str, /, **parameters: float | str) -> Prediction:
    """Predict from one value for each parameter, and say how the rate comes about or why not."""
    chosen = model(name)
    values = [_number(parameter, value) for parameter, value in _given(chosen, parameters)]
    rate_bps, reason, caution, steps = _core.predict_one(chosen.name, values)
    return Prediction(rate_bps, reason, caution, dict(steps))


def solve(name: str, parameter: str, /, *, rate_bps: float, **parameters: float | str) -> float:
    """Find the value of a parameter that is just good enough for a rate.

    That is the largest loss or RTT, the smallest window or capacity.

    Raises:
        UsageError: when no value is, or every value is, or there is no such parameter.

    """
    chosen = model(name)
    wanted = chosen.parameter(parameter).name
    known = {wanted: 1.0} | parameters
    values = [_number(parameter, value) for parameter, value in _given(chosen, known)]
    return _core.solve(chosen.name, wanted, rate_bps, values)


def _given(chosen: Model, parameters: Mapping[str, Any]) -> list[tuple[Parameter, Any]]:
    """Pair every parameter with its value, in the model's order."""
    known = [parameter.name for parameter in chosen.parameters]
    for name in parameters:
        if name not in known:
            message = f"the model {chosen.name} has no parameter {name}: it has {', '.join(known)}"
            raise UsageError(message)
    missing = [p.name for p in chosen.parameters if p.required and p.name not in parameters]
    if missing:
        raise UsageError(f"the model {chosen.name} needs {' and '.join(missing)}")
    return [(p, parameters.get(p.name, p.default)) for p in chosen.parameters]


def _number(parameter: Parameter, value: Any) -> float:
    """Turn a number, a word, or None for unknown into a number."""
    if isinstance(value, str):
        if value not in parameter.choices:
            raise UsageError(f"{parameter.name} is {parameter.allowed}, not {value!r}")
        return float(parameter.choices.index(value))
    return math.nan if value is None else float(value)


def _column(parameter: Parameter, value: Any) -> Any:
    """Turn a value into a number, or into something with a buffer of float64."""
    if not _is_column(value):
        return _number(parameter, value)
    if len(value) == 0:
        # Nothing has no address, which a buffer must have.
        return []
    if _is_arrow(value):
        pyarrow = require("pyarrow", extra="arrow")
        column = pyarrow.chunked_array([_arrow_array(pyarrow, value)])
        column = column.cast(pyarrow.float64()).fill_null(math.nan).combine_chunks()
        whole = memoryview(column.buffers()[1]).cast("B").cast("d")
        return array("d", whole[column.offset : column.offset + len(column)])
    if hasattr(value, "__array__"):
        numpy = require("numpy", extra="pandas")
        return numpy.ascontiguousarray(value, dtype=numpy.float64)
    return array("d", [_number(parameter, item) for item in value])


def _arrow_array(pyarrow: Any, value: Any) -> Any:
    if hasattr(value, "__arrow_c_stream__"):
        return pyarrow.chunked_array(value).combine_chunks()
    return pyarrow.array(value)


def _is_arrow(value: Any) -> bool:
    return hasattr(value, "__arrow_c_array__") or hasattr(value, "__arrow_c_stream__")


def _is_column(value: Any) -> bool:
    if _is_arrow(value):
        return True
    has_rows = hasattr(value, "__array__") and getattr(value, "ndim", 0) > 0
    return has_rows or (isinstance(value, Sequence) and not isinstance(value, str | bytes))
