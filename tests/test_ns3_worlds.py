"""Worlds in ns-3: what is drawn, how its record becomes the truth, and the same worlds here."""

from pathlib import Path

import pytest

from ns3_worlds import draw, judged, ours, program
from tcpwhy import worlds

STATE = "at_ns,flow,limit,near,both,srtt_s,least_s"
SECOND = 1_000_000_000


def record(folder: Path, limit: str, *, near: str = "", busy: float = 0.2) -> judged.Truth:
    """Give the truth of six seconds of one flow that this held back, half of the link another's."""
    ticks = range(0, 6 * SECOND, SECOND // 200)
    states = [f"{at},0,{limit},{near},0,0.020,0.010" for at in ticks]
    (folder / "state.csv").write_text("\n".join([STATE, *states]), "utf-8")
    totals = [
        f"{at},{name},{busy * at / SECOND},{1e6 * at / SECOND},{5e5 * at / SECOND},0"
        for at in range(0, 6 * SECOND + 1, SECOND // 100)
        for name in ("narrow", "near", "far", "back")
    ]
    (folder / "links.csv").write_text("\n".join(totals), "utf-8")
    events = "at_ns,half,action,reason\n4000000000,0,drop,policed\n4100000000,0,drop,policed\n"
    (folder / "events.csv").write_text(f"{events}4200000000,0,drop,policed", "utf-8")
    return judged.Truth(folder, {"flows": "1", "queue": "fifo"})


@pytest.mark.parametrize(
    ("limit", "second", "right"),
    [
        ("application", 0, "application"),
        ("receiver_window", 0, "receiver_window"),
        ("send_buffer", 0, "sender_window"),
        ("congestion_avoidance", 0, "transport"),
        ("congestion_avoidance", 3, "policer"),
    ],
)
def test_the_record_says_what_held_the_sender_back(tmp_path, limit, second, right):
    """Each owner of the time has its limitation, and losses decide the network's."""
    start = second * SECOND
    told = record(tmp_path, limit).between(0, start, start + 3 * SECOND)
    assert told["true_limitations"].split() == [right]
    assert told["link_busy"] == pytest.approx(0.2)
    assert told["link_others"] == pytest.approx(0.5)


def test_a_full_link_of_others_is_shared(tmp_path):
    """Who has half of a busy link shares it."""
    told = record(tmp_path, "congestion_avoidance", busy=0.99).between(0, 0, 3 * SECOND)
    assert told["true_limitation"] == "shared_bottleneck"


def test_pacing_at_the_rate_of_a_full_window_is_the_windows(tmp_path):
    """A controller that paces learned its rate behind the window, if that was full of late."""
    paced = "pacing/congestion_avoidance"
    never = record(tmp_path, paced, near="send_buffer").between(0, 0, 3 * SECOND)
    assert never["true_limitation"] == "transport"
    path = tmp_path / "state.csv"
    lines = path.read_text("utf-8").splitlines()
    lines[1] = lines[1].replace(paced, "send_buffer")
    path.write_text("\n".join(lines), "utf-8")
    was_full = judged.Truth(tmp_path, {"flows": "1", "queue": "fifo"})
    told = was_full.between(0, 0, 3 * SECOND)
    assert told["true_limitations"].split() == ["sender_window", "transport"]


def test_a_seed_gives_the_same_world_again_and_all_kinds_are_drawn():
    """Worlds differ by their seed alone, and no kind is missing."""
    assert draw.world(7) == draw.world(7) != draw.world(8)
    drawn = [draw.world(seed) for seed in range(400)]
    for key, words in (("queue", draw.QUEUES), ("controller", draw.CONTROLLERS)):
        assert {world[key] for world in drawn} == set(words)
    assert all(float(world["delay_s"]) > 0 for world in drawn)
    for key in ("policer", "worse", "loss", "walk_s", "reader", "others_tcp", "others_udp"):
        assert any(key in world for world in drawn), key


def test_the_same_worlds_are_scenarios_here():
    """Each kind of world runs in the simulator here, and most of its intervals can be judged."""
    kinds = {str(draw.world(seed)["queue"]): seed for seed in range(60)}
    assert set(kinds) == set(draw.QUEUES)
    for seed in kinds.values():
        rows = ours.of_world(seed)
        assert {row["tap"] for row in rows} <= {"sender", "middle", "receiver"}
        assert any(row["true_limitations"] for row in rows), seed
    text = ours.scenario(draw.world(kinds["tbf"]))
    assert worlds.judged_scenario("ns3", text).num_rows > 0


def test_without_ns3_it_says_what_is_missing(monkeypatch):
    """The message says what to install."""
    monkeypatch.setattr(program, "home", lambda: None)
    with pytest.raises(SystemExit, match="pip install ns3"):
        program.built()


@pytest.mark.system
def test_a_world_runs_in_ns3(tmp_path):
    """A world leaves captures that the analysis reads, and a truth for most intervals."""
    if program.home() is None:
        pytest.skip("ns-3 is not installed here: pip install ns3")
    (rows,) = judged.of_worlds(program.built(), [3], 1)
    judgeable = [row for row in rows if row["true_limitations"]]
    assert len(judgeable) > len(rows) / 2
    assert {row["tap"] for row in rows} == set(judged.TAPS)
