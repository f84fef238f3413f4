"""Time-sequence graphs: as a page to zoom in, as SVG, PNG or PDF, and for xplot."""

from tcpwhy.graph.drawing import Graph, draw

__all__ = ["Graph", "draw"]
