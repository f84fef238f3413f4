"""The dashboard's addresses: pages, answers as JSON, files, events."""

import json
import math
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from tcpwhy import _core
from tcpwhy._core import TcpwhyError, UsageError
from tcpwhy.graph.palette import THEMES
from tcpwhy.report.palette import NONE, limits, style
from tcpwhy.store import questions
from tcpwhy.web import compare, export, flow, flows, overview
from tcpwhy.web.events import MOST_LISTENERS, Watch
from tcpwhy.web.guard import INLINE, Guard
from tcpwhy.web.overview import Range
from tcpwhy.web.reader import BusyError, Reader, TooLongError, answered
from tcpwhy.web.rollup import Rollup
from tcpwhy.web.slices import SLICED, sliced

STATIC = Path(__file__).parent / "static"

SQL_ROWS = 1000
"""Of a question of one's own, on the page."""

SQL_CHARACTERS = 20_000

MOST_SECONDS = 60
"""For which a flow is watched to be drawn."""

KEPT, KEPT_BYTES = 64, 200_000
"""Answers that are kept by an address, and how large each may be: 13 MB in all."""

PAGES = ("/", "/flows", "/flow/{flow_id}", "/compare", "/sql")
"""Addresses of views: all give the same page, whose script draws the view."""


class Dashboard:
    """Answers requests about a store."""

    def __init__(self, path: Path, live: str | None = None) -> None:
        self.live = live
        self.reader = Reader(path)
        self.rollup = Rollup(self.reader)
        self.watch = Watch(self.reader, self.rollup)
        self.name = f"{live}, live" if live else path.resolve().name
        self._flows_span: tuple[int, int | None, int | None] | None = None

    def close(self) -> None:
        """End what is being asked, and look at the store no more."""
        self.watch.stop()
        self.reader.close()
        self.watch.close()

    def span(self, request: Request, suffix: str = "") -> Range:
        """Read the range of time of a request; all that there is unless it says so."""
        whole = self.whole_ns() or (0, 1)
        given = request.query_params
        begin, end = (given.get(f"{name}{suffix}") for name in ("from", "to"))
        if last := given.get(f"last{suffix}"):
            return Range(max(whole[0], whole[1] + 1 - _whole(last, "last") * 10**9), whole[1] + 1)
        first_ns = _whole(begin, "from") * 10**6 if begin else whole[0]
        last_ns = _whole(end, "to") * 10**6 if end else whole[1] + 1
        if last_ns <= first_ns:
            raise UsageError("the range ends before it begins")
        return Range(first_ns, last_ns)

    def whole_ns(self) -> tuple[int, int] | None:
        """Give the times of the first and of the last packet that the store has."""
        version = self.reader.version()
        if self._flows_span is None or self._flows_span[0] != version:
            ends = self.reader.ask("SELECT min(start_ns) AS a, max(end_ns) AS b FROM flows")[0]
            self._flows_span = version, ends["a"], ends["b"]
        # Of a flow that goes on there are only intervals, of a store without them only flows.
        _, begin, end = self._flows_span
        spans = [] if begin is None or end is None else [(begin, end)]
        spans += [span for span in (self.rollup.span_ns(),) if span]
        return (min(a for a, _ in spans), max(b for _, b in spans)) if spans else None

    def standing(self) -> object:
        """Give what changes with the store, and with how much of it is summed up."""
        return self.reader.version(), self.rollup.done

    def state(self) -> dict[str, object]:
        """Say what the store has."""
        span = self.whole_ns()
        ends = (None, None) if span is None else (span[0] // 10**6, -(-span[1] // 10**6))
        return self.watch.state() | {"from_ms": ends[0], "to_ms": ends[1]}

    def meta(self, request: Request) -> object:
        """Give what every view needs: words, what the store has, stored questions."""
        tables = {name: [column[0] for column in columns] for name, columns in _core.schemas()}
        return {
            "name": self.name,
            "version": _core.__version__,
            "limits": [{"word": one.word, "plain": one.plain} for one in (*limits(), NONE)],
            "questions": questions(),
            "tables": {name: tables[name] for name in ("flows", "intervals", "periods")},
            "store": self.state(),
            "live": self.live,
        }

    def overview(self, request: Request) -> object:
        """Sum up a range."""
        span = self.span(request)
        found = overview.sums(self.reader, self.rollup, span)
        bins = {name: overview.histogram(self.reader, name, span) for name in overview.QUANTITIES}
        return {
            "from_ms": span.begin_ns // 10**6,
            "to_ms": -(-span.end_ns // 10**6),
            "step_ms": found.step_ns // 10**6,
            "columns": [(at // 10**6, word, time, size) for at, word, time, size in found.columns],
            "shares": found.shares,
            "counts": overview.counts(self.reader, span) | overview.medians(bins),
            "gains": overview.gains(self.reader, span),
            "now": self._now(request),
            "done": self.rollup.done,
        }

    def _now(self, request: Request) -> list[dict[str, Any]]:
        """List who sends now, of a link that is watched and of no range that has ended."""
        last = self.rollup.span_ns()
        if self.live is None or last is None or "to" in request.query_params:
            return []
        return overview.now(self.reader, last[1])

    def flows(self, request: Request) -> object:
        """Give a page of the list of flows."""
        return flows.page(self.reader, request.query_params, self.span(request))

    def flow(self, request: Request) -> object:
        """Give the page of a flow."""
        return flow.flow(self.reader, _whole(request.path_params["flow_id"], "a flow"))

    def graph(self, request: Request) -> Response:
        """Give the time-sequence graph of a flow, as a page or as a picture."""
        flow_id = _whole(request.path_params["flow_id"], "a flow")
        kind = "svg" if request.url.path.endswith(".svg") else "html"
        theme = request.query_params.get("theme", "auto")
        if theme not in (*THEMES, "auto"):
            raise UsageError(f"no theme {theme[:40]!r}: there are light, dark and auto")
        size = request.query_params.get("size", "")
        if size not in ("", "narrow"):
            raise UsageError(f"no size {size[:40]!r}: there is narrow")
        drawn = flow.graph(self.reader, flow_id, kind, theme, is_narrow=size == "narrow")
        media = "image/svg+xml" if kind == "svg" else "text/html; charset=utf-8"
        return Response(drawn, media_type=media, headers={"Content-Security-Policy": INLINE})

    def live_graph(self, request: Request) -> Response:
        """Watch the link for a flow, and give what passed as a graph."""
        if self.live is None:
            raise UsageError("no link is watched here: tcpwhy serve --live IFACE watches one")
        flow_id = _whole(request.path_params["flow_id"], "a flow")
        seconds = _whole(request.query_params.get("seconds", "10"), "seconds")
        if not 1 <= seconds <= MOST_SECONDS:
            raise UsageError(f"a link is watched for 1 to {MOST_SECONDS} seconds")
        drawn = flow.live_graph(self.reader, flow_id, self.live, seconds)
        return Response(
            drawn,
            media_type="text/html; charset=utf-8",
            headers={"Content-Security-Policy": INLINE, "Cache-Control": "no-store"},
        )

    def compare(self, request: Request) -> object:
        """Compare two ranges."""
        spans = (self.span(request, "_a"), self.span(request, "_b"))
        return compare.compare(self.reader, self.rollup, *spans)

    def sql(self, request: Request) -> object:
        """Answer a question of one's own."""
        question = _question(request)
        if question in SLICED:
            with sliced(self.reader, self.rollup, question, most=SQL_ROWS + 1) as relation:
                answer = answered(relation, SQL_ROWS)
        else:
            answer = self.reader.free(question, most=SQL_ROWS)
        rows = [[_plain(value) for value in row] for row in answer.rows]
        return {
            "names": answer.names,
            "types": answer.types,
            "rows": rows,
            "is_cut": answer.is_cut,
        }

    def file(self, request: Request) -> Response:
        """Give rows as a file."""
        what, _, format = request.path_params["name"].rpartition(".")
        if what == "sql":
            question = _question(request)
            if question in SLICED:
                return export.export_sliced(
                    self.reader, self.rollup, question, name=what, format=format
                )
            return export.export_free(self.reader, question, name=what, format=format)
        span = self.span(request)
        parameters: dict[str, object] = {}
        if what == "flows":
            where, parameters = flows.choice(request.query_params, span)
            query = f"FROM flows WHERE {where} ORDER BY start_ns, flow_id"
        elif what == "intervals" and (given := request.query_params.get("flow")):
            query = f"FROM intervals WHERE flow_id = {_whole(given, 'a flow')} ORDER BY start_ns"
        elif what == "shares":
            query = f"""SELECT limitation, cause, count(*) AS intervals,
                sum(end_ns - start_ns)::BIGINT AS time_ns, sum(unique_bytes)::BIGINT AS bytes
                FROM intervals WHERE {span.where} GROUP BY ALL ORDER BY time_ns DESC"""
        else:
            raise UsageError(f"no file {what!r}: there are flows, intervals, shares and sql")
        return export.export(self.reader, query, parameters, name=what, format=format)

    async def events(self, request: Request) -> Response:
        """Tell a page of changes."""
        if self.watch.listeners >= MOST_LISTENERS:
            raise HTTPException(503, "too many pages listen")
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(
            self.watch.events(self.state), media_type="text/event-stream", headers=headers
        )


def make(
    path: Path,
    *,
    token: str | None = None,
    hosts: Iterable[str] = (),
    is_secure: bool = False,
    live: str | None = None,
) -> Starlette:
    """Make the app of a store; with `live` it can watch that link for a flow."""
    dashboard = Dashboard(path, live)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        dashboard.watch.start()
        try:
            yield
        finally:
            dashboard.close()

    routes = [
        *(Route(address, _page) for address in PAGES),
        Route("/api/meta", _json(dashboard.meta)),
        Route("/api/sql", _json(dashboard.sql)),
        *(
            Route(f"/api/{name}", _json(getattr(dashboard, name), dashboard.standing))
            for name in ("overview", "flows", "compare")
        ),
        Route("/api/flow/{flow_id}", _json(dashboard.flow)),
        Route("/flow/{flow_id}/graph", _thread(dashboard.graph)),
        Route("/flow/{flow_id}/graph.svg", _thread(dashboard.graph)),
        Route("/flow/{flow_id}/graph/live", _thread(dashboard.live_graph)),
        Route("/api/events", dashboard.events),
        Route("/export/{name}", _thread(dashboard.file)),
        Route("/limits.css", _style),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    guard = Middleware(Guard, token=token, hosts=hosts, is_secure=is_secure)
    app = Starlette(routes=routes, middleware=[guard], lifespan=lifespan)
    app.state.dashboard = dashboard
    return app


def _json(
    answer: Callable[[Request], object], version: Callable[[], object] | None = None
) -> Callable[[Request], Any]:
    """Answer as JSON, in a thread: DuckDB blocks.

    With a `version`, what was answered is kept for as long as the store does not change.
    """
    kept: OrderedDict[tuple[object, str], Response] = OrderedDict()
    lock = threading.Lock()

    def work(request: Request) -> Response:
        key = (version() if version else None, str(request.url.query))
        with lock:
            if version and key in kept:
                kept.move_to_end(key)
                return kept[key]
        made = _Json(answer(request), headers={"Cache-Control": "no-store"})
        if version and len(made.body) <= KEPT_BYTES:
            with lock:
                kept[key] = made
                while len(kept) > KEPT:
                    kept.popitem(last=False)
        return made

    return _thread(work)


def _thread(work: Callable[[Request], Response]) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        try:
            return await run_in_threadpool(work, request)
        except TooLongError as error:
            return _Json({"error": str(error)}, 504)
        except BusyError as error:
            return _Json({"error": str(error)}, 503)
        except TcpwhyError as error:
            return _Json({"error": str(error)}, 400)

    return endpoint


class _Json(JSONResponse):
    """JSON as a browser reads it: 64 bits do not survive there, nor do NaN and infinity."""

    def render(self, content: Any) -> bytes:
        return json.dumps(_safe(content), ensure_ascii=False, separators=(",", ":")).encode()


def _safe(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: str(item) if name == "flow_id" else _safe(item) for name, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_safe(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _plain(value: Any) -> Any:
    """Give a value of any type of SQL as JSON has it; a number that it would change, as text."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**53 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return str(value)


def _question(request: Request) -> str:
    question = request.query_params.get("q", "").strip()
    if not question:
        raise UsageError("no question: write a SELECT statement")
    if len(question) > SQL_CHARACTERS:
        raise UsageError(f"a question has at most {SQL_CHARACTERS:,} characters")
    is_whole = question in questions() and question not in SLICED
    return f"FROM {question}" if is_whole else question


def _whole(text: str, name: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 20):
        raise UsageError(f"{name} is a whole number, not {text[:40]!r}")
    return int(text)


async def _page(request: Request) -> Response:
    return FileResponse(STATIC / "index.html", headers={"Cache-Control": "no-cache"})


async def _style(request: Request) -> Response:
    return Response(style(), media_type="text/css")
