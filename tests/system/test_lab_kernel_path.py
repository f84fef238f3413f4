"""Path elements as queueing disciplines: the translation as text, and a path of tbf for real."""

import itertools
import statistics
import tomllib

import pytest
from kernel import SCENARIOS, needs_root

from tcpwhy.lab import verify
from tcpwhy.lab.kernelpath import KINDS, KernelPath, missing
from tcpwhy.lab.namespace import Namespace
from tcpwhy.lab.network import KERNEL
from tcpwhy.lab.qdisc import NoQdiscError, translate
from tcpwhy.lab.run import run
from tcpwhy.lab.scenario import load

TABLE = {
    "[{ delay.delay_ms = 19 }]": ["netem limit 1000000 delay 19ms"],
    "[{ rate.rate_bps = 100_000_000 }]": [
        "tbf rate 100000000bit burst 16000 limit 1073741824",
        "pfifo limit 1000",
    ],
    # Loss and delay around rate and queue, in whatever order they are written.
    """[{ bernoulli.loss = 0.02 }, { rate = { rate_bps = 10_000_000,
        queue.drop_tail.limit_packets = 60 } }, { delay.delay_ms = 19 }]""": [
        "netem limit 1000000 delay 19ms loss random 2%",
        "tbf rate 10000000bit burst 1600 limit 1073741824",
        "pfifo limit 60",
    ],
    "[{ rate = { rate_bps = 2_000_000, queue.drop_tail.limit_bytes = 9000 } }]": [
        "tbf rate 2000000bit burst 1600 limit 1073741824",
        "bfifo limit 9000",
    ],
    "[{ rate = { rate_bps = 2_000_000, queue.drop_head.limit_packets = 9 } }]": [
        "tbf rate 2000000bit burst 1600 limit 1073741824",
        "pfifo_head_drop limit 9",
    ],
    "[{ rate = { rate_bps = 20_000_000, queue.codel = { ecn = true } } }]": [
        "tbf rate 20000000bit burst 3200 limit 1073741824",
        "codel limit 1000 target 5ms interval 100ms ecn",
    ],
    "[{ rate = { rate_bps = 20_000_000, queue.pie = {} } }]": [
        "tbf rate 20000000bit burst 3200 limit 1073741824",
        "pie limit 1000 target 15ms tupdate 15ms",
    ],
    """[{ rate = { rate_bps = 10_000_000,
        queue.red = { min_packets = 5, max_packets = 25, limit_packets = 60 } } }]""": [
        "tbf rate 10000000bit burst 1600 limit 1073741824",
        "red limit 60000 min 5000 max 25000 avpkt 1000 burst 11 probability 0.1",
    ],
    """[{ shaper = { rate_bps = 10_000_000, burst_bytes = 30_000,
        queue.drop_tail.limit_packets = 50 } }]""": [
        "tbf rate 10000000bit burst 30000 limit 1073741824",
        "pfifo limit 50",
    ],
    # The letters of tc-netem(8): p, r, 1-h, 1-k.
    "[{ gilbert_elliott = { p = 0.0025, r = 0.25 } }, { delay.delay_ms = 5 }]": [
        "netem limit 1000000 delay 5ms loss gemodel 0.25% 25% 100% 0%",
    ],
    "[{ duplicate.probability = 0.02 }]": ["netem limit 1000000 duplicate 2%"],
    # From 10 to 13 ms is 11.5 ms, 1.5 ms to both sides.
    "[{ jitter = { jitter_ms = 3, keep_order = false } }, { delay.delay_ms = 10 }]": [
        "netem limit 1000000 delay 11.5ms 1.5ms",
    ],
    "[{ policer = { rate_bps = 8_000_000, burst_bytes = 60_000 } }]": [
        "police rate 8000000bit burst 60000 conform-exceed drop/pipe",
    ],
}


@pytest.mark.parametrize("elements", TABLE)
def test_elements_become_lines_of_tc(elements):
    # An inline table of TOML is one line.
    place = translate(tomllib.loads(f"x = {' '.join(elements.split())}")["x"])
    words = [" ".join((qdisc.kind, *qdisc.words)) for qdisc in place.qdiscs]
    if place.policer:
        words.append(" ".join(place.policer))
    assert words == TABLE[elements]


def test_disciplines_are_nested_from_the_root():
    elements = "x = [{ rate.rate_bps = 10_000_000 }, { delay.delay_ms = 19 }]"
    assert list(translate(tomllib.loads(elements)["x"]).lines("to1")) == [
        "qdisc replace dev to1 root handle 1: netem limit 1000000 delay 19ms",
        "qdisc replace dev to1 parent 1:1 handle 2: tbf rate 10000000bit burst 1600 "
        "limit 1073741824",
        "qdisc replace dev to1 parent 2:1 handle 3: pfifo limit 1000",
    ]


@pytest.mark.parametrize(
    ("elements", "reason"),
    [
        ("[{ reorder = { probability = 0.1 } }]", "like `reorder`"),
        ("[{ jitter.jitter_ms = 3 }]", "netem reorders"),
        ("[{ rate = { rate_bps = 1, queue.ecn_threshold = {} } }]", "queue `ecn_threshold`"),
        ("[{ rate.rate_bps = 1 }, { rate.rate_bps = 2 }]", "two rates"),
    ],
)
def test_what_has_no_counterpart_is_an_error(elements, reason):
    with pytest.raises(NoQdiscError, match=reason):
        translate(tomllib.loads(f"x = {elements}")["x"])


def test_flows_of_several_hosts_meet_in_one_queue():
    path = KernelPath(load(SCENARIOS.parents[2] / "scenarios/shared_two_cubic.toml"), "link0")
    path.plan()
    flows = path.scenario.raw["flows"]
    assert len({path._across((flow["path"][-1], "forward")) for flow in flows}) == 1
    for flow in flows:
        assert path.reaches(flow["from"], flow["to"])
        assert path.gateway(flow["from"], flow["to"]).startswith("02:00:00:01:")


def goodputs_bps(samples, from_s, step=5):
    """The rates over spans of `step` samples; `delivered` counts what SACK reports, too."""
    taken = [sample for sample in samples if sample["at_s"] >= from_s][::step]
    return [
        8 * 1448 * (after["delivered"] - before["delivered"]) / (after["at_s"] - before["at_s"])
        for before, after in itertools.pairwise(taken)
    ]


@needs_root
def test_a_path_of_tbf_is_what_was_asked_for(tmp_path):
    one = load(SCENARIOS / "queue_only.toml")
    with Namespace("try") as host:
        if lacks := missing({"tbf", "pfifo"}, host):
            pytest.skip(f"this kernel has no {lacks}")

    done = run(one, tmp_path / "run", emulator=KERNEL)
    assert not done.problems
    assert done.emulator["kind"] == KERNEL
    checks = [item for expect in one.expect for item in verify.verify(done, expect)]
    assert all(item.holds for item in checks), [str(item) for item in checks]
    span = verify.measure(done, one.expect[0])
    # Of 1514 bytes on the wire 1448 are payload. A timer that fires late costs tbf its tokens: its
    # bucket holds one packet. So nothing goes above the rate. A slow machine stays 1 to 12 %
    # below it in the median half second, and 2 % in the best.
    asked_bps = 10e6 * 1448 / 1514
    reached_bps = goodputs_bps(done.samples(0, "forward"), from_s=one.expect[0].from_s)
    assert 0.96 * asked_bps < max(reached_bps) < 1.01 * asked_bps
    assert span.goodput_bps < 1.02 * asked_bps
    assert span.goodput_bps < 1.02 * statistics.median(reached_bps)
    # 60 packets wait, for as long as the machine made it take at its slowest.
    full_ms = 60 * 1448 * 8 / min(reached_bps) * 1e3
    rtts_ms = sorted(sample["rtt"] / 1e3 for sample in done.samples(0, "forward"))
    assert 60 < rtts_ms[int(0.95 * len(rtts_ms))] < 1.1 * full_ms
    assert span.drops.get("queue_full", 0) > 0


@needs_root
def test_a_missing_discipline_is_named_and_nothing_runs(tmp_path, tcpwhy):
    with Namespace("try") as host:
        lacks = missing(set(KINDS), host)
    if "netem" not in lacks:
        pytest.skip("this kernel has netem")
    wide = SCENARIOS / "wide.toml"
    done = tcpwhy("lab", "run", wide, "--emulator", "kernel", "-o", tmp_path)
    assert done.returncode == 4
    assert "this kernel has no netem: modprobe sch_netem" in done.stderr
    assert not list(tmp_path.glob("*/run.json"))
