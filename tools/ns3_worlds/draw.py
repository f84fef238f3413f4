"""What a world in ns-3 is made of, drawn by its seed."""

from __future__ import annotations

import math

from accuracy.places import Draw

JUDGING = range(1000, 1400)
"""Nothing was fitted or chosen on these. Others were looked at: below 300, and from 10,000 on.

Those from 20,000 on teach, as the simulator here runs them.
"""
PACKETS = 60_000
"""What a world is to have at most: some seconds of computing."""
MSS_BYTES = 1448
CONTROLLERS = {
    "Cubic": 40,
    "LinuxReno": 14,
    "Bbr": 18,
    "WestwoodPlus": 5,
    "Htcp": 5,
    "Illinois": 4,
    "Bic": 4,
    "Veno": 3,
    "Scalable": 2,
    "Hybla": 2,
    "Yeah": 2,
    "Vegas": 1,
}
QUEUES = {"fifo": 60, "fq_codel": 10, "codel": 6, "pie": 6, "red": 5, "tbf": 8, "cobalt": 3}
OTHERS = {"nobody": 45, "tcp": 25, "chunks": 10, "udp": 12, "bursts": 8}
PROGRAMS = {"bulk": 68, "chunks": 14, "paced": 10, "asked": 8}
HARMS = {"none": 58, "loss": 16, "bursts": 8, "policer": 18}

World = dict[str, str | float]


def world(seed: int) -> World:
    """Give the keys and values of `world.cc` for a seed."""
    draw = Draw(f"ns-3 {seed}")
    rate, rtt_s = draw.log(1e6, 2e8), draw.log(0.004, 0.3)
    near = draw.uniform(0.05, 0.4)
    found: World = {
        "seed": seed,
        "rate": rate,
        "wide": min(rate * draw.log(2, 30), 2e9),
        "back_rate": max(rate * draw.log(0.05, 1), 2e5),
        "near_s": rtt_s / 2 * near,
        "far_s": rtt_s / 2 * draw.uniform(0.05, 0.4),
        "beside_s": draw.log(0.0005, 0.05),
        "tap_behind": int(draw.chance(0.5)),
        "flows": draw.weighed({"1": 8, "2": 1, "3": 1}),
        "stagger": draw.uniform(0.05, 2),
        "controller": draw.weighed(CONTROLLERS),
    }
    found["delay_s"] = rtt_s / 2 - float(found["near_s"]) - float(found["far_s"])
    carries = min(_queue(draw, found, rate, rtt_s), _harm(draw, found, rate, rtt_s))
    carries = min(carries, _hosts(draw, found, rate, rtt_s))
    carries = min(carries, _program(draw, found, rate, rtt_s))
    _others(draw, found, rate)
    per_second = max(carries, 2e5) / 8 / MSS_BYTES * 1.5
    found["duration"] = max(min(PACKETS / per_second, 40), 8, 40 * rtt_s)
    return found


def _queue(draw: Draw, found: World, rate: float, rtt_s: float) -> float:
    """Draw the queue of the narrow link."""
    kind = draw.weighed(QUEUES)
    found |= {"queue": kind, "limit": max(rate / 8 * rtt_s * draw.log(0.15, 6), 15_000)}
    if kind not in ("fifo", "tbf"):
        found["limit"] = max(float(found["limit"]), 60_000)
        found["ecn"] = int(draw.chance(0.25))
    if kind == "tbf":
        found["burst"] = max(rate / 8 * draw.log(0.005, 0.2), 6000)
    elif draw.chance(0.12):
        low = rate * draw.uniform(0.2, 0.6)
        found |= {"walk_min": low, "walk_max": rate * draw.uniform(1.1, 2)}
        found |= {"walk_s": draw.log(0.01, 0.3), "walk_step": draw.log(0.05, 0.4)}
    return rate


def _harm(draw: Draw, found: World, rate: float, rtt_s: float) -> float:
    """Draw what else loses packets; give the rate that it leaves, about."""
    kind = draw.weighed(HARMS)
    found["harm_before"] = int(draw.chance(0.5))
    if kind == "none":
        return rate
    if kind == "policer":
        policed = rate * draw.log(0.1, 0.9)
        found |= {"policer": policed}
        found["policer_burst"] = max(8000, policed / 8 * draw.log(0.02, 1))
        return policed
    loss = draw.log(2e-4, 0.03)
    if kind == "loss":
        found["loss"] = loss
    else:
        better = draw.uniform(0.1, 0.6)
        found |= {"better": better, "worse": loss * better}
    # Mathis et al. 1997, three times over.
    return min(rate, 3 * MSS_BYTES * 8 * 1.22 / (rtt_s * math.sqrt(loss)))


def _hosts(draw: Draw, found: World, rate: float, rtt_s: float) -> float:
    """Draw the options and buffers of the hosts; give the rate that these leave, about."""
    carries = math.inf
    for key, share in (("sack", 0.15), ("timestamps", 0.2), ("window_scaling", 0.08)):
        found[key] = int(not draw.chance(share))
    if not found["window_scaling"]:
        carries = 65_535 * 8 / rtt_s
    found["mss"] = MSS_BYTES if found["timestamps"] else 1460
    found["delayed_ack"] = draw.choice([1, 2, 2, 2])
    found["min_rto"] = draw.choice([0.2, 0.2, 0.2, 1])
    product = rate / 8 * rtt_s
    for key in ("send_buffer", "receive_buffer"):
        if draw.chance(0.16):
            found[key] = max(product * draw.log(0.08, 3), 16_000)
            carries = min(carries, float(found[key]) * 8 / rtt_s)
    if draw.chance(0.08):
        found["reader"] = rate * draw.log(0.05, 1)
        found["receive_buffer"] = max(product, 60_000)
        carries = min(carries, float(found["reader"]))
    return carries


def _program(draw: Draw, found: World, rate: float, rtt_s: float) -> float:
    """Draw what the program writes; give its rate."""
    kind = draw.weighed(PROGRAMS)
    found |= {"program": "chunks" if kind == "paced" else kind, "piece": draw.log(1448, 64_000)}
    if kind == "bulk":
        return math.inf
    asked = rate * draw.log(0.03, 1.1)
    if kind == "asked":
        found |= {"size": draw.log(2e3, 1e6), "interval": draw.log(0.001, 1)}
        return float(found["size"]) * 8 / (rtt_s + float(found["interval"]))
    found["interval"] = draw.log(0.5, 4) if kind == "chunks" else draw.log(0.001, 0.05)
    found["size"] = max(asked / 8 * float(found["interval"]), 100)
    return asked


def _others(draw: Draw, found: World, rate: float) -> None:
    """Draw who else uses the narrow link."""
    kind = draw.weighed(OTHERS)
    found["others_start"] = draw.choice([0.0, 0.0, 3.0])
    if kind == "tcp":
        found["others_tcp"] = draw.choice([1, 1, 2, 3, 5, 8, 15])
    elif kind == "chunks":
        found |= {"others_tcp": draw.randint(2, 9), "others_program": "chunks"}
        found |= {"others_interval": draw.log(0.2, 1.5)}
        found["others_size"] = max(rate / 8 * draw.log(0.02, 0.2), 4000)
    elif kind in ("udp", "bursts"):
        found |= {"others_udp": rate * draw.uniform(0.05, 0.7)}
        found["others_packet"] = draw.choice([200, 1200, 1400])
        if kind == "bursts":
            found |= {"others_on": draw.log(0.05, 2), "others_off": draw.log(0.05, 2)}
            found["others_udp"] = rate * draw.uniform(0.3, 1.2)
