"""A flow of a million segments: each column of pixels shows its data, and nothing rare is lost."""

import base64
import math

import numpy
import pytest
from browser import graph_page

from tcpwhy import simulate
from tcpwhy.graph import draw
from tcpwhy.graph.drawing import specification
from tcpwhy.graph.layout import panels

pytest.importorskip("vl_convert", reason="vl-convert-python renders pictures")

SEGMENTS = 1_000_000
WIDTH, HEIGHT = 1000, 620

SCENARIO = """
title = "A million segments, one of them lost"
seed = 5
duration_s = 12.3
[hosts.S]
[hosts.D]
[links.wan]
forward = [
    { drop_list = { packets = [600000], wire_bytes_min = 500 } },
    { rate = { rate_bps = 1_000_000_000, queue.drop_tail.limit_packets = 20_000 } },
    { delay.delay_ms = 5 },
]
backward = [{ delay.delay_ms = 5 }]
[[flows]]
from = "S"
to = "D"
path = ["wan"]
workload.bulk = {}
tcp = { controller = "cubic" }
"""

RED = """async ([address, x, y, width, height]) => {
    const image = new Image();
    image.src = address;
    await image.decode();
    const context = new OffscreenCanvas(width, height).getContext("2d");
    context.drawImage(image, 0, 0, width, height);
    const { data } = context.getImageData(x - 5, y - 5, 10, 10);
    let red = 0;
    for (let i = 0; i < data.length; i += 4)
        if (data[i] > 180 && data[i + 1] < 120 && data[i + 2] < 90) red++;
    return red;
}"""
"""Pixels in the colour of a retransmission around a place of a picture."""


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    folder = tmp_path_factory.mktemp("million")
    path = folder / "million.toml"
    path.write_text(SCENARIO)
    run = simulate(path, table="truth", captures=folder)
    for _ in run.batches():
        pass
    drawn = draw(run.captures["sender"])
    run.captures["sender"].unlink()
    assert len(drawn.traces[0].series["data"]["t"]) > SEGMENTS * 0.98
    return drawn


@pytest.fixture(scope="module")
def page(browser, graph, tmp_path_factory):
    """Open the page, in the size of the picture."""
    path = tmp_path_factory.mktemp("page") / "million.html"
    watched = graph_page(browser, graph, path, color_scheme="light")
    assert path.stat().st_size < 5e6
    watched.page.evaluate(
        """([width, height]) => {
            const canvas = document.getElementById("graph");
            [canvas.style.width, canvas.style.height] = [`${width}px`, `${height}px`];
            shown.paint();
        }""",
        [WIDTH, HEIGHT],
    )
    yield watched.page
    assert watched.complaints == []


def columns(marks, what):
    """Give the drawn columns of a series: x, lower end, upper end."""
    (data,) = [mark["data"] for mark in marks if mark["what"] == what and mark["op"] == "bars"]
    return numpy.array(data).reshape(-1, 3)


@pytest.mark.parametrize("seconds", [(None, None), (5.0, 9.0)])
def test_each_column_of_pixels_spans_the_bytes_sent_in_its_time(graph, page, seconds):
    trace = graph.traces[0]
    view = graph.view(*seconds)
    panel = panels(specification(), graph.shown, view, WIDTH, HEIGHT)[0]
    data = trace.series["data"]
    drawn = columns(graph.scene(view, WIDTH, HEIGHT), "data")
    theirs = page.evaluate(
        """([t0, t1, w, h]) =>
            shown.sceneOf({ t0, t1 }, w, h).filter(m => m.what === "data")[0].data""",
        [view.t0, view.t1, WIDTH, HEIGHT],
    )
    assert numpy.allclose(drawn.ravel(), theirs, atol=1e-3)
    at = {math.floor(x - panel.x): (bottom, top) for x, bottom, top in drawn}
    length = (view.t1 - view.t0) / panel.w
    seen = 0
    for column in range(int(panel.w)):
        begin, end = view.t0 + column * length, view.t0 + (column + 1) * length
        inside = (data["t"] >= begin) & (data["t"] < end)
        assert (column in at) == bool(inside.any()), column
        if not inside.any():
            continue
        seen += int(inside.sum())
        lowest, highest = data["lo"][inside].min(), data["hi"][inside].max()
        bottom, top = (panel.at_y(float(value)) for value in (lowest, highest))
        if bottom - top >= 1.5:
            assert at[column] == pytest.approx((bottom, top), abs=1e-6), column
        else:
            assert sum(at[column]) / 2 == pytest.approx((bottom + top) / 2, abs=1e-6), column
    within = (data["t"] >= view.t0) & (data["t"] < view.t1)
    assert seen == within.sum(), "every segment is in a column"


def test_one_retransmission_is_seen_in_every_format(graph, page):
    marks = graph.traces[0].marks["fast_retransmission"]
    assert len(marks["t"]) == 1
    view = graph.view()
    panel = panels(specification(), graph.shown, view, WIDTH, HEIGHT)[0]
    x = float(panel.at_x(view, float(marks["t"][0])))
    y = float(panel.at_y(float(marks["y0"][0] + marks["y1"][0]) / 2))
    picture = {"width": WIDTH, "height": HEIGHT, "titled": False}
    svg = graph.svg(**picture)
    height = float(svg.split('height="')[1].split('"')[0])
    shown = {
        "svg": f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}",
        "png": f"data:image/png;base64,{base64.b64encode(graph.png(scale=1, **picture)).decode()}",
        "html": page.evaluate("() => document.getElementById('graph').toDataURL()"),
    }
    # The page's own policy forbids even pictures: they are looked at in another one.
    other = page.context.browser.new_page()
    for name, address in shown.items():
        size = [WIDTH, HEIGHT if name == "html" else height]
        assert other.evaluate(RED, [address, x, y, *size]) > 15, name
        assert other.evaluate(RED, [address, x + 60, y, *size]) == 0, name
    other.close()


AGREE = """async ([one, other, width, height]) => {
    const blocks = async (address, whole) => {
        const image = new Image();
        image.src = address;
        await image.decode();
        const context = new OffscreenCanvas(width, whole).getContext("2d");
        context.drawImage(image, 0, 0, width, whole);
        const { data } = context.getImageData(0, 0, width, height);
        const found = [];
        for (let y = 0; y < height - 9; y += 10) for (let x = 0; x < width - 9; x += 10) {
            const sum = [0, 0, 0];
            for (let v = y; v < y + 10; v++) for (let u = x; u < x + 10; u++)
                for (let c = 0; c < 3; c++) sum[c] += data[4 * (v * width + u) + c] / 100;
            found.push(sum);
        }
        return found;
    };
    const [a, b] = [await blocks(...one), await blocks(...other)];
    return a.map((sum, i) => Math.max(...sum.map((value, c) => Math.abs(value - b[i][c]))));
}"""
"""How much blocks of ten by ten pixels of two pictures differ at most in a colour."""


@pytest.mark.parametrize("seconds", [(None, None), (6.9, 7.5), (7.0, 7.004)])
def test_the_png_the_svg_and_the_page_are_one_picture(graph, page, seconds):
    view = graph.view(*seconds)
    picture = {"view": view, "width": WIDTH, "height": HEIGHT, "titled": False}
    svg = graph.svg(**picture)
    height = float(svg.split('height="')[1].split('"')[0])
    page.evaluate("([t0, t1]) => { shown.view = { t0, t1 }; shown.paint(); }", [view.t0, view.t1])
    html = page.evaluate("() => document.getElementById('graph').toDataURL()")
    png = f"data:image/png;base64,{base64.b64encode(graph.png(scale=1, **picture)).decode()}"
    drawn = [f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}", height]
    other = page.context.browser.new_page()
    for name, address in {"html": [html, HEIGHT], "png": [png, height]}.items():
        differ = other.evaluate(AGREE, [drawn, address, WIDTH, HEIGHT])
        # Letters and the edges of lines are smoothed by each in its own way.
        far = sum(amount > 40 for amount in differ) / len(differ)
        assert far < 0.01, (name, far, max(differ))
    empty = [f"data:image/png;base64,{BLANK}", HEIGHT]
    blank = other.evaluate(AGREE, [drawn, empty, WIDTH, HEIGHT])
    assert sum(amount > 40 for amount in blank) / len(blank) > 0.02, "a difference would be seen"
    other.close()


BLANK = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8/5+hHgAHggJ"
    "/PchI7wAAAABJRU5ErkJggg=="
)
"""A picture of one pixel."""
