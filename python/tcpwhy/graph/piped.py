"""A capture from a pipe, such as that of tcpdump on a live link, kept for as long as it is read."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def spooled() -> Iterator[str]:
    """Copy standard input to a file that goes away: a graph reads a capture more than once."""
    with tempfile.NamedTemporaryFile(prefix="tcpwhy-graph-", suffix=".pcap") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
        file.flush()
        yield file.name
