"""Random worlds with some things turned: what their generator seldom draws, or never.

The trees learn how often things occur together where they are fitted. Worlds whose numbers were
drawn otherwise keep them from taking that for a law. Queues hold a few packets, the same hosts have
several flows, steady neighbours leave fair shares. Segments are large beside small buffers, paths
are long, and programs are never late. That is domain randomization (Tobin et al. 2017).
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from typing import Any

import tomli_w

from accuracy.places import Draw
from tcpwhy import worlds

Spec = dict[str, Any]


def scenario(seed: int) -> str:
    """Give the turned world of a seed as the text of a scenario file."""
    spec = tomllib.loads(worlds.scenario(seed))
    draw = Draw(f"turned {seed}")
    chosen = [turn for turn, share in TURNS.items() if draw.chance(share)]
    for turn in chosen or [draw.choice(list(TURNS))]:
        turn(draw, spec)
    return tomli_w.dumps(spec)


def short_queue(draw: Draw, spec: Spec) -> None:
    """Let all queues of the path hold less, down to a packet."""
    _scale_queues(spec, draw.log(0.005, 0.5))


def long_queue(draw: Draw, spec: Spec) -> None:
    """Let all queues hold more."""
    _scale_queues(spec, draw.log(2, 8))


def several(draw: Draw, spec: Spec) -> None:
    """Let the same hosts have several such flows at once."""
    spec["flows"][0] |= {"count": draw.randint(2, 4), "stagger_s": draw.log(0.01, 1)}


def fair(draw: Draw, spec: Spec) -> None:
    """Give each flow of the narrow link a queue of its own, beside others that never rest."""
    link = _narrow(spec)
    server = spec["links"][link]["forward"][_server_at(spec, link)]
    settings = next(iter(server.values()))
    held = int(settings["queue"].popitem()[1].get("limit_bytes", 150_000))
    settings["queue"] = {"fq_codel": {"ecn": draw.chance(0.3), "limit_bytes": max(held, 60_000)}}
    _beside(draw, spec, link, {"bulk": {}})


def crowd(draw: Draw, spec: Spec) -> None:
    """Put more flows onto the narrow link, bulk or in chunks."""
    bits = float(_settings(spec, _narrow(spec)).get("rate_bps", 1e7))
    size = max(int(bits / 8 * draw.log(0.02, 0.3)), 4000)
    chunks = {"chunks": {"chunk_bytes": size, "interval_ms": draw.log(100, 2000)}}
    _beside(draw, spec, _narrow(spec), {"bulk": {}} if draw.chance(0.5) else chunks)


def steady(draw: Draw, spec: Spec) -> None:
    """Put a source of a constant rate onto the narrow link."""
    link = _narrow(spec)
    wire = draw.choice([100, 230, 600, 1228, 1428])
    bits = float(_settings(spec, link).get("rate_bps", 1e7)) * draw.log(0.03, 0.7)
    source = {"constant": {"rate_pps": bits / 8 / wire}}
    spec["hosts"] |= {"V": {}, "W": {}}
    udp = {"from": "V", "to": "W", "path": [link], "wire_bytes": wire, "source": source}
    if draw.chance(0.4):
        udp["start_s"] = float(spec["duration_s"]) * draw.uniform(0.1, 0.7)
    spec.setdefault("udp", []).append(udp)


def policed(draw: Draw, spec: Spec) -> None:
    """Police the flow before the narrow link or behind it."""
    link = _narrow(spec)
    at = _server_at(spec, link)
    bits = float(_settings(spec, link).get("rate_bps", 1e7)) * draw.log(0.1, 0.9)
    burst = max(int(bits / 8 * draw.log(0.02, 1)), 6000)
    element = {"policer": {"rate_bps": max(int(bits), 100_000), "burst_bytes": burst}}
    spec["links"][link]["forward"].insert(at + draw.randint(0, 1), element)


def segments(draw: Draw, spec: Spec) -> None:
    """Change the size of segments and leave the buffers as they are."""
    mss = draw.choice([536, 1000, 1220, 1380, 4000, 8960])
    _options(spec, "mss", mss)


def options(draw: Draw, spec: Spec) -> None:
    """Leave an option out."""
    _options(spec, draw.choice(["sack", "timestamps", "timestamps", "window_scaling"]), False)


def other_sender(draw: Draw, spec: Spec) -> None:
    """Take another controller, recovery or habit of pushing."""
    tcp = spec["flows"][0]["tcp"]
    tcp["controller"] = draw.choice(CONTROLLERS)
    if draw.chance(0.5):
        tcp["recovery"] = draw.choice(["newreno", "reno", "sack", "rack"])
    if draw.chance(0.5):
        tcp |= {"tso_max_bytes": 1, "tlp": False}


def other_receiver(draw: Draw, spec: Spec) -> None:
    """Acknowledge at once, late, or in long trains."""
    habit = draw.choice([{"delayed_ack_ms": 0}, {"delayed_ack_ms": 200}, {"delayed_ack_segs": 8}])
    spec["flows"][0]["peer_tcp"] |= habit


def prompt(draw: Draw, spec: Spec) -> None:
    """Let the program write as soon as there is room, and small buffers hold it up."""
    tcp = spec["flows"][0]["tcp"]
    tcp.pop("writer_delay_ms", None)
    if draw.chance(0.3):
        tcp["send_buffer_bytes"] = int(draw.log(16_000, 1_000_000))


def farther(draw: Draw, spec: Spec) -> None:
    """Make all ways longer or shorter and leave rates, queues and buffers."""
    factor = draw.log(0.1, 3)
    for link in spec["links"].values():
        for element in (*link["forward"], *link.get("backward", ())):
            if "delay" in element:
                element["delay"]["delay_ms"] *= factor


TURNS: dict[Callable[[Draw, Spec], None], float] = {
    short_queue: 0.15,
    long_queue: 0.05,
    several: 0.2,
    fair: 0.1,
    crowd: 0.12,
    steady: 0.12,
    policed: 0.07,
    segments: 0.1,
    options: 0.1,
    other_sender: 0.2,
    other_receiver: 0.1,
    prompt: 0.2,
    farther: 0.15,
}
"""Each turn with its chance."""
CONTROLLERS = ["cubic", "reno", "newreno", "reno_per_ack", "bbr1", "bbr3", "cubic_rfc9438"]
_SERVERS = ("rate", "shaper", "trace", "wifi", "walk")


def _narrow(spec: Spec) -> str:
    """Find the link of the flow that serves slowest; one without a rate is the narrow one."""
    rates: dict[str, float] = {
        link: float(_settings(spec, link).get("rate_bps", 0)) for link in spec["flows"][0]["path"]
    }
    return min(rates, key=lambda link: rates[link])


def _server_at(spec: Spec, link: str) -> int:
    forward = spec["links"][link]["forward"]
    return next(at for at, element in enumerate(forward) if next(iter(element)) in _SERVERS)


def _settings(spec: Spec, link: str) -> Spec:
    element = spec["links"][link]["forward"][_server_at(spec, link)]
    settings: Spec = next(iter(element.values()))
    return settings


def _scale_queues(spec: Spec, factor: float) -> None:
    for link in spec["flows"][0]["path"]:
        queue = _settings(spec, link).get("queue", {})
        for kind, settings in queue.items():
            for key in ("limit_bytes", "limit_packets"):
                if key in settings:
                    least = LEAST_BYTES if key == "limit_bytes" else 1
                    settings[key] = min(max(int(settings[key] * factor), least), MOST)
            if kind == "red":
                settings["min_packets"] = max(settings["min_packets"] * factor, 1)
                settings["max_packets"] = max(settings["max_packets"] * factor, 3)
            if kind == "ecn_threshold":
                settings["mark_packets"] = max(int(settings["mark_packets"] * factor), 1)


def _beside(draw: Draw, spec: Spec, link: str, workload: Spec) -> None:
    spec["hosts"] |= {"N": {}, "M": {}}
    side = f"side{len(spec['links'])}"
    delay = {"delay": {"delay_ms": draw.log(0.1, 60)}}
    spec["links"][side] = {"forward": [{"rate": {"rate_bps": 10_000_000_000}}, delay]}
    count, stagger_s = draw.choice([1, 1, 2, 3, 5, 8]), draw.log(0.01, 0.3)
    flow: Spec = {
        "from": "N",
        "to": "M",
        "path": [side, link],
        "count": count,
        "stagger_s": stagger_s,
        "workload": workload,
        "tcp": {"controller": draw.choice(CONTROLLERS)},
    }
    if draw.chance(0.3):
        # The last of them starts before all is over.
        latest = 0.99 * float(spec["duration_s"]) - count * stagger_s
        flow["start_s"] = min(float(spec["duration_s"]) * draw.uniform(0.1, 0.7), latest)
    spec["flows"].append(flow)


def _options(spec: Spec, key: str, value: Any) -> None:
    spec["flows"][0]["tcp"][key] = value
    spec["flows"][0]["peer_tcp"][key] = value


LEAST_BYTES = 1514
"""A full packet."""
MOST = 500_000_000
