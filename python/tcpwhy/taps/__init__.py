"""One connection seen at two points: what happened between them, before, and beyond."""

from tcpwhy.taps.between import Between, Clocks, compare
from tcpwhy.taps.merge import Bounds, clocks, merge
from tcpwhy.taps.pair import Pair, pairs

__all__ = ["Between", "Bounds", "Clocks", "Pair", "clocks", "compare", "merge", "pairs"]
