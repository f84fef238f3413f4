"""What is written about the code is true."""

import re

import reference
from tcpwhy import _core


def test_reference_is_current():
    assert reference.stale() == [], "run: make docs"


def test_every_column_and_counter_has_a_meaning():
    columns = [(t, name, doc) for t, columns in _core.schemas() for name, _, _, doc in columns]
    assert [(t, name) for t, name, doc in columns if not doc.endswith(".")] == []
    assert [name for name, doc in _core.counters() if not doc.endswith(".")] == []


def test_units_stand_at_the_end_of_names():
    """A name that tells a quantity says its unit, and says it last."""
    names = {name for _, columns in _core.schemas() for name, *_ in columns}
    confused = [n for n in names if re.search(r"_(ns|bytes|bps|segs|pps)_", n)]
    assert [n for n in confused if not n.startswith("unique_bytes")] == []
