"""What a graph shows is what the tables have; every format says the same."""

import itertools
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

import pytest

from tcpwhy import UsageError, analyze, vocabulary
from tcpwhy.graph import draw
from tcpwhy.graph.drawing import specification
from tcpwhy.graph.pack import column
from tcpwhy.graph.page import _IMPORT, _static, bundle
from tcpwhy.graph.palette import colours, contrast
from tcpwhy.graph.segments import KINDS, _Growing, _narrow
from tcpwhy.report import palette as report_palette
from tcpwhy.terminal import colours as terminal_colours

numpy = pytest.importorskip("numpy", reason="a graph is made of numpy's columns")

LOSS = "tests/data/loss_sender.pcap"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def graph():
    return draw(LOSS)


@pytest.fixture(scope="module")
def segments(graph):
    """Read the rows of the segments table that the graph was made of."""
    half = graph.traces[0].half
    result = analyze(LOSS, table="segments", flow=half.flow_id)
    connection = result.to_duckdb()
    return lambda query: connection.execute(query).fetchall()


def test_every_data_segment_is_there_once(graph, segments):
    trace = graph.traces[0]
    counted = dict(
        segments(f"""SELECT kind, count(*) FROM segments
        WHERE direction = '{trace.half.direction}' GROUP BY kind""")
    )
    assert len(trace.series["data"]["t"]) == counted["new"]
    for kind in KINDS[1:9]:
        assert len(trace.marks[kind]["t"]) == counted.get(kind, 0), kind
    sent = int((trace.series["data"]["hi"] - trace.series["data"]["lo"]).sum())
    sent += sum(
        int((columns["y1"] - columns["y0"]).sum())
        for kind, columns in trace.marks.items()
        if "retransmission" in kind or kind == "reordered"
    )
    assert sent == trace.half.payload_bytes


def test_frames_times_and_round_trips_are_those_of_the_table(graph, segments):
    trace = graph.traces[0]
    (start,) = segments("SELECT min(ts_ns) FROM segments")[0]
    data = trace.series["data"]
    end = "seq_end - contains(flags, 'F')::INT"
    rows = segments(f"""SELECT frame, ts_ns - {start}, seq_start, {end} FROM segments WHERE
        direction = '{trace.half.direction}' AND kind = 'new' ORDER BY ts_ns, frame""")
    assert rows == list(zip(*(data[n].tolist() for n in ("frame", "t", "lo", "hi")), strict=True))
    times = segments("SELECT rtt_ns FROM segments WHERE rtt_ns IS NOT NULL ORDER BY ts_ns, frame")
    assert len(times) == trace.half.rtt_samples
    assert [rtt for (rtt,) in times] == trace.series["rtt"]["v"].tolist()
    assert min(times)[0] == trace.half.rtt_min_ns
    assert trace.series["rtt_min"]["v"][-1] == trace.half.rtt_min_ns


def test_window_edge_is_acknowledgement_and_window(graph):
    series = graph.traces[0].series
    at = numpy.searchsorted(series["ack"]["t"], series["edge"]["t"])
    assert (series["edge"]["v"] - series["rwnd"]["v"] == series["ack"]["v"][at]).all()
    assert (numpy.diff(series["ack"]["v"]) >= 0).all()


def test_estimate_of_cwnd_is_a_flight_that_was(graph):
    series = graph.traces[0].series
    known = series["cwnd_estimate"]["v"]
    assert set(known[known >= 0].tolist()) <= set(series["flight"]["v"].tolist())


def test_svg_has_every_mark_its_words_and_both_themes(graph):
    text = graph.svg(theme="auto")
    root = ElementTree.fromstring(text)
    assert root.find(f"{SVG}title").text == graph.traces[0].label
    described = root.find(f"{SVG}desc").text
    assert (
        f"{len(graph.traces[0].marks['fast_retransmission']['t'])} fast retransmission" in described
    )
    assert "prefers-color-scheme:dark" in text
    drawn = {group.get("data-series") for group in root.iter(f"{SVG}g")}
    assert {"data", "ack", "edge", "flight", "rwnd", "rtt", "goodput", "verdict"} <= drawn
    assert "NaN" not in text
    assert "inf" not in re.sub(r"<style>.*?</style>", "", text)
    assert graph.svg(theme="auto") == text


def test_png_and_pdf_are_the_picture(graph, tmp_path):
    pytest.importorskip("vl_convert", reason="vl-convert-python renders pictures")
    graph.write(tmp_path / "g.png", width=500, height=400, scale=1)
    head = (tmp_path / "g.png").read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(head[16:20], "big") == 500
    graph.write(tmp_path / "g.pdf")
    assert (tmp_path / "g.pdf").read_bytes()[:5] == b"%PDF-"


def test_column_survives_packing():
    import base64
    import gzip

    for how in ("plain", "delta"):
        for values in ([5], [0, 0, 0], [3, -7, 2**52, 1, -(2**40)], list(range(0, 9000, 9))):
            packed = column(numpy.array(values, dtype=numpy.int64), how)
            planes = gzip.decompress(base64.b64decode(packed["data"]))
            n, found, total = packed["n"], [], 0
            for i in range(n):
                folded = sum(planes[p * n + i] << (8 * p) for p in range(packed["planes"]))
                value = ((folded >> 1) ^ -(folded & 1)) * packed["unit"]
                total = total + value if how == "delta" else value
                found.append(total)
            assert found == values


def test_script_is_joined_without_two_things_of_one_name():
    joined = bundle("app.js")
    assert not re.search(r"^(import|export) ", joined, re.MULTILINE)
    names = re.findall(r"^(?:async )?(?:const|let|function|class) (\w+)", joined, re.MULTILINE)
    assert [name for name, count in Counter(names).items() if count > 1] == []
    for module in set(_IMPORT.findall(_static("app.js"))):
        assert " as " not in "".join(re.findall(r"^import .*", _static(module), re.MULTILINE))


def test_xpl_has_the_segments_that_tcptrace_draws(graph, tool, tmp_path, monkeypatch):
    capture = Path(LOSS).absolute()
    monkeypatch.chdir(tmp_path)
    subprocess.run([tool("tcptrace"), "-S", capture], check=True, capture_output=True)
    ours = sent_lines(graph.xpl())
    theirs = max((sent_lines(p.read_text()) for p in tmp_path.glob("*_tsg.xpl")), key=len)
    # tcptrace keeps absolute sequence numbers: they count from that of the first data.
    base = min(low for _, low, _ in theirs if low) - min(low for _, low, _ in ours)
    relative = Counter((at, low - base, high - base) for at, low, high in theirs)
    data = Counter(line for line in ours if line[2] > line[1])
    assert sum((data & relative).values()) > 0.995 * sum(data.values())
    assert len(data) > 1000


def sent_lines(text):
    """Give the upright lines of data in an xplot file: white, or red where sent again."""
    colour, found = "", []
    for line in text.splitlines():
        words = line.split()
        if len(words) == 1 and line.islower():
            colour = line
        elif words[:1] == ["line"] and words[1] == words[3] and colour in ("white", "red"):
            found.append((words[1], int(words[2]), int(words[4])))
    return found


def test_xplot_reads_it(graph, tool, tmp_path):
    xplot, server = tool("xplot.org"), tool("Xvfb")
    good, bad = tmp_path / "good.xpl", tmp_path / "bad.xpl"
    graph.write(good)
    bad.write_text(good.read_text().replace("\ngo\n", "\nwhat is this\n"))
    # It names the display once it answers there; a reset as the last client leaves would cut off
    # the next one.
    command = [server, "-displayfd", "1", "-noreset", "-screen", "0", "640x480x24"]
    display = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        environment = {"DISPLAY": f":{int(display.stdout.readline())}"}
        wrong = subprocess.run([xplot, bad], env=environment, capture_output=True, timeout=20)
        assert b"input format error" in wrong.stderr
        with pytest.raises(subprocess.TimeoutExpired) as shown:
            subprocess.run([xplot, good], env=environment, capture_output=True, timeout=2)
        assert b"error" not in (shown.value.stderr or b"")
    finally:
        display.terminate()
        display.communicate()


def test_simulation_shows_the_true_cwnd(tmp_path):
    graph = draw("scenarios/slow_start_short.toml")
    trace = graph.traces[0]
    true, flight = trace.series["cwnd"], trace.series["flight"]
    assert len(true["t"]) > 2
    # A row of the truth has cwnd at its begin: the next one bounds what was sent before it.
    later = numpy.searchsorted(true["t"], flight["t"], side="right")
    known = later < len(true["t"])
    room = true["v"][later[known]] + trace.half.effective_mss
    assert (flight["v"][known] <= room).mean() > 0.95


def test_a_scenario_is_drawn_at_each_of_its_taps():
    scenario = "scenarios/trap_capture_loss.toml"
    drawn = {tap: draw(scenario, tap=tap).traces[0] for tap in ("sender", "middle", "receiver")}
    positions = [drawn[tap].half.position for tap in ("sender", "middle", "receiver")]
    assert positions == pytest.approx([0.0, 0.05, 1.0], abs=0.02)
    assert len({trace.half.packets for trace in drawn.values()}) == 3, "each tap misses others"
    assert all(len(trace.series["cwnd"]["t"]) for trace in drawn.values())
    assert draw(scenario).svg() == draw(scenario, tap="sender").svg()
    with pytest.raises(UsageError, match="no tap 'x': there are sender, middle, receiver"):
        draw(scenario, tap="x")
    with pytest.raises(UsageError, match="only a scenario has taps"):
        draw(LOSS, tap="sender")


def test_result_draws_a_flow_in_a_notebook(graph):
    half = graph.traces[0].half
    drawn = analyze(LOSS).graph(half.flow_id)
    shown = drawn._repr_mimebundle_()
    assert shown["image/svg+xml"] == graph.svg()
    assert shown["text/plain"] == half.pair
    with pytest.raises(UsageError, match="one capture"):
        analyze([LOSS, "tests/data/loss_middle.pcap"]).graph()


def test_verdict_is_that_of_the_overview(tcpwhy, graph):
    half = graph.traces[0].half
    result = analyze(LOSS, table=("flows", "intervals")).to_duckdb()
    query = "SELECT limitation, cause, confidence FROM flows ORDER BY unique_bytes DESC LIMIT 1"
    assert result.execute(query).fetchone() == (half.limitation, half.cause, half.confidence)
    ribbon = [(verdict.limitation, verdict.cause) for verdict in graph.traces[0].verdicts]
    query = f"""SELECT limitation, cause FROM intervals WHERE direction = '{half.direction}'
        ORDER BY start_ns"""
    assert result.execute(query).fetchall() == ribbon


def test_pipe_is_drawn_as_the_file_is(tcpwhy, graph, tmp_path):
    path = tmp_path / "g.svg"
    with Path(LOSS).open("rb") as file:
        run = tcpwhy("graph", "-", "-o", path, stdin=file)
    assert run.returncode == 0, run.stderr
    assert path.read_text() == graph.svg()


def test_segments_keep_their_numbers_however_they_come():
    stamps, acks = [5, 2**62, 7, 7, 2**40], [-2, 127, 128, -(2**31), 2**31]
    held = _Growing(["ts_ns", "ack"])
    for at, ack in zip(stamps, acks, strict=True):
        one = {"ts_ns": _narrow([at]), "ack": _narrow([ack])}
        none = {name: values[:0] for name, values in one.items()}
        held.add((none, one))
    orig, resp = held.sides()
    assert not len(orig["ack"])
    assert resp["ts_ns"].tolist() == sorted(stamps)
    assert resp["ack"].tolist() == [-2, 128, -(2**31), 2**31, 127]


def test_store_without_segments_shows_intervals(tcpwhy, tmp_path):
    store = tmp_path / "store"
    assert tcpwhy("analyze", LOSS, "-o", f"{store}/", "--interval", "1s").returncode == 0
    trace = draw(store).traces[0]
    assert "data" not in trace.series
    assert len(trace.series["rtt"]["t"]) > 1
    assert trace.verdicts
    assert "segments" in " ".join(trace.notes)
    assert "<svg" in draw(store).svg()


def test_store_with_segments_draws_what_the_capture_draws(tcpwhy, tmp_path):
    store = tmp_path / "store"
    flow = draw(LOSS).traces[0].half.flow_id
    options = [f"--table={name}" for name in ("flows", "intervals", "periods", "segments")]
    options += ["--flow", flow]
    assert tcpwhy("analyze", LOSS, "-o", f"{store}/", *options).returncode == 0
    assert draw(store).svg() == draw(LOSS).svg()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([LOSS, "-o", "g.gif"], "a graph is written as .html, .svg, .png, .pdf, .xpl"),
        ([LOSS, "--flow", "1", "-o", "g.svg"], "no flow 1"),
        ([LOSS, "-o", "g.html", "--theme", "dark"], "only a picture has theme"),
        ([LOSS, "-o", "g.svg", "--start", "5s", "--end", "1s"], "ends after it starts"),
        (["absent.pcap", "-o", "g.svg"], "absent.pcap"),
        ([LOSS, "-o", "g.svg", "--cwnd", "absent.csv"], "absent.csv: no such file"),
    ],
)
def test_what_makes_no_sense_is_told(tcpwhy, tmp_path, arguments, said):
    placed = [str(tmp_path / a) if a.startswith("g.") else a for a in arguments]
    run = tcpwhy("graph", *placed)
    assert run.returncode in (2, 3)
    assert said in run.stderr
    assert "Traceback" not in run.stderr
    assert not list(tmp_path.iterdir())


def test_no_direction_is_refused():
    with pytest.raises(UsageError, match="no direction"):
        draw(LOSS, direction="up")


def test_palette_reads_on_its_paper():
    """Text has a contrast of 4.5, lines and marks of 3 (WCAG 2.2, 1.4.3 and 1.4.11)."""
    spec = specification()
    for theme in ("light", "dark"):
        colours = spec["colours"][theme]
        for role, colour in colours.items():
            if role in ("paper", "plot", "grid", "frame", "unknown", "other_ack"):
                continue
            wanted = 4.5 if role in ("ink", "quiet") else 3
            for ground in ("paper", "plot"):
                assert contrast(colour, colours[ground]) >= wanted, (theme, role)


def test_verdicts_are_named_in_their_ribbon_and_can_be_read():
    graph = draw("scenarios/two_network_then_reader.toml")
    named = [mark for mark in graph.scene() if mark["what"] == "name"]
    assert [mark["text"] for mark in named] == ["a full link, not shared", "the receiver's window"]
    assert not [mark for mark in graph.scene(width=300, height=300) if mark["what"] == "name"]
    for theme in ("light", "dark"):
        roles = colours(specification(), theme)
        fills = [role for role in roles if role.startswith("limit:")]
        assert len(fills) == len(vocabulary.limitations()) + 1
        for role in fills:
            letters = roles[role.replace("limit:", "on:")]
            assert contrast(letters, roles[role]) >= 4.5, (theme, role)


def test_verdicts_have_the_same_colours_everywhere():
    """Graph, report and dashboard read them where the terminal reads its own: the vocabulary."""
    sheet = report_palette.style()
    light, dark = (colours(specification(), theme) for theme in ("light", "dark"))
    for one in vocabulary.limitations():
        role = f"limit:{one.word}"
        assert (light[role], dark[role]) == (one.colour_light, one.colour_dark)
        assert sheet.count(f"--l-{one.word}:{one.colour_light}") == 2
        assert sheet.count(f"--l-{one.word}:{one.colour_dark}") == 2
        for ground, colour in (("light", one.colour_light), ("dark", one.colour_dark)):
            assert terminal_colours.of(one.word, ground) == colour
    with_colour = re.compile(r"#[0-9a-fA-F]{6}\b")
    known = {colour for one in vocabulary.limitations() for colour in (one.colour_light,)}
    for path in Path("python/tcpwhy").rglob("*"):
        if path.suffix in (".py", ".js", ".css", ".json"):
            assert not known & set(with_colour.findall(path.read_text())), path


def test_dense_values_hold_until_the_next():
    """A window that stays shut is drawn shut, not as a slope to its next value."""
    from tcpwhy.graph.layout import View

    graph = draw("scenarios/rwnd_pausing_reader.toml")
    trace = graph.traces[0]
    rwnd = trace.series["rwnd"]
    shut = int(numpy.argmax(numpy.diff(rwnd["t"])))
    middle = float(rwnd["t"][shut] + rwnd["t"][shut + 1]) / 2
    marks = graph.scene(View(0.0, float(trace.span_ns)))
    line = next(mark["data"] for mark in marks if mark["what"] == "rwnd")
    assert len(rwnd["t"]) > 2000, "few enough to be drawn one by one"
    x = 66 + middle / trace.span_ns * (1000 - 66 - 18)
    points = list(zip(line[::2], line[1::2], strict=True))
    before, after = next(
        pair for pair in itertools.pairwise(points) if pair[0][0] <= x < pair[1][0]
    )
    assert after[0] - before[0] > 100
    assert before[1] == pytest.approx(after[1])
