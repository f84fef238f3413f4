"""One connection seen at two points: what happened between them, before, and beyond."""

from tcpwhy.taps.between import Between, Clocks, compare
from tcpwhy.taps.merge import Bounds, clocks, merge, merge_rows
from tcpwhy.taps.pair import Pair, pairs
from tcpwhy.taps.source import Point, point

__all__ = [
    "Between",
    "Bounds",
    "Clocks",
    "Pair",
    "Point",
    "clocks",
    "compare",
    "merge",
    "merge_rows",
    "pairs",
    "point",
]
