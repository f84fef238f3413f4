"""The whole argument for a connection: texts that one reads, and every sentence's condition."""

import json
import re
import subprocess
from pathlib import Path

import packets
import pytest

from tcpwhy import InputError, UsageError, vocabulary
from tcpwhy.explain import filters
from tcpwhy.explain.connection import _gain, explain_connection
from tcpwhy.explain.doubts import doubts
from tcpwhy.explain.numbers import numbers
from tcpwhy.explain.text import told
from tcpwhy.explain.timeline import MOST_RUNS, bar, runs, shown, time_by_cause
from tcpwhy.explain.tree import compared
from tcpwhy.explain.words import headline
from tcpwhy.terminal import Style

DATA = Path(__file__).parent / "data"
CAPTURES = sorted(path.stem for path in DATA.glob("*.pcap"))
PLAIN = Style(colour=False)
SECOND = 10**9


def text(connection, limit=100, style=PLAIN):
    return list(told(connection, limit, style))


@pytest.fixture(scope="module")
def explained():
    """Explain a capture that ships with tcpwhy, once."""
    known = {}

    def explain(name):
        if name not in known:
            known[name] = explain_connection(DATA / f"{name}.pcap")
        return known[name]

    return explain


@pytest.fixture(scope="module")
def half(explained):
    """Give a half of which tests change what they are about: the random losses."""
    found = explained("loss_sender").sides[0].half
    return found._replace(speaks_for=None, speaks_against=None, alternative=None)


GOLDEN = {
    "receiver_window": [],
    "loss_sender": [],
    "bulk_tbf_middle": [],
    "slow_reader": ["--interval", "500ms"],
}


@pytest.mark.parametrize("name", GOLDEN)
def test_the_argument_reads_like_this(tcpwhy, same_as_golden, name):
    run = tcpwhy("explain", DATA / f"{name}.pcap", *GOLDEN[name])
    assert (run.returncode, run.stderr) == (0, "")
    same_as_golden(f"explain_{name}.txt", run.stdout)


@pytest.mark.parametrize("limit", [60, 80, 100])
def test_it_fits_any_terminal(explained, limit):
    for name in CAPTURES:
        long = [line for line in text(explained(name), limit) if len(line) > limit]
        assert long == [], name


def test_colour_adds_nothing_but_colour(explained):
    for name in CAPTURES:
        coloured = "\n".join(text(explained(name), style=Style(colour=True)))
        assert "\x1b[" in coloured
        plain = re.sub(r"\x1b\[\d+m", "", coloured)
        assert plain == "\n".join(text(explained(name)))


@pytest.mark.parametrize("name", ["loss_receiver", "application", "mirror_router"])
def test_json_has_the_columns_as_they_are_and_the_same_prose(explained, tcpwhy, name):
    path = DATA / f"{name}.pcap"
    record = json.loads(tcpwhy("explain", path, "--format", "jsonl").stdout)
    row = json.loads(tcpwhy("analyze", path, "--format", "jsonl").stdout.splitlines()[0])
    first = record["directions"][0]
    columns = first.keys() & row.keys()
    assert {"flow_id", "unique_bytes", "rtt_min_ns", "headroom_bps", "remedy"} <= columns
    assert {key: first[key] for key in columns} == {key: row[key] for key in columns}
    side = explained(name).sides[0]
    assert first["headline"] == side.headline
    assert first["against"] == side.against
    assert sum(run["unique_bytes"] for run in first["timeline"]) == first["unique_bytes"]


def test_a_store_tells_the_same_as_its_capture(tmp_path, tcpwhy):
    store = tmp_path / "store"
    paths = [DATA / f"{name}.pcap" for name in ("slow_reader", "application", "offload")]
    assert tcpwhy("analyze", *paths, "--output", store).returncode == 0
    for path in paths:
        from_capture = explain_connection(path)
        flow = from_capture.facts.halves[0]
        by_id = explain_connection(store, flow=flow.flow_id)
        by_community = explain_connection(store, flow=flow.community_id)
        assert unframed(by_id) == unframed(by_community) == unframed(from_capture)
    biggest = explain_connection(store)
    assert biggest.facts.chosen == "the biggest of 3 flows"
    assert biggest.facts.halves[0].unique_bytes == 6_000_000
    assert [other.unique_bytes for other in biggest.facts.others] == [1_800_000, 800_000]
    assert "the biggest of 3 flows of the store" in " ".join(text(biggest))


def unframed(connection):
    """Take the frames out, which count those of all inputs of a run."""
    return [
        side._replace(
            half=side.half._replace(first_frame=0),
            stalls=[stall._replace(frame_before=0, frame_after=0) for stall in side.stalls],
        )
        for side in connection.sides
    ]


def test_a_store_without_intervals_says_so(tmp_path, tcpwhy):
    store = tmp_path / "store"
    tcpwhy("analyze", DATA / "offload.pcap", "--table", "flows", "--output", store)
    connection = explain_connection(store)
    assert connection.sides[0].runs == []
    assert "The store has no intervals of this direction" in "\n".join(text(connection))


def test_a_community_id_can_be_that_of_several_flows(tmp_path):
    """A port that is used again: the bigger connection is explained, the others are named."""
    first = packets.transfer(300, start=packets.START)
    again = packets.transfer(400, start=packets.START + 600 * SECOND)
    path = tmp_path / "again.pcap"
    path.write_bytes(packets.pcap(iter([*first, *again])))
    community = explain_connection(path).facts.halves[0].community_id
    connection = explain_connection(path, flow=community)
    assert connection.facts.halves[0].unique_bytes == 400 * packets.MSS
    assert connection.facts.chosen == "the biggest of 2 flows that this names"
    assert [other.unique_bytes for other in connection.facts.others] == [300 * packets.MSS]
    assert "Flows that this names too" in "\n".join(text(connection))


def test_flows_that_are_not_there(tmp_path, tcpwhy):
    path = packets.write_transfer(tmp_path / "made.pcap")
    flow = explain_connection(path).facts.halves[0]
    cut = str(flow.flow_id)[:-3]
    for wrong in (cut, 1, 10**40, "1:AAAAAAAAAAAAAAAAAAAAAAAAAAA="):
        with pytest.raises(UsageError, match=f"there are.*\n  {flow.flow_id} .*400 kB"):
            explain_connection(path, flow=wrong)
    with pytest.raises(UsageError, match="neither a flow_id"):
        explain_connection(path, flow="web")
    with pytest.raises(InputError):
        explain_connection(tmp_path / "none.pcap")
    with pytest.raises(UsageError, match="choose it with --flow"):
        explain_connection("-")
    assert tcpwhy("explain", path, "--flow", 1).returncode == 2
    assert tcpwhy("explain", tmp_path).returncode == 3
    run = tcpwhy("explain", path, "--frame", 4, "--flow", flow.flow_id)
    assert (run.returncode, "one packet" in run.stderr) == (2, True)


def test_of_several_flows_the_nearest_number_comes_first(tmp_path):
    path = tmp_path / "three.pcap"
    sizes = (400, 300, 200)
    made = [packets.transfer(size, port=40000 + size) for size in sizes]
    path.write_bytes(packets.pcap(iter(sorted(frame for flow in made for frame in flow))))
    biggest = explain_connection(path)
    *_, smallest = biggest.facts.others
    with pytest.raises(UsageError) as raised:
        explain_connection(path, flow=str(smallest.flow_id)[:-1])
    listed = [int(line.split()[0]) for line in str(raised.value).splitlines()[1:]]
    first, second = biggest.facts.halves[0].flow_id, biggest.facts.others[0].flow_id
    assert listed == [smallest.flow_id, first, second]


def test_standard_input_serves_a_flow_that_is_named(tcpwhy):
    path = DATA / "offload.pcap"
    flow = explain_connection(path).facts.halves[0].flow_id
    run = tcpwhy("explain", "-", "--flow", flow, text=False, input=path.read_bytes())
    assert run.returncode == 0
    assert str(flow) in run.stdout.decode()


def test_a_damaged_capture_is_explained_and_its_damage_named(tmp_path, tcpwhy):
    path = tmp_path / "cut.pcap"
    path.write_bytes((DATA / "offload.pcap").read_bytes()[:-100_000])
    run = tcpwhy("explain", path)
    assert run.returncode == 3
    assert "Limited by" in run.stdout
    assert "the capture does not show its end" in run.stdout
    assert "damaged at byte" in run.stderr


def test_an_attempt_without_data_has_its_outcome(tmp_path):
    path = tmp_path / "syn.pcap"
    syn = (packets.START, packets.frame(0, 40000, packets.SYN, 1, 0, 0, 65535))
    path.write_bytes(packets.pcap(iter([syn])))
    lines = text(explain_connection(path))
    assert lines[0] == "No payload was sent."
    assert "never answered" in lines[2]
    assert "tcp.port == 40000" in "\n".join(lines)
    path.write_bytes(packets.head())
    with pytest.raises(UsageError, match="no TCP connection"):
        explain_connection(path)


def test_both_directions_are_argued_when_both_moved_data(tmp_path):
    """A transfer and its mirror image, later in the same connection."""
    there = list(packets.transfer(300))[:-3]
    time, end = there[-1][0], 1000 + 300 * packets.MSS
    back = []
    for number in range(200):
        seq, at = 5000 + number * packets.MSS, time + (number + 1) * SECOND // 100
        back.append((at, packets.frame(1, 40000, packets.ACK, seq, end, packets.MSS, 10_000)))
        ack = packets.frame(0, 40000, packets.ACK, end, seq + packets.MSS, 0, 65535)
        back.append((at + 1000, ack))
    path = tmp_path / "both.pcap"
    path.write_bytes(packets.pcap(iter(there + back)))
    connection = explain_connection(path)
    assert [side.half.direction for side in connection.sides] == ["orig", "resp"]
    lines = text(connection)
    assert sum(line.startswith("Moved") for line in lines) == 2
    assert any(line.startswith("The other way. ") for line in lines)
    few = tmp_path / "few.pcap"
    few.write_bytes(packets.pcap(iter(there + back[:10])))
    lines = text(explain_connection(few))
    assert sum(line.startswith("Moved") for line in lines) == 1
    assert any(line.startswith("Other way ") for line in lines)


@pytest.fixture
def interval(explained):
    """Make an interval of seconds, with a cause and a confidence."""
    row = explained("loss_sender").facts.intervals["orig"][0]

    def make(start, end, cause, confidence="high", **columns):
        limitation = cause and cause.partition("/")[0]
        columns |= {"limitation": limitation, "cause": cause, "confidence": confidence}
        return row._replace(start_ns=start * SECOND, end_ns=end * SECOND, **columns)

    return make


def test_neighbours_with_one_cause_are_one_run(interval):
    rows = [
        interval(0, 3, "transport/slow_start", "low", unique_bytes=100, rtt_mean_ns=None),
        interval(3, 6, "random_loss", "high", unique_bytes=200, rtt_mean_ns=7, rwnd_min=9),
        interval(6, 9, "random_loss", "low", unique_bytes=300, rtt_mean_ns=5, rwnd_min=None),
        interval(9, 11, "policer"),
        interval(11, 12, "random_loss"),
        interval(12, 14, None, None),
    ]
    found = runs(list(reversed(rows)))
    times = [(run.start_ns // SECOND, run.end_ns // SECOND, run.cause) for run in found]
    assert times == [
        (0, 3, "transport/slow_start"),
        (3, 9, "random_loss"),
        (9, 11, "policer"),
        (11, 12, "random_loss"),
        (12, 14, None),
    ]
    joined = found[1]
    assert (joined.intervals, joined.unique_bytes, joined.rwnd_min) == (2, 500, 9)
    assert (joined.rtt_ns, found[0].rtt_ns) == ((5, 7), None)
    assert joined.goodput_bps == 500 * 8 / 6
    by_cause = {cause: time // SECOND for (_, cause), time in time_by_cause(found).items()}
    assert by_cause == {"random_loss": 7, "transport/slow_start": 3, "policer": 2, None: 2}
    assert sum(by_cause.values()) == 14


@pytest.mark.parametrize(
    ("levels", "whole"),
    [
        (["high", "high", "low"], "high"),
        (["high", "medium", "low", "low"], "medium"),
        (["medium", "low", "low"], "low"),
        (["high", "low"], "high"),
        ([None], None),
    ],
)
def test_a_run_is_as_sure_as_half_of_its_time_at_least(interval, levels, whole):
    rows = [interval(n, n + 1, "policer", level) for n, level in enumerate(levels)]
    assert runs(rows)[0].confidence == whole


def test_the_bar_is_to_scale_and_leaves_nothing_out(interval):
    rows = [interval(0, 5, "policer"), interval(5, 8, None), interval(8, 10, "random_loss")]
    found = runs(rows)
    assert bar(found, 10) == [("policer", 5), (None, 3), ("random_loss", 2)]
    assert bar(found, 1) == [("policer", 1)]
    for cells in (1, 7, 99):
        assert sum(many for _, many in bar(found, cells)) == cells
    assert bar([], 10) == []
    instant = runs([interval(4, 4, "policer")])
    assert bar(instant, 10) == [("policer", 10)]
    gap = runs([interval(0, 1, "policer"), interval(9, 10, "policer")])
    assert bar(gap, 10) == [("policer", 10)]


def test_of_many_runs_the_longest_are_shown_and_the_rest_counted(interval, explained):
    causes = ["policer", "random_loss"]
    rows = [interval(n * 10, n * 10 + 9 + n % 2, causes[n % 2]) for n in range(50)]
    kept, left = shown(runs(rows))
    assert (len(kept), len(left)) == (MOST_RUNS, 50 - MOST_RUNS)
    assert {run.cause for run in kept} == {"random_loss"}
    assert [run.start_ns for run in kept] == sorted(run.start_ns for run in kept)
    connection = explained("loss_sender")
    side = connection.sides[0]._replace(runs=runs(rows))
    lines = text(connection._replace(sides=[side]))
    assert any(line.startswith(f"And {50 - MOST_RUNS} runs of at most 10.0 s") for line in lines)


DOUBTS = [
    ({"share_application": 0.3}, "The application had nothing to send for 30.0 % of the time."),
    ({"cause": "application/paced", "confidence": "medium"}, "A shaper of the sending host"),
    ({"handshake_seen": False}, "handshake is not in the capture"),
    ({"missed_bytes": 2000}, "gaps: it lacks 2.00 kB (0.1 %) that were acknowledged"),
    ({"position": None}, "Where the capture was made is unknown"),
    ({"offload_seen": True}, "Offload hides"),
    ({"conn_state": "S1"}, "does not show the end"),
    ({"window_scale_source": "inferred", "window_scale": 5}, "scale, 5, is inferred"),
    ({"rwnd_max": None}, "window is unknown"),
    ({"flight_size_max": 2**30}, "are far more than the window of"),
    ({"spurious_bytes": 9412}, "50.0 % of the retransmitted bytes had not been lost"),
    ({"limitation": "shared_bottleneck", "capacity_bps": None}, "nothing proves"),
    ({"capacity_bps": 1e6}, "2.40 Mbit/s went through an estimated capacity of 1.00 Mbit/s"),
    ({"capacity_lower_bps": 4.5e6}, "contradict each other"),
    ({"capacity_upper_bps": 2e7}, "from 3.00 Mbit/s to 20.0 Mbit/s, and the predicted gain"),
    ({"data_packets": 12}, "It rests on 12 data packets only."),
    ({"rtt_samples": 3}, "It rests on 3 round-trip samples only."),
    ({"rtt_samples": 0}, "No round trip was measured."),
]


@pytest.mark.parametrize(("columns", "phrase"), DOUBTS)
def test_what_speaks_against_a_verdict_is_said_when_it_is_so_and_only_then(half, columns, phrase):
    known = {"capacity_bps": 4e6, "capacity_lower_bps": 3e6, "capacity_upper_bps": 5e6}
    sound = half._replace(next_limitation="unshared_bottleneck", **known)
    assert doubts(sound, []) == []
    (doubt,) = doubts(sound._replace(**columns), [])
    assert phrase in doubt


def test_intervals_with_other_causes_speak_against_it(half, interval):
    rows = [interval(0, 6, "random_loss"), interval(6, 9, "policer"), interval(9, 10, None)]
    known = half._replace(next_limitation=None)
    (doubt,) = doubts(known, runs(rows))
    assert doubt == "Intervals with other causes: 3.00 s with policer, of 10.0 s in all."
    assert doubts(known._replace(limitation=None), runs(rows)) == []


def test_a_full_link_is_not_slower_than_what_passed(half):
    full = half._replace(limitation="shared_bottleneck", capacity_bps=None)
    slow, fast = (doubts(full._replace(capacity_lower_bps=bps), []) for bps in (3e6, 1.2e9))
    assert len(slow) == 1
    assert fast[1].startswith("Packets passed the observer at 1.20 Gbit/s: the full link lies")


def test_the_reason_for_an_unknown_gain_is_a_word_of_the_core(half):
    for reason in vocabulary.reasons("gain_unknown"):
        unknown = half._replace(headroom_bps=None, gain_unknown=reason.word)
        assert _gain(unknown) == f"Cannot be predicted: {reason.meaning}."
    assert "the next limit is unknown" in _gain(half._replace(headroom_bps=None, gain_unknown=None))


def test_the_least_round_trip_says_where_it_is_from(half):
    least = half._replace(rtt_min_ns=201_000, handshake_rtt_ns=201_000)
    assert numbers(least)["RTT"].startswith("Minimum 201 µs (handshake), ")
    unresolved = half._replace(rtt_min_ns=None, handshake_rtt_ns=None)
    assert numbers(unresolved)["RTT"].startswith("Minimum below a tick of the capture's clock, ")


def test_loss_episodes_without_a_kind_are_not_passed_over(half):
    known = {"loss_events": 8, "fast_retransmissions": 1, "rto_events": 0, "tlp_events": 0}
    said = numbers(half._replace(**known))["Loss"]
    assert "in 8 loss episodes: 1 fast retransmission; the others are of unknown kind." in said


TREE = [
    # answer, dispersion, retransmission, rwnd, burstiness; what was decisive, why it differs
    (
        "unshared_bottleneck",
        0.1,
        0,
        0,
        0,
        "90 % of its estimate of the capacity (limit 80 %)",
        "spacing",
    ),
    ("shared_bottleneck", 0.5, 0.03, 0, 0, "3 % of the bytes were sent again (limit 1 %)", "loss"),
    ("shared_bottleneck", 0.5, 0, 0.9, 0.5, "burstiness 0.50, limit 0.91", "even"),
    ("receiver_window", 0.5, 0, 0.9, 0.99, "full for 90 % (limit 50 %)", "how near"),
    ("transport", 0.5, 0, 0, 0, "nothing was sent again", "queues"),
    ("mixed", 0.5, 0.005, 0.1, 0, "0.5 % sent again", "queues"),
    ("application", 0.5, 0, 0, 0, "application limited periods", "waited for"),
]


@pytest.mark.parametrize("row", TREE)
def test_the_tree_is_argued_by_the_test_that_decided(half, explained, row):
    answer, dispersion, retransmission, rwnd, burstiness, decisive, why = row
    scores = {"dispersion_score": float(dispersion), "retransmission_score": float(retransmission)}
    scores |= {"rwnd_score": float(rwnd), "burstiness_score": float(burstiness)}
    period = explained("loss_sender").facts.periods["orig"][0]
    period = period._replace(limitation_siekkinen=answer, rwnd_time_score=None, **scores)
    ours = half._replace(limitation="sender_window", limitation_siekkinen=answer)
    said = " ".join(compared(ours, [period]))
    assert decisive in said
    assert "no such limit as the sender's own window" in said
    other = "transport" if answer != "transport" else "application"
    differs = " ".join(compared(ours._replace(limitation=other), [period]))
    assert why in differs
    agrees = [*compared(ours._replace(limitation=answer), [period])]
    assert len(agrees) == 1
    assert "says so too" in agrees[0]


def test_the_tree_can_have_no_answer(half):
    nothing = half._replace(limitation_siekkinen=None, null_reason="short transfer")
    assert [*compared(nothing, [])] == ["The decision tree has no answer (short transfer)."]


def test_every_cause_has_a_culprit_and_without_a_verdict_the_reason_is_given(half):
    for cause in vocabulary.causes():
        said = headline(half._replace(limitation=cause.limitation, cause=cause.word))
        culprit = cause.culprit.format(src=half.src, dst=half.dst)
        assert said.startswith(f"Limited by {culprit}"), cause
    mixed = half._replace(limitation="mixed", cause=None)
    assert headline(mixed).startswith("Limited by several causes")
    none = half._replace(limitation=None, cause=None, confidence=None, null_reason="no data")
    assert headline(none) == "What limited it is unknown: no data."


def test_what_is_unknown_is_said_to_be(half):
    unknown = {"rtt_samples": 0, "handshake_rtt_ns": None, "rwnd_max": None, "position": None}
    unknown |= {"handshake_seen": False, "capacity_bps": None, "flight_size_max": None}
    unknown |= {"capacity_method": None, "capacity_unknown": "no_mode", "capacity_lower_bps": None}
    said = numbers(half._replace(**unknown))
    assert said["RTT"] == "Unknown: no acknowledgement could be timed."
    assert said["Window"] == "Unknown: its scale was in the handshake, which was not seen."
    assert said["Capacity"] == "Unknown: no mode in the packet gaps."
    assert said["Observer"] == "Where the capture was made is unknown."


@pytest.mark.parametrize("name", GOLDEN)
def test_tshark_finds_the_packets_with_our_filters(explained, tool, name):
    side = explained(name).sides[0]
    path = DATA / f"{name}.pcap"
    counts = {what: tshark(tool, path, text) for what, text in side.filters.items()}
    assert counts["all"] == tshark(tool, path, "tcp")
    assert 0 < counts.get("telling", 1) <= counts["all"]


def test_tshark_understands_every_filter(half, interval, tool):
    rows = [interval(1, 2, "policer"), interval(2, 9, "random_loss")]
    whole = filters.during(half, runs(rows))
    assert whole is not None
    run, span = whole
    assert (run.cause, "frame.time_epoch >= 2.000000000 " in span) == ("random_loss", True)
    assert filters.during(half, runs(rows[1:])) is None
    assert tshark(tool, DATA / "offload.pcap", span) == 0
    v6 = half._replace(src="2001:db8::1", dst="2001:db8::2")
    causes = [cause.word for cause in vocabulary.causes() if cause.filter]
    shown_by = [ends._replace(cause=cause) for cause in causes for ends in (half, v6)]
    every = [filters.telling(ends) for ends in shown_by]
    assert None not in every
    assert tshark(tool, DATA / "offload.pcap", " || ".join(f"({text})" for text in every)) == 0


def tshark(tool, path, text):
    """Count the frames that a display filter lets through; fails for one that is not valid."""
    command = [tool("tshark"), "-n", "-r", path, "-Y", text, "-T", "fields", "-e", "frame.number"]
    return len(subprocess.run(command, capture_output=True, check=True).stdout.splitlines())


def test_what_weighed_most_against_it_and_the_next_likely_answer_are_told_first(half):
    doubted = half._replace(
        speaks_against="RTT samples with a queue 40 % (-1.2)",
        alternative="policer",
        alternative_probability=0.2,
    )
    assert doubts(doubted, [])[:2] == [
        "Weighed most against it, in log-odds: RTT samples with a queue 40 % (-1.2).",
        "The likeliest other answer is policer: 20.0 %.",
    ]
    unlikely = doubted._replace(speaks_against=None, alternative_probability=0.02)
    assert doubts(unlikely, []) == doubts(half, [])
