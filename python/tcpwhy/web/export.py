"""Rows as files: what a page shows, whole, as CSV or Parquet."""

import tempfile
from pathlib import Path
from typing import Any

from starlette.background import BackgroundTask
from starlette.responses import FileResponse

from tcpwhy._core import UsageError
from tcpwhy.store.files import write_answer
from tcpwhy.web.reader import Reader
from tcpwhy.web.rollup import Rollup
from tcpwhy.web.slices import sliced

MOST_ROWS = 1_000_000
"""Of a file; `tcpwhy query` has no such bound."""

LIMIT_S = 60.0

TYPES = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}


def export(
    reader: Reader, query: str, parameters: dict[str, Any], *, name: str, format: str
) -> FileResponse:
    """Write the answer of a question of ours into a file, and send it."""
    if format not in TYPES:
        raise UsageError(f"no format {format!r}: there are {', '.join(TYPES)}")
    with reader.cursor(LIMIT_S) as cursor:
        relation = cursor.sql(query, params=parameters) if parameters else cursor.sql(query)
        return _sent(relation, name, format)


def export_free(reader: Reader, query: str, *, name: str, format: str) -> FileResponse:
    """The same for a question of somebody else."""
    if format not in TYPES:
        raise UsageError(f"no format {format!r}: there are {', '.join(TYPES)}")
    with reader.selected(query, limit_s=LIMIT_S) as relation:
        return _sent(relation, name, format)


def export_sliced(
    reader: Reader, rollup: Rollup, question: str, *, name: str, format: str
) -> FileResponse:
    """The same for a stored question that is asked for one span of time after another."""
    if format not in TYPES:
        raise UsageError(f"no format {format!r}: there are {', '.join(TYPES)}")
    with sliced(reader, rollup, question, most=MOST_ROWS, limit_s=LIMIT_S) as relation:
        return _sent(relation, name, format)


def _sent(relation: Any, name: str, format: str) -> FileResponse:
    folder = tempfile.TemporaryDirectory(prefix="tcpwhy-")
    try:
        path = Path(folder.name, f"{name}.{format}")
        write_answer(relation.limit(MOST_ROWS), path, format=format)
    except BaseException:
        folder.cleanup()
        raise
    return FileResponse(
        path,
        media_type=TYPES[format],
        filename=path.name,
        background=BackgroundTask(folder.cleanup),
    )
