"""Plain cases: one limit each on the kernel's TCP, with rates and delays drawn by chance.

A random world mixes what limits; who tries a tool makes one limit at a time. Seeds from `FIRST` on
are of such cases, of each family in turn. None is fitted, calibrates or chooses anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

FIRST = 900_000
WIDE_BPS = 300_000_000


@dataclass
class Case:
    """What a drawn case has: the second of two links, and the flows over both."""

    rtt_ms: float
    link: str = f"{{ rate = {{ rate_bps = {WIDE_BPS}, queue.drop_tail.limit_packets = 2000 }} }}"
    flows: list[str] = field(default_factory=list)

    def flow(self, controller: str, tcp: str = "", *, peer: str = "", more: str = "") -> None:
        """Add a bulk transfer."""
        tcp = f", {tcp}" if tcp else ""
        lines = ["workload.bulk = {}", more, f'tcp = {{ controller = "{controller}"{tcp} }}']
        lines.append(f"peer_tcp = {{ {peer} }}" if peer else "")
        self.flows.append("\n".join(filter(None, lines)))

    def passes(self, element: str) -> None:
        """Let the second link have another element."""
        self.link += f", {element}"

    def queue(self, rate_bps: int, trips: float) -> str:
        """Give a link with a queue of so many bandwidth-delay products."""
        room = max(9_000, int(rate_bps / 8 * self.rtt_ms / 1e3 * trips))
        return f"{{ rate = {{ rate_bps = {rate_bps}, queue.drop_tail.limit_bytes = {room} }} }}"


def between(draw: Random, low: float, high: float) -> float:
    """Draw a number, its logarithm evenly."""
    return math.exp(draw.uniform(math.log(low), math.log(high)))


def any_controller(draw: Random) -> str:
    """Draw a controller of the kernel."""
    return draw.choice(["cubic", "reno", "bbr1"])


def by_loss(draw: Random) -> str:
    """Draw one that losses slow down."""
    return draw.choice(["cubic", "reno"])


def paced(draw: Random, case: Case) -> None:
    """Pace the socket."""
    case.flow(any_controller(draw), f"pacing_rate_bps = {between(draw, 1e6, 4e7):.0f}")


def send_buffer(draw: Random, case: Case) -> None:
    """Have little room to send from."""
    case.flow(any_controller(draw), f"send_buffer_bytes = {between(draw, 1e4, 1.6e5):.0f}")


def receive_buffer(draw: Random, case: Case) -> None:
    """Have little room to receive in."""
    room = f"receive_buffer_bytes = {between(draw, 1.6e4, 2.5e5):.0f}"
    case.flow(any_controller(draw), peer=room)


def slow_reader(draw: Random, case: Case) -> None:
    """Read slowly."""
    rate = f"reader.slow.rate_bps = {between(draw, 5e5, 1e7):.0f}"
    case.flow(any_controller(draw), more=rate)


def jitter(draw: Random, case: Case) -> None:
    """Vary the delay beside a small receive buffer: no queue, no loss."""
    width_ms = f"{draw.uniform(1, 20):.1f}"
    case.passes(
        f'{{ jitter = {{ jitter_ms = {width_ms}, distribution = "normal", keep_order = true }} }}'
    )
    receive_buffer(draw, case)


def single_losses(draw: Random, case: Case) -> None:
    """Lose segments one by one."""
    case.passes(f"{{ bernoulli.loss = {between(draw, 2e-4, 1e-2):.6f} }}")
    case.flow(by_loss(draw))


def loss_bursts(draw: Random, case: Case) -> None:
    """Lose several segments in a row."""
    begin, end = between(draw, 2e-4, 5e-3), draw.uniform(0.1, 0.6)
    kept = draw.choice([0, 0.3])
    case.passes(f"{{ gilbert_elliott = {{ p = {begin:.6f}, r = {end:.3f}, h = {kept} }} }}")
    case.flow(by_loss(draw))


def narrow(draw: Random, case: Case) -> None:
    """Have a narrow link alone."""
    rate_bps = int(between(draw, 1e6, 6e7))
    case.link = case.queue(rate_bps, draw.choice([0.2, 0.5, 1, 2, 4]))
    case.flow(any_controller(draw))


def shared(draw: Random, case: Case) -> None:
    """Have it with others."""
    case.link = case.queue(int(between(draw, 2e6, 6e7)), draw.choice([0.5, 1, 2]))
    for _ in range(draw.choice([2, 3, 4])):
        case.flow(by_loss(draw))


def policer(draw: Random, case: Case) -> None:
    """Pass a token bucket."""
    rate_bps = int(between(draw, 1e6, 3e7))
    room = max(6_000, int(rate_bps / 8 * case.rtt_ms / 1e3 * draw.choice([0.3, 1, 2])))
    case.passes(f"{{ policer = {{ rate_bps = {rate_bps}, burst_bytes = {room} }} }}")
    case.flow(any_controller(draw))


FAMILIES: tuple[Callable[[Random, Case], None], ...] = (
    paced,
    send_buffer,
    receive_buffer,
    slow_reader,
    jitter,
    single_losses,
    loss_bursts,
    narrow,
    shared,
    policer,
)


def is_plain(seed: int) -> bool:
    """Tell whether a seed is of a plain case."""
    return seed >= FIRST


def family(seed: int) -> str:
    """Name what limits the case of a seed."""
    return FAMILIES[seed % len(FAMILIES)].__name__


def text(seed: int) -> str:
    """Give the scenario file of a seed."""
    draw = Random(seed)
    case = Case(rtt_ms=between(draw, 6, 120))
    FAMILIES[seed % len(FAMILIES)](draw, case)
    delay = f"{{ delay.delay_ms = {case.rtt_ms / 4:.3f} }}"
    fast = "{ rate = { rate_bps = 1_000_000_000, queue.drop_tail.limit_packets = 1000 } }"
    flows = [f'[[flows]]\nfrom = "S"\nto = "D"\npath = ["a", "b"]\n{flow}' for flow in case.flows]
    taps = ['host = "S"', 'behind = "a"', 'host = "D"']
    names = ["sender", "middle", "receiver"]
    return (
        "\n\n".join(
            [
                f'title = "Plain case {seed}: {family(seed)}"',
                f"seed = {seed}\nduration_s = 15",
                "[hosts.S]\n[hosts.D]",
                f"[links.a]\nforward = [{fast}, {delay}]\nbackward = [{fast}, {delay}]",
                f"[links.b]\nforward = [{case.link}, {delay}]\nbackward = [{fast}, {delay}]",
                *flows,
                *(f'[[taps]]\nname = "{name}"\n{at}' for name, at in zip(names, taps, strict=True)),
            ]
        ).replace("\n\n\n", "\n\n")
        + "\n"
    )
