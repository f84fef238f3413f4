"""Path elements as queueing disciplines of the kernel: one table, as `tc` reads it.

The elements of one direction sit on one interface. `netem` loses, duplicates and delays, and hands
over to `tbf` in it, which has the rate and the queue. That the delay comes before the queue instead
of behind it changes no time between two packets.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tcpwhy._core import TcpwhyError

Settings = Mapping[str, Any]
Words = tuple[str, ...]

QUEUE_PACKETS = 1000
"""What may wait where a scenario does not say, as in the simulator."""
NETEM_PACKETS = 1_000_000
"""Packets on their way are not a queue: none is lost for want of room (1000 by default)."""
BURST_BYTES, BURST_S = 1600, 1.28e-3
"""What `tbf` sends at once: a frame, and what comes in the time between two of its timers."""


class NoQdiscError(TcpwhyError):
    """The kernel cannot do what a scenario asks for; the text says what to do."""

    exit_code = 4


class Qdisc(NamedTuple):
    """A queueing discipline: its kind and what follows that on the line of `tc`."""

    kind: str
    words: Words


class Place(NamedTuple):
    """All of one direction of a link: disciplines from the root inwards, and a policer before."""

    qdiscs: tuple[Qdisc, ...]
    policer: Words = ()

    def lines(self, device: str) -> Iterator[str]:
        """Give the lines of a batch of `tc`."""
        parent = "root"
        for number, qdisc in enumerate(self.qdiscs, 1):
            words = " ".join(qdisc.words)
            head = f"qdisc replace dev {device} {parent} handle {number}:"
            yield f"{head} {qdisc.kind} {words}".rstrip()
            parent = f"parent {number}:1"
        if self.policer:
            yield f"qdisc replace dev {device} clsact"
            yield f"filter add dev {device} egress matchall action {' '.join(self.policer)}"


def translate(elements: Sequence[Settings]) -> Place:
    """Turn the elements of one direction into disciplines; an error names what has none."""
    netem: list[str] = []
    delay_ms = spread_ms = 0.0
    inner: tuple[Qdisc, ...] = ()
    policer: Words = ()
    for element in elements:
        [(name, value)] = element.items()
        if name == "delay":
            delay_ms += value["delay_ms"]
        elif name == "jitter":
            spread_ms += _jitter_ms(value)
        elif name in _NETEM:
            netem += _NETEM[name](value)
        elif name in ("rate", "shaper"):
            if inner:
                raise NoQdiscError("two rates in one direction: make two links of it")
            inner = tuple(_rate(value))
        elif name == "policer":
            policer = _policer(value)
        else:
            raise NoQdiscError(f"no discipline of the kernel is like `{name}`: {_ELSE}")
    if delay_ms or spread_ms:
        # netem varies to both sides of its mean.
        words = ["delay", _ms(delay_ms + spread_ms / 2)]
        netem = words + ([_ms(spread_ms / 2)] if spread_ms else []) + netem
    outer = Qdisc("netem", ("limit", str(NETEM_PACKETS), *netem))
    return Place(((outer,) if netem else ()) + inner, policer)


def kinds(places: Sequence[Place]) -> set[str]:
    """Name the disciplines that are needed."""
    return {qdisc.kind for place in places for qdisc in place.qdiscs}


def _loss(value: Settings) -> Words:
    return ("loss", "random", _percent(value["loss"]))


def _gilbert_elliott(value: Settings) -> Words:
    # tc-netem(8): p, r, 1-h, 1-k.
    good, bad = value.get("k", 1.0), value.get("h", 0.0)
    shares = (value["p"], value["r"], 1 - bad, 1 - good)
    return ("loss", "gemodel", *map(_percent, shares))


def _duplicate(value: Settings) -> Words:
    return ("duplicate", _percent(value["probability"]))


_NETEM: Mapping[str, Callable[[Settings], Words]] = {
    "bernoulli": _loss,
    "gilbert_elliott": _gilbert_elliott,
    "duplicate": _duplicate,
}


def _jitter_ms(value: Settings) -> float:
    if value.get("keep_order", True):
        raise NoQdiscError(f"jitter that keeps the order: netem reorders: {_ELSE}")
    if value.get("distribution", "uniform") != "uniform":
        raise NoQdiscError(f"jitter that is not uniform: {_ELSE}")
    return float(value["jitter_ms"])


def _policer(value: Settings) -> Words:
    rate, burst = f"{value['rate_bps']}bit", str(value["burst_bytes"])
    return ("police", "rate", rate, "burst", burst, "conform-exceed", "drop/pipe")


def _rate(value: Settings) -> Iterator[Qdisc]:
    rate_bps = value["rate_bps"]
    burst = value.get("burst_bytes", max(BURST_BYTES, round(rate_bps / 8 * BURST_S)))
    # The limit in bytes is that of tbf's own queue, which another one replaces.
    words = ("rate", f"{rate_bps}bit", "burst", str(burst), "limit", str(1 << 30))
    yield Qdisc("tbf", words)
    queue = value.get("queue", {"drop_tail": {}})
    [(name, settings)] = queue.items()
    if name not in _QUEUES:
        raise NoQdiscError(f"no discipline of the kernel is like the queue `{name}`: {_ELSE}")
    yield _QUEUES[name](settings)


def _fifo(kinds: tuple[str, str]) -> Callable[[Settings], Qdisc]:
    def make(value: Settings) -> Qdisc:
        by_bytes, by_packets = kinds
        if "limit_bytes" in value and by_bytes:
            return Qdisc(by_bytes, ("limit", str(value["limit_bytes"])))
        if "limit_bytes" in value:
            raise NoQdiscError(f"`{by_packets}` counts packets, not bytes: {_ELSE}")
        return Qdisc(by_packets, ("limit", str(value.get("limit_packets", QUEUE_PACKETS))))

    return make


def _codel(value: Settings) -> Qdisc:
    target, interval = _ms(value.get("target_ms", 5)), _ms(value.get("interval_ms", 100))
    return Qdisc("codel", (*_limit(value), "target", target, "interval", interval, *_ecn(value)))


def _pie(value: Settings) -> Qdisc:
    target, update = _ms(value.get("target_ms", 15)), _ms(value.get("update_ms", 15))
    return Qdisc("pie", (*_limit(value), "target", target, "tupdate", update, *_ecn(value)))


def _red(value: Settings) -> Qdisc:
    mean = value.get("mean_packet_bytes", 1000)
    low, high = value["min_packets"] * mean, value["max_packets"] * mean
    # tc-red(8): burst = (2 min + max) / (3 avpkt).
    burst = max(1, (2 * low + high) // (3 * mean))
    limit = value.get("limit_packets", QUEUE_PACKETS) * mean
    words = ["limit", limit, "min", low, "max", high, "avpkt", mean, "burst", burst]
    words += ["probability", value.get("probability_max", 0.1)]
    return Qdisc("red", (*map(str, words), *_ecn(value)))


def _limit(value: Settings) -> Words:
    return ("limit", str(value.get("limit_packets", QUEUE_PACKETS)))


def _ecn(value: Settings) -> Words:
    return ("ecn",) if value.get("ecn") else ()


_QUEUES: Mapping[str, Callable[[Settings], Qdisc]] = {
    "drop_tail": _fifo(("bfifo", "pfifo")),
    "drop_head": _fifo(("", "pfifo_head_drop")),
    "codel": _codel,
    "pie": _pie,
    "red": _red,
}

_ELSE = "run it without `--emulator kernel`"


def _ms(value: float) -> str:
    return f"{value:g}ms"


def _percent(share: float) -> str:
    return f"{share * 100:g}%"
