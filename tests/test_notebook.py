"""A result in a notebook, and an argument as a page: what they show is what the tables say."""

import re
from base64 import b64decode
from xml.etree import ElementTree

import pytest

from tcpwhy import UsageError, analyze
from tcpwhy.explain.connection import explain_connection
from tcpwhy.report.palette import known

pytest.importorskip("altair", reason="charts need the extra plot")
pytest.importorskip("numpy", reason="a graph is made of numpy's columns")

SLOW = "tests/data/slow_reader.pcap"
MANY = [f"tests/data/{name}.pcap" for name in ("slow_reader", "application", "loss_middle")]


def pictures(html):
    """Give the images of a page as documents."""
    found = re.findall(r'src="data:image/svg\+xml;base64,([^"]*)"', html)
    return [ElementTree.fromstring(b64decode(text)) for text in found]


def test_a_result_shows_its_flows_its_charts_and_its_graph():
    html = analyze(SLOW, table=("flows", "intervals"))._repr_html_()
    assert "192.0.2.10:60924 → 198.51.100.20:5001" in html
    assert "the receiver&#x27;s window" in html or "the receiver's window" in html
    assert known("receiver_window").light in html
    assert "22.2 Mbit/s" in html
    assert "Goodput over time by limitation" in html
    (graph,) = pictures(html)
    assert graph.tag.endswith("svg")
    assert not re.search(r"<(script|style|link)\b", re.sub(r'src="data:[^"]*"', "", html))


def test_of_several_captures_there_are_charts_but_no_graph():
    html = analyze(MANY)._repr_html_()
    assert html.count("<svg") > len(MANY)
    assert "Cumulative distribution: Throughput" in html
    assert pictures(html) == []


def test_a_result_that_was_read_or_has_no_flows_says_no_more_than_it_has():
    read = analyze(SLOW)
    assert [table for table, _ in read.batches()]
    assert read._repr_html_() is None
    html = analyze(SLOW, table="intervals")._repr_html_()
    assert re.fullmatch(r"<p>tcpwhy: [1-9]\d* intervals\.</p>", html)


def test_an_argument_shows_its_graph():
    html = explain_connection(SLOW)._repr_html_()
    assert len(pictures(html)) == 1
    assert "it reads too slowly" in html
    assert "13 times as much" in html


def test_an_argument_is_a_page_with_its_graph(tcpwhy, tmp_path):
    path = tmp_path / "e.html"
    done = tcpwhy("explain", SLOW, "-o", path)
    assert (done.returncode, done.stdout) == (0, "")
    page = path.read_text()
    assert len(pictures(page)) == 1
    assert "<script" not in page
    assert "default-src &#x27;none&#x27;; script-src &#x27;none&#x27;" in page
    spoken = tcpwhy("explain", SLOW, "--format", "html").stdout
    assert spoken == page
    # The text says nothing else than it did.
    text = tcpwhy("explain", SLOW).stdout
    headline = text.split("\n")[0]
    assert headline in re.sub(r"<[^>]*>", "", page)
    assert tcpwhy("explain", SLOW, "-o", tmp_path / "e.txt").returncode == 0
    assert (tmp_path / "e.txt").read_text() == text


def test_without_segments_an_argument_has_no_picture_of_them(tcpwhy, tmp_path):
    store = tmp_path / "store"
    assert tcpwhy("analyze", SLOW, "-o", f"{store}/").returncode == 0
    page = tcpwhy("explain", store, "--format", "html").stdout
    assert "Limited by" in page
    (graph,) = pictures(page)
    assert "The segments were not kept" in "".join(graph.itertext())


def test_a_frame_has_no_page(tcpwhy, tmp_path):
    done = tcpwhy("explain", SLOW, "--frame", "4", "-o", tmp_path / "f.html")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert not list(tmp_path.iterdir())


def test_a_graph_of_nothing_is_refused():
    with pytest.raises(UsageError, match="no flow"):
        explain_connection(SLOW, flow=1)


def test_a_result_says_what_it_is_of():
    assert repr(analyze(SLOW)) == f"<tcpwhy.Result of {SLOW}: flows>"
