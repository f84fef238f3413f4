"""Worlds of another generator: places on the Internet, each with the numbers that are usual there.

Random worlds draw every number by itself from a wide range. Here a place goes before the numbers:
the rates that are sold there, its round trips and its queues; programs that people run; and others
on the same link, up to two dozen flows at once. None is fitted and none calibrates. Those below
1000 were looked at when caps of confidence and the cut of "high" were chosen.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")
M = 1_000_000
PACKETS = 90_000
"""What a world is to have at most: a fraction of a second of computing."""


@dataclass(frozen=True)
class Place:
    """A kind of access and what lies behind it."""

    weight: int
    rates_mbps: tuple[float, ...]
    """Of the narrow link, towards the receiver."""
    back: tuple[float, float]
    """How the rate of the way back compares."""
    near_ms: tuple[float, float]
    """Round trip of the access."""
    far_ms: tuple[float, float]
    """Round trip behind it."""
    queue_s: tuple[float, float]
    """What the queue of the narrow link holds."""
    link: str = "rate"


PLACES = {
    "ADSL": Place(14, (2, 6, 16, 25, 50), (0.06, 0.25), (12, 40), (1, 150), (0.05, 0.6)),
    "cable": Place(14, (20, 50, 100, 200), (0.05, 0.2), (8, 25), (1, 150), (0.02, 0.4)),
    "fibre": Place(14, (50, 100, 250, 500), (0.25, 1), (2, 10), (1, 180), (0.005, 0.1)),
    "cellular": Place(12, (3, 8, 20, 40, 80), (0.2, 0.6), (30, 70), (1, 120), (0.2, 1.2), "walk"),
    "Wi-Fi": Place(12, (8, 20, 50, 100, 200), (1, 1), (2, 8), (1, 150), (0.03, 0.3), "wifi"),
    "satellite": Place(5, (5, 20, 50), (0.1, 0.3), (500, 600), (10, 60), (0.1, 0.6)),
    "data centre": Place(5, (200, 1000), (1, 1), (0.1, 0.5), (0.1, 1), (0.0005, 0.003)),
    "transit": Place(10, (50, 100, 200), (1, 1), (1, 20), (10, 180), (0.02, 0.2)),
    "LAN": Place(6, (10, 100, 1000), (1, 1), (0.2, 2), (0.1, 1), (0.002, 0.05)),
    "campus": Place(8, (20, 50, 100), (1, 1), (1, 5), (5, 120), (0.01, 0.15)),
}


class Draw(random.Random):
    """Draws numbers and choices."""

    def log(self, low: float, high: float) -> float:
        """Draw a number whose logarithm is uniform."""
        return math.exp(self.uniform(math.log(low), math.log(high)))

    def chance(self, share: float) -> bool:
        """Say yes in this share of all cases."""
        return self.random() < share

    def weighed(self, weights: dict[T, int]) -> T:
        """Choose one by its weight."""
        return self.choices(list(weights), list(weights.values()))[0]


def name(seed: int) -> str:
    """Give the name of a place of a seed."""
    return Draw(seed).weighed({place: each.weight for place, each in PLACES.items()})


def scenario(seed: int) -> str:
    """Give the world of a seed as the text of a scenario file."""
    place, draw = PLACES[name(seed)], Draw(f"{seed} there")
    rate = draw.choice(place.rates_mbps) * M
    rtt_ms = draw.uniform(*place.near_ms) + draw.log(*place.far_ms)
    harm, carries = harmed(draw, rate, rtt_ms)
    flow, needs = sent(draw, rate, rtt_ms)
    others, asked = beside(draw, rate)
    # A packet has some 1,000 bytes, with those of the acknowledgements.
    per_second = min(min(carries, needs) + asked, rate) / 8000
    duration_s = max(min(max(PACKETS / per_second, 5), 30), 0.03 * rtt_ms)
    return "\n".join(
        [
            f'title = "World {seed} of places: {name(seed)}"',
            f"seed = {seed}\nduration_s = {duration_s:.1f}",
            f"[hosts.N]\n[hosts.M]\n[hosts.S]\ntso = {toml(draw.chance(0.6))}\n[hosts.D]",
            *(["gro_ms = 0.1"] if draw.chance(0.25) else []),
            links(draw, place, rate, rtt_ms, harm),
            flow,
            others,
            '[[taps]]\nname = "sender"\nhost = "S"',
            '[[taps]]\nname = "middle"\nbehind = "far"',
            '[[taps]]\nname = "receiver"\nhost = "D"\n',
        ]
    )


def toml(value: bool) -> str:
    """Write yes or no as TOML does."""
    return str(value).lower()


def links(draw: Draw, place: Place, rate: float, rtt_ms: float, harm: Sequence[str]) -> str:
    """Give the access, where it is narrow, what lies before it, and a side way onto it."""
    near = f"{{ delay.delay_ms = {rtt_ms * 0.15:.3f} }}"
    far = f"{{ delay.delay_ms = {rtt_ms * 0.35:.3f} }}"
    back = rate * draw.uniform(*place.back)
    wide = min(rate * draw.choice([3, 10, 30]), 5e9)
    held = draw.choice([50, 100, 500])
    access = [server(draw, place, rate), near]
    for element in harm:
        access.insert(draw.randrange(len(access) + 1), element)
    return "\n".join(
        [
            f"[links.far]\nforward = [{{ rate.rate_bps = {wide:.0f} }}, {far}]",
            f"backward = [{{ rate.rate_bps = {wide:.0f} }}, {far}]",
            f"[links.access]\nforward = [{', '.join(access)}]",
            f"backward = [{{ rate = {{ rate_bps = {back:.0f},"
            f" queue.drop_tail.limit_packets = {held} }} }}, {near}]",
            f"[links.side]\nforward = [{{ rate.rate_bps = {rate * 10:.0f} }},"
            f" {{ delay.delay_ms = {draw.log(0.5, 60):.2f} }}]",
        ]
    )


def server(draw: Draw, place: Place, rate: float) -> str:
    """Give the narrow link with its queue."""
    held = max(rate * draw.uniform(*place.queue_s) / 8, 9000)
    kind = draw.weighed({"drop_tail": 70, "fq_codel": 14, "codel": 6, "pie": 6, "drop_head": 4})
    if kind in ("codel", "fq_codel", "pie"):
        ecn = toml(draw.chance(0.3))
        queue = f"queue.{kind} = {{ ecn = {ecn}, limit_bytes = {max(held, 60_000):.0f} }}"
    else:
        queue = f"queue.{kind}.limit_bytes = {held:.0f}"
    if place.link == "walk":
        low, high = rate * draw.uniform(0.2, 0.6), rate * draw.uniform(1.1, 2)
        step_ms, step = draw.uniform(10, 100), draw.uniform(0.05, 0.3)
        return (
            f"{{ walk = {{ min_bps = {low:.0f}, max_bps = {high:.0f}, step_ms = {step_ms:.1f},"
            f" step = {step:.3f}, {queue} }} }}"
        )
    if place.link == "wifi":
        size, gap = draw.uniform(12_000, 120_000), draw.uniform(0.3, 0.7)
        return (
            f"{{ wifi = {{ rate_bps = {rate * draw.uniform(1.5, 3):.0f}, burst_bytes = {size:.0f},"
            f" gap_ms = {size * 8000 / rate * gap:.3f}, {queue} }} }}"
        )
    if draw.chance(0.1):
        size = max(rate / 8 * draw.uniform(0.01, 0.3), 6000)
        return f"{{ shaper = {{ rate_bps = {rate:.0f}, burst_bytes = {size:.0f}, {queue} }} }}"
    return f"{{ rate = {{ rate_bps = {rate:.0f}, {queue} }} }}"


def harmed(draw: Draw, rate: float, rtt_ms: float) -> tuple[list[str], float]:
    """Give what goes wrong at the access, and the rate that it leaves, about."""
    elements, carries = [], rate
    if draw.chance(0.11):
        policed = min(draw.choice([1, 2, 3, 5, 8, 10, 20, 30]) * M, rate * draw.uniform(0.2, 0.9))
        burst = max(8000, min(policed / 8 * draw.log(0.03, 2), 3 * M))
        elements.append(
            f"{{ policer = {{ rate_bps = {policed:.0f}, burst_bytes = {burst:.0f} }} }}"
        )
        carries = policed
    loss = 0.0
    if draw.chance(0.2):
        loss = draw.log(2e-4, 0.03)
        elements.append(f"{{ bernoulli.loss = {loss:.5f} }}")
    elif draw.chance(0.08):
        bad, good = draw.log(5e-5, 0.003), draw.uniform(0.1, 0.5)
        loss = bad / (bad + good)
        elements.append(f"{{ gilbert_elliott = {{ p = {bad:.6f}, r = {good:.3f} }} }}")
    if loss:
        # Mathis et al. 1997, three times over.
        carries = min(carries, 3 * 1448 * 8 * 1.22 / (rtt_ms / 1000 * math.sqrt(loss)))
    if draw.chance(0.25):
        jitter = min(rtt_ms * 0.2, draw.log(0.05, 8))
        elements.append(
            f'{{ jitter = {{ jitter_ms = {jitter:.3f}, distribution = "exponential",'
            " keep_order = true } }"
        )
    return elements, carries


def sent(draw: Draw, rate: float, rtt_ms: float) -> tuple[str, float]:
    """Give the flow between the hosts, and the rate that it asks for at most."""
    workload, needs = program(draw, rate, rtt_ms)
    both, tcp, peer = [], [f'controller = "{controller(draw)}"'], []
    for key, share in (("window_scaling", 0.08), ("timestamps", 0.1), ("sack", 0.06)):
        if draw.chance(share):
            both.append(f"{key} = false")
    if draw.chance(0.6):
        tcp.append(f"writer_delay_ms = {draw.log(0.02, 2):.3f}")
    if draw.chance(0.15):
        buffer = draw.choice([64, 128, 256, 512]) * 1024
        peer.append(f"receive_buffer_bytes = {2 * buffer}")
        needs = min(needs, buffer * 8000 / rtt_ms)
    if draw.chance(0.15):
        buffer = draw.choice([32, 64, 128, 256, 512]) * 1024
        tcp.append(f"send_buffer_bytes = {buffer}")
        needs = min(needs, buffer * 8000 / rtt_ms)
    if "window_scaling = false" in both:
        needs = min(needs, 65_535 * 8000 / rtt_ms)
    reader = ""
    if draw.chance(0.1):
        taken = max(rate * draw.log(0.05, 1.2), 30_000)
        needs = min(needs, taken)
        reader = f"reader.slow = {{ rate_bps = {taken:.0f}, read_bytes = 16_384 }}\n"
    opened = "to" if draw.chance(0.6) else "from"
    text = (
        f'[[flows]]\nfrom = "S"\nto = "D"\npath = ["far", "access"]\nworkload.{workload}\n{reader}'
        f'opened_by = "{opened}"\ntcp = {{ {", ".join([*both, *tcp])} }}\n'
        f"peer_tcp = {{ {', '.join([*both, *peer])} }}"
    )
    return text, needs


def program(draw: Draw, rate: float, rtt_ms: float) -> tuple[str, float]:
    """Give what the program does, and the rate that it asks for."""
    kind = draw.weighed({"bulk": 66, "video": 12, "pages": 8, "stream": 10, "shell": 4})
    if kind == "video":
        every_s, asked = draw.choice([1, 2, 4]), draw.choice([1, 2.5, 5, 8, 16]) * M
        asked = min(asked, rate * 1.2)
        size = asked * every_s / 8
        return f"chunks = {{ chunk_bytes = {size:.0f}, interval_ms = {every_s}000 }}", asked
    if kind == "pages":
        size = draw.log(2e3, 1e6)
        text = (
            f"request_response = {{ request_bytes = {draw.log(200, 2000):.0f}, response_bytes ="
            f" {size:.0f}, serve_ms = {draw.log(1, 100):.1f}, think_ms = {draw.log(1, 1000):.1f} }}"
        )
        return text, size * 8000 / rtt_ms
    if kind == "stream":
        asked = min(draw.log(0.2, 20) * M, rate * 1.1)
        size = max(asked / 8 * 0.005, 1000)
        return f"paced = {{ rate_bps = {asked:.0f}, write_bytes = {size:.0f} }}", asked
    if kind == "shell":
        every_ms = draw.log(2, 100)
        size = draw.randint(20, 400)
        text = f"small_writes = {{ write_bytes = {size}, interval_ms = {every_ms:.1f} }}"
        return text, 12e6 / every_ms
    return "bulk = {}", math.inf


def controller(draw: Draw) -> str:
    """Name a controller, the widespread ones more often."""
    return draw.weighed({"cubic": 62, "bbr1": 18, "bbr3": 8, "reno": 12})


def beside(draw: Draw, rate: float) -> tuple[str, float]:
    """Give the others on the access, and the rate that they ask for."""
    kind = draw.weighed(
        {"nobody": 42, "home": 16, "many": 12, "pages": 10, "stream": 9, "game": 6, "late": 5}
    )
    if kind == "nobody":
        return "", 0.0
    if kind == "game":
        share, source = draw.uniform(0.05, 0.6), draw.choice(["constant", "poisson"])
        text = (
            '[[udp]]\nfrom = "N"\nto = "M"\npath = ["access"]\nwire_bytes = 1200\n'
            f"source.{source}.rate_pps = {rate * share / 9600:.1f}"
        )
        return text, rate * share
    if kind == "stream":
        share = draw.uniform(0.05, 0.7)
        return other(draw, f"paced.rate_bps = {rate * share:.0f}"), rate * share
    if kind == "pages":
        size, every_ms = max(rate / 8 * draw.log(0.02, 0.2), 4000), draw.log(200, 1500)
        work = f"chunks = {{ chunk_bytes = {size:.0f}, interval_ms = {every_ms:.0f} }}"
        return other(draw, work, count=draw.randint(3, 9)), rate * 0.4
    if kind == "late":
        return other(draw, "bulk = {}", count=draw.randint(1, 4), start_s=3), math.inf
    count = draw.randint(5, 24) if kind == "many" else draw.randint(1, 3)
    return other(draw, "bulk = {}", count=count), math.inf


def other(draw: Draw, workload: str, *, count: int = 1, start_s: int = 0) -> str:
    """Give flows of others, one after the other."""
    return (
        '[[flows]]\nfrom = "N"\nto = "M"\npath = ["side", "access"]\n'
        f"count = {count}\nstagger_s = {draw.log(0.02, 0.15):.3f}\nstart_s = {start_s}\n"
        f'workload.{workload}\ntcp.controller = "{controller(draw)}"'
    )
