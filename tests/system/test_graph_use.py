"""The page of a graph in use: both directions, two flows, every key, light and dark, print."""

import subprocess

import pytest
from browser import CONTRAST, graph_page

from tcpwhy.graph import draw

TWO_WAYS = """
title = "Two flows over a link that loses; in the second one both ends send"
seed = 11
duration_s = 6
[hosts.S]
[hosts.D]
[links.wan]
forward = [
    { bernoulli.loss = 0.01 },
    { rate = { rate_bps = 10_000_000, queue.drop_tail.limit_packets = 100 } },
    { delay.delay_ms = 20 },
]
backward = [{ delay.delay_ms = 20 }]
[[flows]]
from = "S"
to = "D"
path = ["wan"]
workload.bulk = {}
tcp = { controller = "cubic" }
[[flows]]
from = "S"
to = "D"
path = ["wan"]
workload.request_response = { request_bytes = 30_000, response_bytes = 60_000, think_ms = 50 }
"""


@pytest.fixture(scope="module")
def shared_link(tmp_path_factory):
    """Simulate two flows; give the capture at the sender, and the flows in order."""
    from tcpwhy import analyze, simulate

    folder = tmp_path_factory.mktemp("two")
    path = folder / "two.toml"
    path.write_text(TWO_WAYS)
    run = simulate(path, table="truth", captures=folder)
    for _ in run.batches():
        pass
    capture = run.captures["sender"]
    query = "SELECT flow_id FROM flows WHERE direction = 'orig' ORDER BY src_port"
    flows = [row[0] for row in analyze(capture).to_duckdb().execute(query).fetchall()]
    return capture, flows


@pytest.fixture
def two(browser, shared_link, tmp_path):
    capture, flows = shared_link
    watched = graph_page(browser, draw(capture, flow=flows[:2]), tmp_path / "two.html")
    yield watched.page
    assert watched.complaints == []
    assert len(watched.requests) == 1
    watched.page.close()


COLOURS = """() => [...new Set(shown.sceneOf(shown.view, 900, 600)
    .filter(m => ["data", "ack"].includes(m.what)).map(m => m.colour))].sort()"""


def test_two_flows_lie_over_each_other_until_one_is_taken_away(two):
    assert two.evaluate(COLOURS) == ["ack", "data", "other", "other_ack"]
    assert " beside " in two.locator("h1").inner_text()
    assert two.locator("#legend", has_text="beside").count() == 1
    two.locator("#compare").select_option("")
    assert two.evaluate(COLOURS) == ["ack", "data"]
    two.locator("#compare").select_option(index=2)
    assert two.evaluate(COLOURS) == ["ack", "data", "other", "other_ack"]
    # Looked at alone, the other one has its own colours and its own words.
    first = two.locator("#summary").inner_text()
    assert two.locator("#graph").get_attribute("aria-label") == two.locator("h1").inner_text()
    two.get_by_label("Sender").select_option(index=1)
    assert two.evaluate(COLOURS) == ["ack", "data"]
    assert two.locator("#summary").inner_text() != first


def test_both_directions_are_looked_at(browser, shared_link, tmp_path):
    capture, flows = shared_link
    graph = draw(capture, flow=flows[1])
    assert [trace.half.direction for trace in graph.traces] == ["resp", "orig"]
    page = graph_page(browser, graph, tmp_path / "both.html").page
    page.locator("#graph").focus()
    labels, counts = [page.locator("h1").inner_text()], []
    for _ in range(2):
        counts.append(page.evaluate("() => shown.trace.series.data.t.length"))
        page.keyboard.press("d")
        page.wait_for_timeout(60)
        labels.append(page.locator("h1").inner_text())
    assert labels[0] == labels[2] != labels[1]
    assert counts == [len(trace.series["data"]["t"]) for trace in graph.traces]
    ends = labels[0].split(" → ")
    assert labels[1].split(" → ") == ends[::-1]
    page.locator("#compare").select_option(index=2)
    assert page.evaluate(COLOURS) == ["ack", "data", "other", "other_ack"]
    page.close()


def test_a_retransmission_is_followed_to_its_first_copy_and_its_acknowledgement(
    browser, shared_link, tmp_path
):
    capture, flows = shared_link
    graph = draw(capture, flow=flows[0])
    trace = graph.traces[0]
    page = graph_page(browser, graph, tmp_path / "again.html").page
    mark, data = trace.marks["fast_retransmission"], trace.series["data"]
    again, low, high = (int(mark[name][0]) for name in ("frame", "y0", "y1"))
    copy = int(data["frame"][(data["lo"] <= low) & (data["hi"] >= high)][0])
    ack = trace.series["ack"]
    known = (ack["v"] >= high) & (ack["t"] >= mark["t"][0])
    answer, at = int(ack["frame"][known][0]), float(ack["t"][known][0])
    page.evaluate("() => shown.lookAt(0, 1e6)")
    page.locator("#graph").focus()
    page.keyboard.press("n")
    page.wait_for_timeout(60)
    told = page.locator("#numbers").inner_text()
    assert f"{again:,}" in told
    assert f"frame {copy:,}" in told
    assert f"by frame {answer:,}" in told
    page.keyboard.press("a")
    page.wait_for_timeout(60)
    view = page.evaluate("() => shown.view")
    assert view["t0"] < at < view["t1"]
    page.keyboard.press("r")
    page.wait_for_timeout(60)
    assert f"frame {copy:,}" in page.locator("#live").inner_text()
    page.close()


KEYS = {
    "ArrowUp": lambda a, b: b[1] - b[0] < a[1] - a[0],
    "+": lambda a, b: b[1] - b[0] < a[1] - a[0],
    "ArrowDown": lambda a, b: b[1] - b[0] > a[1] - a[0],
    "-": lambda a, b: b[1] - b[0] > a[1] - a[0],
    "ArrowRight": lambda a, b: b[0] > a[0] and b[1] > a[1],
    "ArrowLeft": lambda a, b: b[0] < a[0] and b[1] < a[1],
    "Shift+ArrowRight": lambda a, b: b[0] > a[0] + 0.4 * (a[1] - a[0]),
    "0": lambda a, b: b[1] - b[0] > 5e9,
    "Home": lambda a, b: b[1] - b[0] > 5e9,
}


def test_every_key_does_what_the_page_says(two):
    two.keyboard.press("Tab")
    for _ in range(30):
        if two.evaluate("document.activeElement.id") == "graph":
            break
        two.keyboard.press("Tab")
    assert two.evaluate("document.activeElement.id") == "graph", "reached without a pointer"
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert two.evaluate(outline) != "none"
    span = "() => [shown.view.t0, shown.view.t1]"
    for key, holds in KEYS.items():
        two.evaluate("() => shown.lookAt(2e9, 3e9)")
        before = two.evaluate(span)
        two.keyboard.press(key)
        two.wait_for_timeout(40)
        assert holds(before, two.evaluate(span)), key
    told = two.locator("details", has_text="Keys and mouse").inner_html()
    for key in "npardt":
        assert f"<kbd>{key}</kbd>" in told, key


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_follows_the_system_and_its_text_can_be_read(
    browser, shared_link, tmp_path, scheme
):
    capture, flows = shared_link
    graph = draw(capture, flow=flows[0])
    watched = graph_page(browser, graph, tmp_path / "g.html", color_scheme=scheme)
    page = watched.page
    corner = """() => [...document.getElementById("graph").getContext("2d")
        .getImageData(2, 2, 1, 1).data.slice(0, 3)]"""
    is_light = sum(page.evaluate(corner)) > 3 * 128
    assert is_light == (scheme == "light")
    for summary in page.locator("summary").all():
        summary.click()
    assert page.evaluate(CONTRAST) == []
    unnamed = """[...document.querySelectorAll("button, select, canvas")].filter(e =>
        !(e.getAttribute("aria-label") || e.textContent.trim() || e.labels?.length)).length"""
    assert page.evaluate(unnamed) == 0
    page.keyboard.press("Escape")
    page.locator("#graph").focus()
    page.keyboard.press("t")
    page.wait_for_timeout(80)
    assert (sum(page.evaluate(corner)) > 3 * 128) != is_light
    # Reading the picture back is what this test does, not the page.
    assert [text for text in watched.complaints if "getImageData" not in text] == []
    page.close()


def test_a_dark_page_prints_light_and_whole(browser, shared_link, tool, tmp_path):
    convert = tool("pdftoppm")
    capture, flows = shared_link
    graph = draw(capture, flow=flows[0])
    page = graph_page(browser, graph, tmp_path / "g.html", color_scheme="dark").page
    page.pdf(path=tmp_path / "g.pdf", format="A4", landscape=True, print_background=True)
    corner = """() => [...document.getElementById("graph").getContext("2d")
        .getImageData(2, 2, 1, 1).data.slice(0, 3)]"""
    page.wait_for_timeout(100)
    assert sum(page.evaluate(corner)) < 3 * 128, "the page itself is dark again"
    page.close()
    subprocess.run([convert, "-r", "50", "-f", "1", "-l", "1", tmp_path / "g.pdf", tmp_path / "p"])
    (picture,) = tmp_path.glob("p*.ppm")
    head, size, _, pixels = picture.read_bytes().split(b"\n", 3)
    assert head == b"P6"
    width, height = map(int, size.split())
    found = [tuple(pixels[at : at + 3]) for at in range(0, 3 * width * height, 3)]
    light = sum(sum(pixel) > 3 * 200 for pixel in found) / len(found)
    blue = sum(pixel[2] > pixel[0] + 60 for pixel in found)
    assert light > 0.8, "paper is light"
    assert blue > 30, "the graph is there"
