"""The page of a graph in a real browser: it agrees with the picture, and it can be used."""

import json
import math
import random

import pytest
from browser import graph_page

from tcpwhy.graph import draw
from tcpwhy.graph.drawing import specification
from tcpwhy.graph.layout import View
from tcpwhy.graph.scene import scene
from tcpwhy.graph.ticks import axis

SCENARIO = """
title = "Twenty thousand segments, one of them lost"
seed = 3
duration_s = 12
[hosts.S]
[hosts.D]
[links.wan]
forward = [
    { drop_list = { packets = [9000], wire_bytes_min = 500 } },
    { rate = { rate_bps = 20_000_000, queue.drop_tail.limit_packets = 2000 } },
    { delay.delay_ms = 10 },
]
backward = [{ delay.delay_ms = 10 }]
[[flows]]
from = "S"
to = "D"
path = ["wan"]
workload.bulk = {}
tcp = { controller = "cubic" }
"""


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    path = tmp_path_factory.mktemp("graph") / "one_lost.toml"
    path.write_text(SCENARIO)
    return draw(path)


@pytest.fixture
def opened(browser, graph, tmp_path):
    """Open the page of the graph; at the end nothing may have been asked for or complained of."""
    path = tmp_path / "graph.html"
    watched = graph_page(browser, graph, path)
    yield watched.page
    watched.page.wait_for_timeout(50)
    assert watched.complaints == []
    assert watched.requests == [path.as_uri()]
    watched.page.close()


def same(one, other):
    """Whether two marks are alike, coordinates to a thousandth of a pixel; NaN is a gap."""
    named = [{key: value for key, value in mark.items() if key != "data"} for mark in (one, other)]
    if named[0] != named[1] or len(one["data"]) != len(other["data"]):
        return False
    pairs = zip(one["data"], other["data"], strict=True)
    return all(math.isnan(a) if math.isnan(b) else abs(a - b) < 1e-3 for a, b in pairs)


@pytest.mark.parametrize("size", [(1000, 620), (420, 560)])
@pytest.mark.parametrize(
    "seconds", [(None, None), (0.0, 0.7), (3.1, 6.2), (5.0, 5.05), (5.00001, 5.00002)]
)
def test_page_and_picture_draw_the_same(graph, opened, seconds, size):
    view = graph.view(*seconds)
    mine = scene(specification(), graph.shown, view, *size)
    theirs = opened.evaluate(
        """([t0, t1, width, height]) => {
            const view = { t0, t1 };
            return globalThis.shown.sceneOf(view, width, height);
        }""",
        [view.t0, view.t1, *size],
    )
    assert [mark["what"] for mark in mine] == [mark["what"] for mark in theirs]
    for one, other in zip(mine, theirs, strict=True):
        assert same(one, other), (one["what"], one["panel"])


def test_axes_agree(opened):
    source = random.Random(1)
    asked = []
    for _ in range(400):
        lo = source.choice([0.0, source.uniform(-1, 1), 1.0]) * 10 ** source.uniform(0, 13)
        hi = lo + 10 ** source.uniform(0, 13)
        asked.append([lo, hi, source.uniform(1, 15), source.choice(["ns", "bytes", "bps"])])
    theirs = opened.evaluate("asked => asked.map(a => globalThis.shown.axisOf(...a))", asked)
    for arguments, answer in zip(asked, theirs, strict=True):
        mine = axis(*arguments)
        found = ([tick["label"] for tick in answer["ticks"]], answer["unit"], answer["base"])
        assert ([tick.label for tick in mine.ticks], mine.unit, mine.base) == found, arguments


def test_the_one_retransmission_is_seen_in_the_whole_flow(graph, opened):
    trace = graph.traces[0]
    assert len(trace.series["data"]["t"]) > 15_000
    marks = trace.marks["fast_retransmission"]
    assert len(marks["t"]) == 1
    pixels = """([t, value]) => {
        const page = globalThis.shown, panel = page.placed[0];
        const [x, y] = [panel.atX(page.view, t), panel.atY(value)];
        const copy = new OffscreenCanvas(8, 8).getContext("2d");
        const s = devicePixelRatio;
        const canvas = document.getElementById("graph");
        copy.drawImage(canvas, (x - 4) * s, (y - 4) * s, 8 * s, 8 * s, 0, 0, 8, 8);
        const { data } = copy.getImageData(0, 0, 8, 8);
        let red = 0;
        for (let i = 0; i < data.length; i += 4)
            if (data[i] > 180 && data[i + 1] < 110 && data[i + 2] < 60) red++;
        return red;
    }"""
    middle = float(marks["y0"][0] + marks["y1"][0]) / 2
    assert opened.evaluate(pixels, [float(marks["t"][0]), middle]) > 15
    elsewhere = float(trace.span_ns) * 0.9
    assert opened.evaluate(pixels, [elsewhere, middle]) == 0


def view_of(page):
    return page.evaluate("() => globalThis.shown.view")


def test_wheel_drag_and_double_click(opened):
    whole = view_of(opened)
    box = opened.locator("#graph").bounding_box()
    opened.mouse.move(box["x"] + box["width"] / 2, box["y"] + 150)
    opened.mouse.wheel(0, -600)
    opened.wait_for_timeout(100)
    zoomed = view_of(opened)
    assert zoomed["t1"] - zoomed["t0"] < 0.6 * (whole["t1"] - whole["t0"])
    opened.mouse.down()
    opened.mouse.move(box["x"] + box["width"] / 2 - 100, box["y"] + 150, steps=5)
    opened.mouse.up()
    opened.wait_for_timeout(100)
    moved = view_of(opened)
    assert moved["t0"] > zoomed["t0"]
    assert moved["t1"] - moved["t0"] == pytest.approx(zoomed["t1"] - zoomed["t0"])
    opened.mouse.dblclick(box["x"] + 300, box["y"] + 150)
    opened.wait_for_timeout(100)
    assert view_of(opened)["t0"] == whole["t0"]


def test_zoom_reaches_microseconds(opened):
    opened.locator("#graph").focus()
    for _ in range(60):
        opened.keyboard.press("ArrowUp")
    opened.wait_for_timeout(100)
    view = view_of(opened)
    assert view["t1"] - view["t0"] < 1000


def test_keys_find_the_event_its_acknowledgement_and_its_copy(graph, opened):
    mark = graph.traces[0].marks["fast_retransmission"]
    opened.evaluate("() => globalThis.shown.lookAt(0, 1e8)")
    opened.locator("#graph").focus()
    opened.keyboard.press("n")
    opened.wait_for_timeout(100)
    told = opened.locator("#live").inner_text()
    assert f"frame {mark['frame'][0]:,}" in told
    assert "fast retransmission" in told
    numbers = opened.locator("#numbers").inner_text()
    assert f"frame {mark['proof'][0]:,}" in numbers
    opened.keyboard.press("r")
    opened.wait_for_timeout(100)
    assert f"frame {mark['proof'][0]:,}" in opened.locator("#live").inner_text()
    opened.keyboard.press("Escape")
    assert opened.locator("#numbers").is_hidden()


def test_hover_tells_the_numbers_of_a_segment(graph, opened):
    data = graph.traces[0].series["data"]
    index = 5000
    t = float(data["t"][index])
    opened.evaluate("t => globalThis.shown.lookAt(t - 5e5, t + 5e5)", t)
    opened.wait_for_timeout(100)
    x, y = opened.evaluate(
        """([t, value]) => {
            const page = globalThis.shown, panel = page.placed[0];
            const { left, top } = document.getElementById("graph").getBoundingClientRect();
            return [left + panel.atX(page.view, t), top + panel.atY(value)];
        }""",
        [t, float(data["lo"][index] + data["hi"][index]) / 2],
    )
    opened.mouse.move(x, y)
    opened.wait_for_timeout(100)
    told = opened.locator("#numbers").inner_text()
    assert f"{data['frame'][index]:,}" in told
    assert f"{data['lo'][index] + 1:,} to {data['hi'][index]:,}" in told
    assert "acknowledged" in told


def test_legend_hides_and_theme_turns(opened):
    drawn = "() => globalThis.shown.sceneOf(globalThis.shown.view, 900, 600).map(m => m.what)"
    assert "edge" in opened.evaluate(drawn)
    opened.get_by_role("button", name="receiver window").click()
    assert "edge" not in opened.evaluate(drawn)
    paper = "() => getComputedStyle(document.documentElement).backgroundColor"
    before = opened.evaluate(paper)
    opened.locator("#theme").click()
    assert opened.evaluate(paper) != before


def test_words_and_tables_stand_for_the_picture(graph, opened):
    opened.get_by_text("In words and tables").click()
    text = opened.locator("#tables").inner_text()
    assert "What limited it when" in text
    assert f"{graph.traces[0].marks['fast_retransmission']['frame'][0]:,}" in text
    assert opened.locator("#graph").get_attribute("aria-describedby") == "words"


def test_two_flows_are_compared(browser, graph, tmp_path):
    from tcpwhy.graph import Graph

    both = Graph([graph.traces[0], graph.traces[0]], compare=1)
    watched = graph_page(browser, both, tmp_path / "both.html")
    colours = watched.page.evaluate("() => shown.sceneOf(shown.view, 900, 600).map(m => m.colour)")
    assert {"other", "data"} <= set(colours)
    mine = [mark["colour"] for mark in both.scene(View(0.0, 1e9), 900, 600)]
    assert {"other", "data"} <= set(mine)
    assert watched.complaints == []


def test_policy_forbids_the_network(graph):
    html = graph.html()
    assert "default-src 'none'" in html
    assert "http://" not in html.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in html
    json.loads(html.split('id="data">')[1].split("</script>")[0])
