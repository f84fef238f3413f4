"""Fast questions about a series. `static/ranges.js` answers the same in JavaScript."""

from typing import Any


def lower(t: Any, at: float) -> int:
    """Find the first index with a time of at least `at`."""
    import numpy

    return int(numpy.searchsorted(t, at, side="left"))


def upper(t: Any, at: float) -> int:
    """Find the first index with a time after `at`."""
    import numpy

    return int(numpy.searchsorted(t, at, side="right"))


def bounds(t: Any, t0: float, t1: float, columns: int) -> Any:
    """Find where each of so many columns of pixels begins in a series, and where the last ends."""
    import numpy

    edges = t0 + (t1 - t0) * numpy.arange(columns + 1) / columns
    return numpy.searchsorted(t, edges, side="left")


def extremes(values: Any, starts: Any, largest: bool) -> Any:
    """Give the least or largest value of each column that has any, in their order."""
    import numpy

    filled = numpy.flatnonzero(numpy.diff(starts) > 0)
    if not len(filled):
        return numpy.zeros(0)
    reduce = numpy.maximum.reduceat if largest else numpy.minimum.reduceat
    # What lies behind the last column must not fall into it.
    return reduce(values[: starts[-1]], starts[filled])
