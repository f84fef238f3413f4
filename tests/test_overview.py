"""The view that a person sees first, against golden text."""

import pytest

from tcpwhy.sinks.table import Sink

SECOND = 10**9
START = 1_700_000_000 * SECOND

HALVES = [
    {
        "flow_id": 1,
        "src": "10.0.0.4",
        "src_port": 443,
        "dst": "192.168.100.200",
        "dst_port": 50123,
        "start_ns": START,
        "end_ns": START + 12_345_678_901,
        "data_packets": 1500,
        "unique_bytes": 2_100_000,
        "throughput_bps": 1_370_000.0,
        "rtt_mean_ns": 102_300_000,
        "limitation": "receiver_window",
        "cause": "receiver_window/buffer",
        "confidence": "high",
        "evidence": "flight reached the 65,535-byte window in 97 % of 2,340 samples; RTT 100 ms;"
        " no loss",
    },
    {
        "flow_id": 2,
        "src": "2001:db8::1234:5678:9abc:def0",
        "src_port": 22,
        "dst": "2001:db8:ffff:ffff:ffff:ffff:ffff:1",
        "dst_port": 61000,
        "start_ns": START,
        "end_ns": START + 700 * SECOND,
        "data_packets": 90_000,
        "unique_bytes": 123_456_789,
        "throughput_bps": 1_410_000.0,
        "rtt_mean_ns": 251_000,
        "limitation": "unshared_bottleneck",
        "dispersion_score": 0.0312,
        "retransmission_score": 0.0121,
        "rwnd_score": 0.0,
        "burstiness_score": 0.43,
        "capacity_bps": 1_460_000.0,
    },
    {
        "flow_id": 3,
        "src": "10.0.0.9",
        "src_port": 40000,
        "dst": "10.0.0.4",
        "dst_port": 80,
        "start_ns": START,
        "end_ns": START + SECOND // 10,
        "data_packets": 2,
        "unique_bytes": 500,
        "null_reason": "fewer than 300 data packets",
    },
    {"flow_id": 3, "direction": "resp", "src": "10.0.0.4", "dst": "10.0.0.9"},
]

COUNTERS = {
    "packets_read": 95_210,
    "packets_tcp": 95_000,
    "packets_not_tcp": 200,
    "flows": 3,
    "flows_with_verdict": 2,
    "payload_bytes": 125_557_289,
    "bytes_with_verdict": 125_556_789,
    "table_evictions": 12,
}


def rows_of(counters):
    return [{"name": name, "value": value} for name, value in counters.items()]


@pytest.fixture
def shown(batch_of, tmp_path):
    """Show halves and counters as a file would get them."""

    def show(*batches, counters=COUNTERS):
        sink = Sink(str(tmp_path / "view.txt"), ("flows",))
        for batch in batches:
            sink.write("flows", batch_of("flows", *batch))
        sink.write("counters", batch_of("counters", *rows_of(counters)))
        sink.close()
        return (tmp_path / "view.txt").read_text()

    return show


def test_slowest_big_halves_come_first_with_evidence(shown, golden):
    assert shown(HALVES) == golden("overview.txt")


def test_order_of_batches_does_not_matter(shown):
    assert shown(HALVES) == shown(*([half] for half in reversed(HALVES)))


def test_view_is_bounded_and_says_what_it_leaves_out(shown):
    many = [
        HALVES[0] | {"flow_id": n, "src_port": n, "unique_bytes": 1000 + n} for n in range(1, 1001)
    ]
    text = shown(many[:600], many[600:])
    assert text.count("receiver_window\n") == 20
    assert "10.0.0.4:1000 →" in text.splitlines()[1]
    assert "980 smaller or faster halves are not shown" in text


def test_nothing_to_show_is_said(shown):
    text = shown([], counters={"packets_read": 3, "packets_tcp": 0})
    assert text == "No TCP connection moved data.\n\n3 packets, 0 of TCP · 0 flows\n"


def test_every_line_fits(shown):
    assert max(map(len, shown(HALVES).splitlines())) <= 100


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({}, "→ mend the cable\n"),
        (
            {"headroom_bps": 4e6, "next_limitation": "transport"},
            "then up to 4.00 Mbit/s, next limit:",
        ),
        (
            {"headroom_bps": 4e6, "next_limitation": "transport", "capacity_bps": 5e6},
            "then 4.00 Mbit/s, next limit: transport",
        ),
    ],
)
def test_a_remedy_is_shown_with_what_is_known_of_its_gain(shown, columns, told):
    remedy = "mend the cable; what that would gain is not known: nothing shows it"
    remedy = remedy if not columns else "mend the cable"
    half = HALVES[0] | {"remedy": remedy, "goodput_bps": 1.3e6} | columns
    assert told in shown([half])
    assert "mend" not in shown([half | {"limitation": "application"}])
