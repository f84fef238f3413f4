"""What speaks for the answer of a direction: of one interval, what spoke for that interval."""

from pathlib import Path

import pyarrow as pa
import pytest

import tcpwhy

DATA = Path(__file__).parent / "data"
HALF = ("flow_id", "direction")


@pytest.mark.parametrize("name", ["mirror_bridge", "mirror_router", "offload"])
def test_a_direction_of_one_interval_has_the_argument_of_that_interval(name):
    run = tcpwhy.analyze(DATA / f"{name}.pcap", table=("flows", "intervals"), workers=1)
    flows, intervals = (
        [row for batch in run.batches_of(table) for row in pa.record_batch(batch).to_pylist()]
        for table in ("flows", "intervals")
    )
    judged = {}
    for row in intervals:
        if row["limitation"]:
            judged.setdefault(tuple(row[key] for key in HALF), []).append(row)
    alone = [
        (flow, *judged[half])
        for flow in flows
        if len(judged.get(half := tuple(flow[key] for key in HALF), [])) == 1 and flow["speaks_for"]
    ]
    assert alone
    for flow, interval in alone:
        for column in ("limitation", "speaks_for", "speaks_against"):
            assert flow[column] == interval[column]
