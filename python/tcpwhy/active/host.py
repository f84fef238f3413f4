"""All sockets of a host over time: what limits each of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from tcpwhy.active.limit import Limit, limit_of
from tcpwhy.host.sockets import Socket, owners, snapshot
from tcpwhy.units import as_bytes

ACTIVE_BYTES = 1
"""A socket that moved less in an interval is idle and not shown unless asked for."""


@dataclass(frozen=True)
class Row:
    """A socket in an interval."""

    socket: Socket
    pid: int | None
    program: str | None
    seconds: float
    out_bytes: int
    in_bytes: int
    limit: Limit | None
    """What limits it as a sender; None when it sends nothing."""
    word: str
    """The limit, or what can be said of a receiver."""
    evidence: str
    """The numbers behind it."""

    def to_json(self) -> dict[str, Any]:
        """Give it as JSON has it."""
        one = self.socket
        sample = {key: value for key, value in one.sample.items() if key != "raw"}
        return {
            "pid": self.pid,
            "program": self.program,
            "src": one.src,
            "src_port": one.src_port,
            "dst": one.dst,
            "dst_port": one.dst_port,
            "seconds": self.seconds,
            "out_bytes": self.out_bytes,
            "in_bytes": self.in_bytes,
            "limitation": self.limit.limitation if self.limit else None,
            "cause": self.limit.cause if self.limit else None,
            "confidence": self.limit.confidence if self.limit else None,
            "evidence": self.evidence,
            **sample,
            "raw": one.sample["raw"].hex(),
        }


class Host:
    """Follows the sockets of this host."""

    def __init__(self, *, pid: int | None = None) -> None:
        self._pid = pid
        self._seen: dict[int, list[Socket]] = {}

    def look(self) -> None:
        """Ask the kernel once; several times in an interval make its shares finer."""
        for one in snapshot():
            self._seen.setdefault(one.cookie, []).append(one)

    def rows(self) -> list[Row]:
        """Give the sockets since the last call, the busiest first; the last look begins anew."""
        whose = owners()
        rows = list(self._rows(whose))
        self._seen = {cookie: looks[-1:] for cookie, looks in self._seen.items() if len(looks) > 1}
        return sorted(rows, key=lambda row: -(row.out_bytes + row.in_bytes))

    def _rows(self, whose: dict[int, tuple[int, str]]) -> Iterator[Row]:
        for looks in self._seen.values():
            pid, program = whose.get(looks[-1].inode, (None, None))
            if len(looks) < 2 or (self._pid is not None and pid != self._pid):
                continue
            first, last = looks[0].sample, looks[-1].sample
            out_bytes = (last["bytes_acked"] or 0) - (first["bytes_acked"] or 0)
            in_bytes = (last["bytes_received"] or 0) - (first["bytes_received"] or 0)
            sends = out_bytes > 0 or last["unacked"] or last["notsent_bytes"]
            limit = limit_of([look.sample for look in looks]) if sends else None
            if in_bytes > 10 * out_bytes and not last["notsent_bytes"]:
                limit = None
            word, evidence = (limit.word, limit.evidence) if limit else _receiving(looks, in_bytes)
            yield Row(
                socket=looks[-1],
                pid=pid,
                program=program,
                seconds=last["at_s"] - first["at_s"],
                out_bytes=out_bytes,
                in_bytes=in_bytes,
                limit=limit,
                word=word,
                evidence=evidence,
            )


def _receiving(looks: Sequence[Socket], in_bytes: int) -> tuple[str, str]:
    """Say what a receiver knows: whether its own program is the limit, and why."""
    buffer = looks[-1].sample["rcvbuf_bytes"] or 1
    unread = median(look.sample["unread_bytes"] for look in looks)
    # Over loopback few super-segments fill the buffer, and most of the last one may have been read
    # while the window is still shut.
    shut = sum(look.sample["rcv_wnd"] == 0 and look.sample["unread_bytes"] > 0 for look in looks)
    # Half of the buffer is the kernel's bookkeeping (tcp(7), tcp_adv_win_scale).
    if unread >= buffer / 8 or 2 * shut > len(looks):
        return "receiver_window/slow_reader", f"{as_bytes(unread)} wait unread by this program"
    if in_bytes:
        return "-", "it receives, and reads all at once: the sender's kernel knows what limits it"
    return "-", "nothing moves"
