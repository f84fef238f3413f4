"""How fast the path hands on what is sent in bursts, though the transfer as a whole is slower.

A sender whose window is smaller than the path sends that window and waits: its segments and their
acknowledgements come in trains, spaced by the slowest link (Jacobson 1988, section 1, "self
clocking"). The kernel's count of acknowledged bytes is looked at every millisecond. It grows at
that link's rate within a train, and not at all between two of them.

Slow start is when to look: every acknowledgement frees twice what it acknowledges, so that a link
never has to wait within a train. Later the trains of a full window fray, and are slower than the
link (over 200 Mbit/s and 100 ms: 191 in the first second, 60 after five).
"""

import socket
import struct
import threading
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from tcpwhy.host import tcpinfo

LOOK_S = 0.001
SPAN_S = 2.0
"""Of looking, from the begin. It takes 3 % of a processor."""
TRIPS = 12
"""Round trips that count: slow start is at ten thousand segments by then."""
GAP_S = 0.003
"""Without growth for so long, and for a tenth of the round trip, a train is over: acknowledgements
of every second segment are nearer to each other from 8 Mbit/s on."""
STEPS_MIN = 5
"""Growing looks that a train needs: the first and the last one see a part of a step."""
BYTES_MIN = 16 * 1448
BUSY_MAX = 0.85
"""Trains that follow each other almost without a gap say nothing but the rate of the transfer."""
UPPER = 0.75
"""The quartile that counts: many things make a train slower than the link, and few faster."""
PACED, UNPACED = 0.8, 1.25
"""A train near to the kernel's pacing rate may be the pacing's (with the qdisc fq); one clearly
faster proves that nothing is paced."""

_FIELDS = {field.name: field for field in tcpinfo.FIELDS}
_ACKED, _PACING = _FIELDS["bytes_acked"], _FIELDS["pacing_rate"]


class Look(NamedTuple):
    """What the kernel said at an instant."""

    at_s: float
    acked_bytes: int
    pacing_bps: float
    """To which the kernel would pace, if it does."""


class Train(NamedTuple):
    """Acknowledgements that came one after the other."""

    seconds: float
    bytes: int
    pacing_bps: float

    @property
    def rate_bps(self) -> float:
        """Bits per second within the train."""
        return self.bytes * 8 / self.seconds


class Listener:
    """Looks at a connection for a while, in a thread of its own."""

    def __init__(self, connection: socket.socket) -> None:
        self._looks: list[Look] = []
        self._connection = connection
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> Sequence[Look]:
        """End, and give what was seen."""
        self._stopped.set()
        self._thread.join()
        return self._looks

    def _run(self) -> None:
        end = time.monotonic() + SPAN_S
        while not self._stopped.is_set() and (now := time.monotonic()) < end:
            try:
                raw = tcpinfo.read(self._connection)
            except OSError:
                return
            if len(raw) < _ACKED.offset + 8:
                return
            (acked,) = struct.unpack_from(_ACKED.format, raw, _ACKED.offset)
            (pacing,) = struct.unpack_from(_PACING.format, raw, _PACING.offset)
            self._looks.append(Look(now, acked, pacing * 8.0))
            time.sleep(LOOK_S)


def path_bps(looks: Sequence[Look], round_trip_s: float) -> float | None:
    """Give the rate within trains; None where there are none, or no end of one."""
    if len(looks) < 2 * STEPS_MIN:
        return None
    last_s = looks[0].at_s + TRIPS * round_trip_s
    looks = [look for look in looks if look.at_s <= last_s]
    found = list(_trains(looks, max(GAP_S, round_trip_s / 10)))
    # With the steps that the measure of a train leaves out.
    busy_s = sum(train.seconds + 2 * LOOK_S for train in found)
    if busy_s > BUSY_MAX * (looks[-1].at_s - looks[0].at_s):
        return None
    whole = [train for train in found if train.bytes >= BYTES_MIN]
    if not any(train.rate_bps > UNPACED * train.pacing_bps for train in whole):
        whole = [train for train in whole if train.rate_bps < PACED * train.pacing_bps]
    rest = sum(train.bytes for train in whole) * UPPER
    for train in sorted(whole, key=lambda train: train.rate_bps):
        rest -= train.bytes
        if rest <= 0:
            return train.rate_bps
    return None


def _trains(looks: Sequence[Look], gap_s: float) -> Iterator[Train]:
    """Give every train, from its first growth to its last but one."""
    train: list[Look] = []
    for before, now in pairwise(looks):
        if now.acked_bytes == before.acked_bytes:
            continue
        if train and now.at_s - train[-1].at_s > gap_s:
            yield from _measured(train)
            train = []
        train.append(now)
    yield from _measured(train)


def _measured(train: Sequence[Look]) -> Iterator[Train]:
    if len(train) > STEPS_MIN:
        first, last = train[0], train[-2]
        pacing = max(look.pacing_bps for look in train)
        yield Train(last.at_s - first.at_s, last.acked_bytes - first.acked_bytes, pacing)
