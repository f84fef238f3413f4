"""The report: what it says is in the tables, and the page keeps to itself."""

import base64
import hashlib
import json
import re

import duckdb
import pytest
from browser import CONTRAST, opened

from tcpwhy._core import Rows
from tcpwhy.graph.palette import contrast
from tcpwhy.report import charts, distributions, facts, sections
from tcpwhy.report.contents import gather
from tcpwhy.report.markdown import escaped
from tcpwhy.report.markup import Html, tag
from tcpwhy.report.page import page, stylesheet
from tcpwhy.report.palette import known
from tcpwhy.report.pictures import NARROW, SIZE
from tcpwhy.report.source import Source, open_source
from tcpwhy.study import internet

SECOND = 10**9

pytest.importorskip("altair", reason="charts need the extra plot")
pytest.importorskip("vl_convert", reason="charts need the extra plot")


@pytest.fixture(scope="module")
def contents():
    with open_source("tests/data/slow_reader.pcap") as source:
        return gather(source, study=True)


@pytest.fixture
def source_of(batch_of):
    """Make a source of rows."""

    def make(flows=(), intervals=()):
        connection = duckdb.connect()
        given = {"flows": flows, "intervals": intervals, "periods": (), "counters": ()}
        for table, rows in given.items():
            connection.register("rows", batch_of(table, *rows) if rows else Rows(table, []))
            connection.execute(f"CREATE TABLE {table} AS FROM rows")
        return Source("made", False, connection, [])

    return make


def direction(n, **more):
    known = {"direction": "orig", "data_packets": 10, "unique_bytes": 1000, "dst_port": 80}
    return known | {"flow_id": n, "end_ns": SECOND} | more


def test_time_and_bytes_go_to_the_limitation_of_each_interval(source_of):
    rows = [
        direction(1, limitation="policer", cause="policer", end_ns=3 * SECOND),
        direction(1, limitation="policer", cause="policer"),
        direction(1, limitation="application", cause="application/idle", end_ns=SECOND),
        direction(2),
    ]
    found = facts.shares(source_of([direction(1, limitation="mixed")], rows))
    told = [(one.limitation, one.time_ns // SECOND, one.size_bytes) for one in found]
    assert told == [("policer", 4, 2000), ("application", 1, 1000), (None, 1, 1000)]
    # Without intervals, whole directions count.
    assert [one.limitation for one in facts.shares(source_of([direction(1)]))] == [None]


def test_who_gains_most_time_comes_first_and_who_gains_nothing_not_at_all(source_of):
    def limited(n, rate, headroom, word="random_loss"):
        known = {"limitation": word, "remedy": "change it", "payload_bytes": 1000}
        return direction(n, throughput_bps=rate, goodput_bps=rate, headroom_bps=headroom, **known)

    flows = [
        limited(1, 8000.0, 16000.0),
        limited(2, 800.0, 1000.0),
        limited(3, 8000.0, None),
        limited(4, 8000.0, 8000.0),
        limited(5, 8000.0, 80000.0, word="application"),
    ]
    found = facts.gains(source_of(flows))
    assert [gain.flow_id for gain in found] == [2, 1, 3]
    assert found[0].saved_ns == pytest.approx(2 * SECOND)
    assert found[1].saved_ns == pytest.approx(SECOND / 2)
    assert found[2].saved_ns is None


def test_what_changes_would_save_is_added_up_by_cause(source_of, contents):
    def limited(n, rate, headroom, cause):
        word = cause.partition("/")[0]
        known = {"limitation": word, "cause": cause, "remedy": "change it", "payload_bytes": 1000}
        return direction(n, throughput_bps=rate, goodput_bps=rate, headroom_bps=headroom, **known)

    buffer, slow = "receiver_window/buffer", "receiver_window/slow_reader"
    flows = [
        limited(1, 8000.0, 16000.0, buffer),
        limited(2, 8000.0, 32000.0, buffer),
        limited(3, 8000.0, None, buffer),
        limited(4, 8000.0, None, slow),
        limited(5, 8000.0, 80000.0, "application/idle"),
    ]
    found = facts.savings(source_of(flows))
    assert found["receiver_window", buffer] == (pytest.approx(1.25 * SECOND), 2, 1)
    assert found["receiver_window", slow] == (0, 0, 1)
    assert len(found) == 2
    share = facts.Share("receiver_window", slow, 1, 1, 1)
    made = contents._replace(savings=found)
    assert sections.saving(made, share) == "not known"
    assert sections.saving(made, share._replace(cause=buffer)) == "1.25 s; 1 not known"
    assert sections.saving(made, share._replace(cause=None)) == "–"


def test_a_host_counts_each_connection_once(source_of):
    flows = [
        direction(1, src="a", limitation="policer"),
        direction(2, src="a", limitation="application", end_ns=5 * SECOND),
        direction(2, src="b", direction="resp", src_port=80, dst_port=999),
    ]
    source = source_of(flows)
    hosts = [(h.name, h.connections, h.size_bytes, h.limitation) for h in facts.talkers(source)]
    assert hosts == [("a", 2, 2000, "application"), ("b", 1, 1000, None)]
    assert [(p.name, p.connections) for p in facts.services(source)] == [("80", 2)]


def test_distributions_rise_to_one_and_tell_the_median(source_of):
    flows = [direction(n, throughput_bps=10.0**n) for n in range(1, 6)]
    points = distributions.of_quantity(source_of(flows), "throughput_bps")
    shares = [point.share for point in points if point.series == "of directions"]
    assert shares == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert [p.value for p in points if p.share == 0.6] == pytest.approx([1000.0, 1000.0])


def test_bins_of_time_are_few_and_readable():
    for length in (1, 3 * SECOND, 3600 * SECOND, 10**7 * SECOND, 10**9 * SECOND):
        step = distributions.step_ns(length)
        assert length <= step * distributions.COLUMNS
    assert distributions.step_ns(360 * SECOND) == 3 * SECOND


def test_the_case_study_counts_as_the_paper_does(source_of):
    def result(n, port, **more):
        return direction(n, dst_port=port, **more)

    flows = [
        result(1, 80, data_packets=400, packets=500, capacity_bps=1e9, handshake_seen=True),
        result(2, 22, packets=4),
    ]
    intervals = [
        result(1, 80, retransmission_score=0.0, limitation_siekkinen="transport"),
        result(1, 80, retransmission_score=0.5, limitation_siekkinen="shared_bottleneck"),
        result(2, 22, retransmission_score=0.0, limitation_siekkinen="shared_bottleneck"),
        result(2, 22),
    ]
    found = internet.study(source_of(flows, intervals).connection, {"flows": 7})
    assert (found.trace.flows, found.trace.packets, found.relevant) == (7, 504, 0.5)
    assert found.with_capacity == 1
    causes = {cause.limitation: (cause.intervals, cause.share) for cause in found.causes}
    assert causes["shared_bottleneck"] == (2, pytest.approx(2 / 3))
    assert causes["receiver_window"] == (0, 0)
    checks = {check.what: check.here for check in found.checks}
    assert checks["retransmission 0, port 80"] == "50.0 %"
    assert checks["retransmission 0, other well-known ports"] == "100 %"
    assert checks["receiver window 0"] == "–"
    _, _, points = found.distributions["retransmission_score"]
    assert [(p.series, p.value, p.share) for p in points] == [
        ("port 80", 0.0, 0.5),
        ("port 80", 0.5, 1.0),
        ("other well-known ports", 0.0, 1.0),
    ]


def test_markup_escapes_what_is_text():
    made = tag("p", "<b>", Html("<i>"), None, title='"&', data_x=1, hidden=None)
    assert made == '<p title="&quot;&amp;" data-x="1">&lt;b&gt;<i></p>'
    assert escaped("a|b*c\nd") == "a\\|b\\*c d"


def test_the_page_loads_nothing_and_runs_only_what_it_names(contents):
    text = page(contents._replace(name="<script>alert(1)</script>"))
    assert "<script>alert" not in text
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert policy.startswith("default-src &#x27;none&#x27;; script-src &#x27;sha256-")
    assert "unsafe" not in policy
    for kind in ("script", "style"):
        for body in re.findall(rf"<{kind}>(.*?)</{kind}>", text, re.DOTALL):
            digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
            assert f"sha256-{digest}" in policy
    outside = re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.DOTALL)
    assert not re.search(r'(?:src|href)="(?!#|data:image/svg)|url\((?!#)', outside)
    assert not re.search(r'\sstyle="', outside)


def test_the_page_and_the_text_say_the_same(contents, tcpwhy):
    done = tcpwhy("report", "tests/data/slow_reader.pcap", "-o", "-", "--study")
    assert done.returncode == 0
    text, shown = done.stdout, re.sub(r"<[^>]*>", "", page(contents))
    half = contents.flows[0].sides[0].half
    assert half.limitation == "receiver_window"
    for part in ("the receiver's window", "let the application on 198.51.100.20 read faster"):
        assert part in text.replace("\\", "")
        assert part in shown
    assert text.startswith("# What limits slow\\_reader.pcap\n")
    assert "| answer of the paper's tree | intervals | here | paper |" in text


def test_a_folder_has_every_chart_in_every_format(tcpwhy, tmp_path):
    done = tcpwhy("report", "tests/data/slow_reader.pcap", "-o", tmp_path / "r")
    assert (done.returncode, done.stdout) == (0, "")
    found = sorted(path.name for path in (tmp_path / "r").iterdir())
    assert found == ["charts", "index.html", "report.md"]
    names = {path.stem for path in (tmp_path / "r" / "charts").iterdir()}
    assert {"over-time", "throughput", "rtt"} <= names
    begins = {".svg": b"<svg", ".png": b"\x89PNG", ".pdf": b"%PDF", ".json": b"{"}
    for path in (tmp_path / "r" / "charts").iterdir():
        assert path.read_bytes().startswith(begins[path.suffix])
    assert json.loads((tmp_path / "r/charts/rtt.json").read_text())["$schema"]


def test_targets_that_cannot_be_are_refused_before_anything_is_read(tcpwhy, tmp_path):
    store = tmp_path / "s"
    assert tcpwhy("analyze", "tests/data/slow_reader.pcap", "-o", f"{store}/").returncode == 0
    for target in (tmp_path / "r.docx", store):
        done = tcpwhy("report", "no such capture", "-o", target)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    done = tcpwhy("report", store, "-o", tmp_path / "r.md")
    assert done.returncode == 0
    assert "receiver" in (tmp_path / "r.md").read_text()


def test_the_biggest_flows_have_their_graph(contents):
    ids = [flow.facts.halves[0].flow_id for flow in contents.flows]
    assert list(contents.pictures) == ids
    text = page(contents)
    assert text.count('src="data:image/svg+xml;base64,') == len(contents.pictures)
    with open_source("tests/data/slow_reader.pcap") as source:
        assert gather(source, graphs=0).pictures == {}


def test_colours_of_the_page_are_those_of_its_charts(contents):
    drawn = next(one for one in contents.figures if one.name == "over-time")
    text = page(contents)
    colour = known("receiver_window").light
    assert colour in charts.svg(drawn.chart)
    assert "var(--l-receiver_window)" in text
    assert f"--l-receiver_window:{colour}" in text


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_style_of_pages_has_contrast(theme):
    """Text has 4.5 on every ground that it stands on, the edge of a pale colour 3 (WCAG 2.2)."""
    blocks = re.findall(r"\{([^{}]*--ground:[^{}]*)\}", stylesheet())
    assert len(blocks) == 3, "light, and dark by the system or by choice"
    light, *dark = (dict(re.findall(r"--([\w-]+): (#\w{6});", block)) for block in blocks)
    assert dark[0] == dark[1]
    colours = light | (dark[0] if theme == "dark" else {})
    for name in ("ink", "soft", "accent", "bad", "good"):
        for ground in ("ground", "card"):
            assert contrast(colours[name], colours[ground]) >= 4.5, (name, ground)
    assert contrast(colours["accent"], colours["accent-soft"]) >= 4.5
    assert contrast(colours["bad"], colours["bad-soft"]) >= 4.5
    edge = re.search(r"\.swatch rect, \.stack rect \{ stroke: var\(--(\w+)\)", stylesheet())[1]
    assert contrast(colours[edge], colours["card"]) >= 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 420])
def test_in_a_browser(browser, contents, tmp_path, scheme, width):
    path = tmp_path / "r.html"
    path.write_text(page(contents), encoding="utf-8")
    seen = opened(browser, path.as_uri(), width=width, scheme=scheme)
    web = seen.page
    assert web.evaluate("document.documentElement.scrollWidth") <= width
    for figure in web.locator("figure.chart").all():
        figure.scroll_into_view_if_needed()
        figure.locator(".live svg").wait_for()
    assert web.locator(".still").count() == 0
    link = web.locator("#gains a").first
    link.focus()
    web.keyboard.press("Enter")
    opened_flow = web.locator(f"{link.get_attribute('href')}[open]")
    opened_flow.wait_for()
    assert "Limited by" in opened_flow.inner_text()
    drawn = opened_flow.locator("figure.graph img")
    drawn.scroll_into_view_if_needed()
    # A telephone has a picture of its own, whole and with letters that are read.
    assert drawn.evaluate("image => image.naturalWidth") == (SIZE if width > 700 else NARROW)[0]
    assert drawn.bounding_box()["width"] <= width
    assert web.evaluate(CONTRAST) == []
    assert seen.complaints == []
    assert seen.requests == [path.as_uri()]
