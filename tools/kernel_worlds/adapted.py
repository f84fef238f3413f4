"""A random world as a kernel can run it: what has no counterpart in Linux becomes what is next."""

from __future__ import annotations

import re

from tcpwhy import worlds

NEXT = {
    '"bbr3"': '"bbr1"',
    '"cubic_rfc9438"': '"cubic"',
    '"reno_per_ack"': '"reno"',
    '"on"': '"minshall"',
}
"""Words for what Linux lacks, and for what it has instead."""

SIMULATED = re.compile(r'recovery = "(?:newreno|reno|tahoe)"')
HOLDS_ACKS = re.compile(r"(?:, )?delayed_ack_ms = [\d.]+")
OFFLOAD = re.compile(r"^gro_ms = .*\n", re.MULTILINE)
FLAWED = re.compile(r'\[\[taps\]\]\nname = "flawed"\n(?:.+\n)*')


def text(seed: int) -> str:
    """Give the world of a seed, adapted, as the text of a scenario file."""
    world = worlds.scenario(seed)
    for word, instead in NEXT.items():
        world = world.replace(f"= {word}", f"= {instead}")
    lines = [_with_sack(line) for line in OFFLOAD.sub("", FLAWED.sub("", world)).splitlines()]
    adapted = HOLDS_ACKS.sub("", "\n".join(lines) + "\n")
    return adapted.replace("{, ", "{ ")


def _with_sack(line: str) -> str:
    """Linux recovers by RACK wherever there is SACK."""
    return line if "sack = false" in line else SIMULATED.sub('recovery = "rack"', line)
