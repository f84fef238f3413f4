"""The same worlds in the simulator here: what is left of a difference is the TCP of ns-3."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import pyarrow.compute as pc

from ns3_worlds import draw
from tcpwhy import worlds

CONTROLLERS = {"LinuxReno": "reno", "Bbr": "bbr1"}
"""Those that are not here are replaced by CUBIC."""
SENDER = "10.0.0.4"
"""S: hosts have addresses in the order of their names. Neighbours are not judged, as in ns-3."""
QUEUES = {"fq_pie": "fq_codel", "cobalt": "codel"}


def of_worlds(seeds: Iterable[int], workers: int) -> Iterator[list[dict[str, Any]]]:
    """Run worlds, some at once, and give the rows of each."""
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(of_world, seeds, chunksize=4)


def of_world(seed: int) -> list[dict[str, Any]]:
    """Run one world; give its intervals beside the truth."""
    table = worlds.judged_scenario(f"ns3-{seed}", scenario(draw.world(seed)), world=seed)
    if not len(table):
        return []
    rows: list[dict[str, Any]] = table.filter(pc.equal(table["src"], SENDER)).to_pylist()
    return rows


def scenario(world: draw.World) -> str:
    """Write a world as a scenario file."""
    middle = "narrow" if world["tap_behind"] else "near"
    return "\n".join(
        [
            f'title = "World {world["seed"]} of ns-3"\nseed = {world["seed"]}',
            f"duration_s = {world['duration']:.1f}",
            "[hosts.N]\n[hosts.M]\n[hosts.D]\n[hosts.S]\ntso = false",
            *_links(world),
            _flow(world),
            *_others(world),
            '[[taps]]\nname = "sender"\nhost = "S"',
            f'[[taps]]\nname = "middle"\nbehind = "{middle}"',
            '[[taps]]\nname = "receiver"\nhost = "D"\n',
        ]
    )


def _links(world: draw.World) -> Iterator[str]:
    wide = (
        f"{{ rate = {{ rate_bps = {world['wide']:.0f}, queue.drop_tail.limit_packets = 2000 }} }}"
    )
    back = (
        f"{{ rate = {{ rate_bps = {world['back_rate']:.0f},"
        " queue.drop_tail.limit_packets = 1000 } }"
    )
    harm = list(_harm(world))
    before, behind = (harm, []) if world["harm_before"] else ([], harm)
    near, delay, far = (_delay(world[key]) for key in ("near_s", "delay_s", "far_s"))
    yield _link("near", [wide, near, *before], [wide, near])
    yield _link("narrow", [_server(world), delay, *behind], [back, delay])
    yield _link("far", [wide, far], [wide, far])
    side = f"{{ rate.rate_bps = {10 * float(world['wide']):.0f} }}"
    yield _link("side", [side, _delay(world["beside_s"])], [])


def _plain(rate: str | float, packets: int) -> str:
    queue = f"queue.drop_tail.limit_packets = {packets}"
    return f"{{ rate = {{ rate_bps = {rate:.0f}, {queue} }} }}"


def _link(name: str, forward: list[str], backward: list[str]) -> str:
    back = f"\nbackward = [{', '.join(backward)}]" if backward else ""
    return f"[links.{name}]\nforward = [{', '.join(forward)}]{back}"


def _delay(seconds: str | float) -> str:
    return f"{{ delay.delay_ms = {float(seconds) * 1e3:.4f} }}"


def _server(world: draw.World) -> str:
    limit, kind = float(world["limit"]), QUEUES.get(str(world["queue"]), str(world["queue"]))
    if kind in ("fifo", "tbf"):
        queue = f"queue.drop_tail.limit_bytes = {limit:.0f}"
    elif kind == "red":
        least, most = max(limit / 6000, 2), max(limit / 2000, 4)
        queue = (
            f"queue.red = {{ min_packets = {least:.0f}, max_packets = {most:.0f},"
            f" limit_bytes = {limit:.0f} }}"
        )
    else:
        ecn = str(bool(world.get("ecn"))).lower()
        queue = f"queue.{kind} = {{ ecn = {ecn}, limit_bytes = {limit:.0f} }}"
    if kind == "tbf":
        burst = f"burst_bytes = {world['burst']:.0f}"
        return f"{{ shaper = {{ rate_bps = {world['rate']:.0f}, {burst}, {queue} }} }}"
    if "walk_s" in world:
        return (
            f"{{ walk = {{ min_bps = {world['walk_min']:.0f}, max_bps = {world['walk_max']:.0f},"
            f" step_ms = {float(world['walk_s']) * 1e3:.1f}, step = {world['walk_step']:.3f},"
            f" {queue} }} }}"
        )
    return f"{{ rate = {{ rate_bps = {world['rate']:.0f}, {queue} }} }}"


def _harm(world: draw.World) -> Iterator[str]:
    if "policer" in world:
        burst = f"burst_bytes = {world['policer_burst']:.0f}"
        yield f"{{ policer = {{ rate_bps = {world['policer']:.0f}, {burst} }} }}"
    if "worse" in world:
        yield f"{{ gilbert_elliott = {{ p = {world['worse']:.6f}, r = {world['better']:.3f} }} }}"
    if "loss" in world:
        yield f"{{ bernoulli.loss = {world['loss']:.6f} }}"


def _controller(world: draw.World) -> str:
    return CONTROLLERS.get(str(world["controller"]), "cubic")


def _flow(world: draw.World) -> str:
    # The option of timestamps takes 12 bytes of each segment.
    mss = f"mss = {int(world['mss']) + 12 * int(world['timestamps'])}"
    off = [f"{key} = false" for key in ("sack", "timestamps", "window_scaling") if not world[key]]
    recovery = "sack" if world["sack"] else "newreno"
    tcp = [mss, *off, f'controller = "{_controller(world)}"', f'recovery = "{recovery}"']
    tcp += ['nagle = "off"', "tso_max_bytes = 1"]
    peer = [mss, *off]
    if world["delayed_ack"] == 1:
        peer.append("delayed_ack_ms = 0")
    if "send_buffer" in world:
        tcp.append(f"send_buffer_bytes = {world['send_buffer']:.0f}")
    if "receive_buffer" in world:
        # Half of it is for data.
        peer.append(f"receive_buffer_bytes = {2 * float(world['receive_buffer']):.0f}")
    reader = f"reader.slow.rate_bps = {world['reader']:.0f}\n" if "reader" in world else ""
    opened = "to" if world["program"] == "asked" else "from"
    return (
        f'[[flows]]\nfrom = "S"\nto = "D"\npath = ["near", "narrow", "far"]\n'
        f"count = {world['flows']}\nstagger_s = {world['stagger']:.3f}\n{_program(world)}\n{reader}"
        f'opened_by = "{opened}"\ntcp = {{ {", ".join(tcp)} }}\npeer_tcp = {{ {", ".join(peer)} }}'
    )


def _program(world: draw.World, prefix: str = "") -> str:
    kind = world.get(f"{prefix}program", "bulk")
    if kind == "bulk":
        return "workload.bulk = {}"
    size, every_ms = world[f"{prefix}size"], float(world[f"{prefix}interval"]) * 1e3
    if kind == "asked":
        return (
            f"workload.request_response = {{ request_bytes = 100, response_bytes = {size:.0f},"
            f" think_ms = {every_ms:.2f}, serve_ms = 0 }}"
        )
    return f"workload.chunks = {{ chunk_bytes = {size:.0f}, interval_ms = {every_ms:.2f} }}"


def _others(world: draw.World) -> Iterator[str]:
    start = f"start_s = {world['others_start']}"
    if "others_tcp" in world:
        yield (
            f'[[flows]]\nfrom = "N"\nto = "M"\npath = ["side", "narrow"]\n{start}\n'
            f"count = {world['others_tcp']}\nstagger_s = 0.083\n{_program(world, 'others_')}\n"
            f'tcp.controller = "{_controller(world)}"'
        )
    if "others_udp" in world:
        wire = float(world["others_packet"]) + 28
        rate = f"rate_pps = {float(world['others_udp']) / 8 / wire:.2f}"
        source = f"source.constant.{rate}"
        if "others_on" in world:
            on, off = (float(world[key]) * 1e3 for key in ("others_on", "others_off"))
            source = f"source.on_off = {{ {rate}, on_ms = {on:.1f}, off_ms = {off:.1f} }}"
        yield (
            f'[[udp]]\nfrom = "N"\nto = "M"\npath = ["narrow"]\n{start}\n'
            f"wire_bytes = {wire:.0f}\n{source}"
        )
