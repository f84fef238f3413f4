"""Verdicts as comments on packets, for Wireshark: where what limits a connection changes."""

import errno
from collections.abc import Callable, Sequence
from pathlib import Path

from tcpwhy._core import Annotations, Batch, UsageError
from tcpwhy.sinks import Capabilities, check_folder

_SELECT = """SELECT flow_id, direction, src, src_port, dst, dst_port, start_ns, end_ns,
    coalesce(cause, limitation), confidence, coalesce(evidence, null_reason), remedy
    FROM batch WHERE data_packets > 0 ORDER BY start_ns"""


class Comments:
    """A sink of intervals: the first packet of a direction under a new verdict tells it."""

    def __init__(self) -> None:
        """Begin without a verdict."""
        import duckdb

        self.capabilities = Capabilities(("intervals",))
        self.left_out = 0
        """Comments beyond the bound of those that may wait."""
        self.annotations = Annotations()
        self._connection = duckdb.connect()
        self._last: dict[tuple[int, str], str | None] = {}

    def write(self, table: str, batch: Batch) -> None:
        """Take intervals; those of a direction come in their order."""
        self._connection.register("batch", batch)
        for row in self._connection.execute(_SELECT).fetchall():
            flow, direction, src, src_port, dst, dst_port, start_ns, end_ns, *verdict = row
            limit, confidence, evidence, remedy = verdict
            if self._last.get((flow, direction)) == limit:
                continue
            self._last[flow, direction] = limit
            said = f"tcpwhy: limited by {limit} ({confidence} confidence)"
            if limit is None:
                said = "tcpwhy: no verdict"
            seconds = f"for the next {(end_ns - start_ns) / 1e9:.3g} s at least"
            text = "\n".join(filter(None, (f"{said} {seconds}", evidence, remedy)))
            if not self.annotations.add((src, src_port), (dst, dst_port), start_ns, text):
                self.left_out += 1

    def flush(self) -> None:
        """Do nothing: comments wait for their packets."""

    def close(self) -> None:
        """Forget what was said."""
        self._connection.close()


class Copy(Comments):
    """Writes captures again at the end, with comments."""

    def __init__(self, captures: Sequence[str], target: str, say: Callable[[str], None]) -> None:
        """Prepare to read the captures once more."""
        super().__init__()
        if "-" in captures:
            raise UsageError("--annotate reads a capture twice: name a file, not -")
        check_folder(target)
        if any(Path(name).exists() and _is_same(name, target) for name in captures):
            raise UsageError(f"{target}: is the capture itself: choose another name")
        self._captures, self._target, self._say = list(captures), Path(target), say

    def close(self) -> None:
        """Write the copy; it appears when it is complete. Damage was told by the analysis."""
        super().close()
        unfinished = self._target.with_name(f".{self._target.name}.tmp")
        try:
            frames, comments, _ = self.annotations.write(self._captures, unfinished)
            unfinished.replace(self._target)
        except OSError as error:
            code = error.errno or errno.EIO
            raise OSError(code, error.strerror or str(error), str(self._target)) from error
        finally:
            unfinished.unlink(missing_ok=True)
        self._say(f"{self._target}: {frames:,} packets, {comments:,} with a comment")
        if self.left_out:
            self._say(f"{self._target}: {self.left_out:,} comments were left out: too many wait")


def _is_same(name: str, target: str) -> bool:
    return Path(target).exists() and Path(name).samefile(target)
