"""The dashboard in a real browser: click, filter, read, follow; nothing is asked elsewhere."""

import re
import time

import pytest
from browser import CONTRAST, analysed, opened, served

from tcpwhy.sinks.store import Sink

pytest.importorskip("starlette", reason="the dashboard needs the extra web")
pytest.importorskip("uvicorn", reason="the dashboard needs the extra web")

CAPTURES = ("slow_reader", "receiver_window", "application", "bulk_tbf_middle", "loss_middle")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return analysed(tmp_path_factory.mktemp("store") / "lab", *CAPTURES)


@pytest.fixture(scope="module")
def link(store):
    with served(store) as found:
        yield found


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 420])
def test_every_view_is_readable_and_keeps_to_itself(browser, link, scheme, width):
    seen = opened(browser, link, width=width, scheme=scheme)
    web = seen.page
    for name in ("Overview", "Flows", "Compare", "SQL"):
        web.get_by_role("link", name=name, exact=True).click()
        web.locator("main[aria-busy=false] h1").wait_for()
        assert web.evaluate("document.documentElement.scrollWidth") <= width, name
        assert web.evaluate(CONTRAST) == [], name
        assert web.locator(".error").all_inner_texts() == [], name
    assert seen.complaints == []
    assert {address.split("/")[2] for address in seen.requests} == {link.split("/")[2]}


def test_from_the_overview_to_the_argument_of_a_flow(browser, link):
    web = opened(browser, link).page
    row = web.locator("section", has_text="Where the time").get_by_role("link", name="slow reader")
    row.click()
    web.wait_for_url("**/flows?limitation=receiver_window")
    chip = web.get_by_role("button", name="the receiver's window", exact=True)
    assert chip.get_attribute("aria-pressed") == "true"
    # The link can be sent: it shows the same again.
    web.reload()
    web.locator("td.pair a").first.wait_for()
    assert web.locator("td.pair").count() == 2
    web.get_by_role("link", name="192.0.2.10:60924").click()
    web.locator("h1", has_text="192.0.2.10:60924 → 198.51.100.20:5001").wait_for()
    text = web.locator("main").inner_text()
    assert "Limited by" in text
    assert "let the application on 198.51.100.20 read faster" in text.lower()
    assert web.locator("svg.timeline rect").count() >= 3
    web.go_back()
    web.wait_for_url("**/flows?limitation=receiver_window")


def test_search_sort_and_reset(browser, link):
    web = opened(browser, f"{link}flows").page
    search = web.get_by_label("Search", exact=True)
    search.fill("192.0.2.10:48028")
    search.press("Enter")
    web.wait_for_url("**q=192.0.2.10*")
    web.locator("main[aria-busy=false]", has_text="random loss").wait_for()
    assert web.locator("td.pair").count() == 1
    web.get_by_label("Search", exact=True).fill("")
    web.get_by_role("button", name="Search").click()
    web.get_by_role("button", name="bytes", exact=True).click()
    web.wait_for_url("**sort=bytes*")
    web.locator("th[aria-sort=descending]", has_text="bytes").wait_for()
    web.get_by_role("button", name="bytes", exact=True).click()
    web.wait_for_url("**order=asc*")
    web.locator("th[aria-sort=ascending]", has_text="bytes").wait_for()


def test_the_list_of_flows_fits_a_telephone(browser, link):
    """Who sends, what limits, how fast: no column is cut; the bytes stand with the addresses."""
    web = opened(browser, f"{link}flows", width=420).page
    listed = web.get_by_role("region", name="Flows")
    listed.wait_for()
    assert listed.evaluate("box => box.scrollWidth <= box.clientWidth")
    assert "MB" in listed.locator("tbody td.pair").first.inner_text()
    assert "bit/s" in listed.locator("tbody tr").first.inner_text()


def test_a_range_is_chosen_by_dragging_and_by_keyboard(browser, link):
    web = opened(browser, link).page
    chart = web.locator("#over-time svg")
    chart.wait_for()
    box = chart.bounding_box()
    web.mouse.move(box["x"] + 120, box["y"] + 90)
    web.mouse.down()
    web.mouse.move(box["x"] + 300, box["y"] + 90, steps=4)
    web.mouse.up()
    web.wait_for_url(re.compile(r"from=\d+&to=\d+"))
    web.locator("main[aria-busy=false] form.row").wait_for()
    first = web.get_by_label("from, UTC")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", first.input_value())
    web.get_by_label("Range of time").select_option("")
    web.wait_for_url(re.compile(r"/$|/\?$"))


def test_a_question_of_ones_own_and_its_file(browser, link):
    web = opened(browser, f"{link}sql").page
    field = web.get_by_label("Question in SQL")
    field.fill("SELECT count(*) AS directions FROM flows WHERE limitation IS NOT NULL")
    field.press("Control+Enter")
    web.locator("th", has_text="directions").wait_for()
    assert int(web.locator("section td").first.inner_text()) >= len(CAPTURES)
    with web.expect_download() as download:
        web.get_by_role("link", name="CSV").click()
    assert download.value.path().read_text().startswith("directions\n")
    web.get_by_label("Question in SQL").fill("DROP VIEW flows")
    web.get_by_role("button", name="Ask").click()
    web.get_by_role("alert").wait_for()
    assert "only read" in web.get_by_role("alert").inner_text()


def test_every_view_is_reached_by_keyboard(browser, link):
    web = opened(browser, link).page
    web.locator("main[aria-busy=false]").wait_for()
    names = []
    for _ in range(8):
        web.keyboard.press("Tab")
        names.append(web.evaluate("document.activeElement.textContent.trim()"))
        outline = web.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none"
    assert names[0] == "To the content"
    assert names[2:6] == ["Overview", "Flows", "Compare", "SQL"]
    unnamed = """[...document.querySelectorAll("button, input, select, textarea, svg[role=img]")]
        .filter((e) => !(e.getAttribute("aria-label") || e.textContent.trim() || e.title))
        .map((e) => e.outerHTML)"""
    assert web.evaluate(unnamed) == []


def test_the_theme_is_kept(browser, link):
    web = opened(browser, link, scheme="light").page
    web.locator("main[aria-busy=false]").wait_for()
    ground = "getComputedStyle(document.body).backgroundColor"
    light = web.evaluate(ground)
    web.get_by_label("Light or dark").click()
    dark = web.evaluate(ground)
    assert light != dark
    web.reload()
    assert web.evaluate(ground) == dark


def test_pages_follow_a_store_that_grows(browser, tmp_path, batch_of):
    def grow(n):
        at = 1_800_000_000 * 10**9 + n * 3 * 10**9
        known = {"flow_id": n, "direction": "orig", "data_packets": 9, "unique_bytes": 1000}
        ends = {"start_ns": at, "end_ns": at + 10**9}
        sink = Sink(str(tmp_path / "s"), ("flows", "intervals", "periods"))
        sink.write("flows", batch_of("flows", known | ends | {"limitation": "policer"}))
        sink.write("intervals", batch_of("intervals", known | ends | {"limitation": "policer"}))
        sink.close()

    grow(1)
    with served(tmp_path / "s") as link:
        web = opened(browser, link).page
        tile = web.locator(".tile", has_text="connections").locator("b")
        tile.get_by_text("1", exact=True).wait_for()
        grow(2)
        tile.get_by_text("2", exact=True).wait_for(timeout=30_000)


def test_a_token_opens_the_dashboard_once(browser, store, tmp_path):
    file = tmp_path / "token"
    file.write_text("0123456789 is a token\n")
    with served(store, "--token-file", file) as link:
        base = link.split("login")[0]
        seen = opened(browser, base)
        web = seen.page
        web.get_by_label("Token").fill("0123456789 is a token")
        web.get_by_role("button", name="Open").click()
        web.locator("h1", has_text="What limits this link").wait_for()
        assert "token" not in web.url


def test_a_dashboard_that_cannot_be_is_refused(tcpwhy, tmp_path, store):
    short = tmp_path / "short"
    short.write_text("abc")
    for arguments in (
        (),
        (tmp_path / "nothing",),
        (store, "--certificate", short),
        (store, "--token-file", short),
        (store, "--host", "192.0.2.1"),
    ):
        done = tcpwhy("serve", *arguments)
        assert done.returncode in (2, 3)
        assert done.stderr.strip().count("\n") == 0


def test_the_version_of_a_store_changes_with_its_files(store):
    from tcpwhy.web.reader import Reader

    reader = Reader(store)
    before = reader.version()
    assert reader.version() == before
    part = next(part for part in store.glob("flows/*/*.parquet") if part.stat().st_size)
    content = part.read_bytes()
    time.sleep(0.01)
    part.write_bytes(content)
    assert reader.version() != before
