"""The list of flows: searched, filtered, sorted and cut into pages by DuckDB."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from tcpwhy._core import UsageError
from tcpwhy.report.palette import limits
from tcpwhy.web.overview import Range
from tcpwhy.web.reader import Reader

PAGE_ROWS = 50

MOST_PAGES = 100
"""Beyond, a narrower question finds more than another page; and up to 5,000 rows DuckDB keeps the
first ones while it reads, where for more it sorts them all in memory."""

SORTS = {
    "weight": "unique_bytes::DOUBLE * (end_ns - start_ns)",
    "bytes": "unique_bytes",
    "start": "start_ns",
    "duration": "end_ns - start_ns",
    "throughput": "throughput_bps",
    "rtt": "rtt_mean_ns",
    "loss": "retransmitted_bytes / nullif(payload_bytes, 0)",
    "gain": "(1 - goodput_bps / headroom_bps) * (end_ns - start_ns)",
}
"""What the list can be sorted by; the first is that of slow and big transfers."""

COLUMNS = (
    "flow_id, direction, src, src_port, dst, dst_port, start_ns, end_ns, unique_bytes,"
    " throughput_bps, goodput_bps, rtt_mean_ns, rtt_min_ns, retransmitted_bytes, payload_bytes,"
    " capacity_bps, limitation, cause, confidence, null_reason, headroom_bps, next_limitation,"
    " evidence, remedy, community_id"
)


class Choice(NamedTuple):
    """Which flows are meant."""

    where: str
    parameters: dict[str, object]


def choice(given: Mapping[str, str], span: Range) -> Choice:
    """Read filters: `q` for words, limitation, confidence, port, least (bytes), all (empty too)."""
    parts, parameters = [span.where], dict[str, object]()

    def add(condition: str, **values: object) -> None:
        parts.append(condition)
        parameters.update(values)

    if given.get("all") != "1":
        add("data_packets > 0")
    words = [word for word in given.get("limitation", "").split(",") if word]
    known = {limit.word for limit in limits()} | {"none"}
    if not set(words) <= known:
        raise UsageError(f"no limitation {', '.join(sorted(set(words) - known))}")
    if words:
        add("list_contains($words, coalesce(limitation, 'none'))", words=words)
    if given.get("confidence"):
        add("confidence = $confidence", confidence=given["confidence"])
    if given.get("port"):
        add("(src_port = $port OR dst_port = $port)", port=_number(given["port"], "port"))
    if given.get("least"):
        add("unique_bytes >= $least", least=_number(given["least"], "least"))
    for number, word in enumerate(given.get("q", "").split()[:8]):
        condition, value = _word(word, f"q{number}")
        add(condition, **{f"q{number}": value})
    return Choice(" AND ".join(parts), parameters)


def _word(word: str, name: str) -> tuple[str, object]:
    """Read a word of a search: an identifier, host:port, :port, a part of an address or a limit."""
    if re.fullmatch(r"\d{6,20}", word):
        return f"flow_id = ${name}", min(int(word), 2**64 - 1)
    if word.startswith("1:"):
        return f"community_id = ${name}", word
    if match := re.fullmatch(r":(\d{1,5})", word):
        return f"(src_port = ${name} OR dst_port = ${name})", int(match[1])
    # An address of IPv6 has colons of its own: a port follows it only behind a bracket.
    if match := re.fullmatch(r"(?:([\d.]+)|\[([\da-fA-F.:]+)\]):(\d{1,5})", word):
        text = f"{match[1] or match[2]}:{int(match[3])}"
        ends = (f"{end} || ':' || {end}_port" for end in ("src", "dst"))
        return f"({' OR '.join(f'{end} = ${name}' for end in ends)})", text
    columns = ("src", "dst", "coalesce(cause, limitation, '')")
    found = " OR ".join(f"contains({column}, ${name})" for column in columns)
    return f"({found})", word.lower()


def page(reader: Reader, given: Mapping[str, str], span: Range) -> dict[str, Any]:
    """Give a page of the list, and how many rows it has in all."""
    chosen = choice(given, span)
    key = given.get("sort") or "weight"
    if key not in SORTS:
        raise UsageError(f"no order {key!r}: there are {', '.join(SORTS)}")
    order = "ASC" if given.get("order") == "asc" else "DESC"
    number = _number(given.get("page") or "1", "page")
    if not 1 <= number <= MOST_PAGES:
        raise UsageError(f"pages go from 1 to {MOST_PAGES:,}: narrow the filter")
    where, parameters = chosen
    # First only what decides, then the whole of a few rows: the texts are most of the bytes.
    found = reader.ask(
        f"""SELECT flow_id, direction, start_ns, {SORTS[key]} AS key FROM flows WHERE {where}
        ORDER BY key {order} NULLS LAST, flow_id, direction
        LIMIT {PAGE_ROWS} OFFSET {(number - 1) * PAGE_ROWS}""",
        parameters,
    )
    total = reader.ask(f"SELECT count(*) AS n FROM flows WHERE {where}", parameters)[0]["n"]
    rows = _whole(reader, found)
    sizes = {"page_rows": PAGE_ROWS, "most_pages": MOST_PAGES}
    return {"total": total, "page": number, **sizes, "rows": rows}


def _whole(reader: Reader, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give all columns of rows, in their order."""
    if not found:
        return []
    times = [row["start_ns"] for row in found]
    span = Range(min(times), max(times) + 1)
    ids = ", ".join(str(row["flow_id"]) for row in found)
    rows = reader.ask(f"SELECT {COLUMNS} FROM flows WHERE {span.where} AND flow_id IN ({ids})")
    by_key = {(row["flow_id"], row["direction"], row["start_ns"]): row for row in rows}
    keys = ((row["flow_id"], row["direction"], row["start_ns"]) for row in found)
    return [by_key[key] for key in keys if key in by_key]


def _number(text: str, name: str) -> int:
    if not re.fullmatch(r"\d{1,18}", text):
        raise UsageError(f"{name} is a whole number, not {text!r}")
    return int(text)
