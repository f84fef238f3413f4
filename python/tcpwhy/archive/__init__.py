"""Many captures: each one a task of its own, here or on a cluster, into one store.

A task reads one capture, writes its rows to the store, and notes there that it is done. So a run
that was interrupted goes on where it stopped. A damaged capture is reported and stops nothing.
"""

from tcpwhy.archive.inputs import Capture, find
from tcpwhy.archive.run import Outcome, analyze_each

__all__ = ["Capture", "Outcome", "analyze_each", "find"]
