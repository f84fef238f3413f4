"""The view that a person sees first, against golden text."""

import pytest

from tcpwhy import UsageError
from tcpwhy.sinks import Run
from tcpwhy.sinks.table import Sink
from tcpwhy.terminal.overview import Choice

SECOND = 10**9
START = 1_700_000_000 * SECOND

HALVES = [
    {
        "flow_id": 1,
        "direction": "orig",
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
        "direction": "orig",
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
        "direction": "orig",
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
    {
        "flow_id": 3,
        "direction": "resp",
        "src": "10.0.0.4",
        "dst": "10.0.0.9",
        "start_ns": START,
        "end_ns": START + SECOND // 10,
    },
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

    def show(*batches, counters=COUNTERS, choice=None):
        sink = Sink(str(tmp_path / "view.txt"), ("flows",), Run(choice=choice))
        for batch in batches:
            sink.write("flows", batch_of("flows", *batch))
        sink.write("counters", batch_of("counters", *rows_of(counters)))
        sink.close()
        return (tmp_path / "view.txt").read_text()

    return show


def test_what_would_gain_most_comes_first(shown, same_as_golden):
    same_as_golden("overview.txt", shown(HALVES))


def test_order_of_batches_does_not_matter(shown):
    assert shown(HALVES) == shown(*([half] for half in reversed(HALVES)))


def test_view_is_bounded_and_says_what_it_leaves_out(shown):
    many = [
        HALVES[0] | {"flow_id": n, "src_port": n, "unique_bytes": 1000 + n} for n in range(1, 1001)
    ]
    text = shown(many[:600], many[600:])
    assert text.count("receiver_window/buffer  ") == 20
    assert "10.0.0.4:1000 →" in text.splitlines()[3]
    assert "980 more directions not shown (--all, --top)" in text
    assert shown(many, choice=Choice(top=3)).count("→ 192.168.100.200") == 3


def test_trickles_are_hidden_unless_there_is_nothing_else(shown):
    trickle = HALVES[2] | {"limitation": "application", "cause": "application/idle"}
    text = shown([HALVES[0], trickle])
    assert "10.0.0.9:40000" not in text
    assert "1 more direction not shown, 1 of them small" in text
    assert "10.0.0.9:40000" in shown([HALVES[0], trickle], choice=Choice(everything=True))
    assert "10.0.0.9:40000" in shown([trickle])


def test_a_condition_and_an_order_choose_what_is_shown(shown):
    text = shown(HALVES, choice=Choice(where="unique_bytes < 1e7", sort="+unique_bytes"))
    assert text.index("10.0.0.9:40000") < text.index("10.0.0.4:443")
    assert "2001:db8" not in text
    with pytest.raises(UsageError, match=r"--where or --sort: .*no_such_column"):
        shown(HALVES, choice=Choice(where="no_such_column = 1"))


def test_all_is_shown_in_full_where_asked_for(shown):
    many = [HALVES[0] | {"flow_id": n, "src_port": n} for n in range(1, 6)]
    assert "flight reached" not in shown(many)
    text = shown(many, choice=Choice(verbose=True))
    assert text.count("flight reached") == 5
    assert "95,000 of TCP · 3 flows · verdict for 66.7 % of flows" in text
    assert "packets_not_tcp 200" in text
    assert "packets_not_tcp" not in shown(many)


def test_nothing_to_show_is_said(shown):
    text = shown([], counters={"packets_read": 3, "packets_tcp": 0})
    assert text == "3 packets · no TCP connection\nNo TCP connection moved data.\n"
    assert shown([], counters={"packets_read": 0}) == "No packet was read.\n"


def test_sentences_fit_and_tables_are_never_cut_in_a_file(shown):
    lines = shown(HALVES).splitlines()
    assert max(len(line) for line in lines if line.startswith("  ")) <= 100
    assert "[2001:db8::1234:5678:9abc:def0]:22 → [2001:db8:ffff:ffff:ffff:ffff:ffff:1]:61000" in (
        "\n".join(lines)
    )


def test_failed_connections_are_counted_by_capture(shown):
    refused = HALVES[3] | {"direction": "orig", "conn_state": "REJ", "source": "a.pcap"}
    text = shown([HALVES[0] | {"source": "a.pcap"}, refused, refused | {"conn_state": "S0"}])
    assert text.startswith("a.pcap · 2023-11-14 22:13:20 UTC · ")
    assert "3 connections (1 refused, 1 unanswered)" in text


def test_the_way_on_is_shown_with_the_number(shown):
    text = shown([HALVES[0] | {"source": "my file.pcap", "stream": 4}])
    assert "Ask further: tcpwhy explain 'my file.pcap' --flow 4" in text
    pair = "10.0.0.4:443-192.168.100.200:50123"
    assert f"--flow {pair}" in shown([HALVES[0] | {"source": "big.pcap"}])


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
    half = HALVES[0] | {"remedy": "mend the cable", "goodput_bps": 1.3e6} | columns
    assert told in shown([half])
    assert "mend" not in shown([half | {"limitation": "application"}])


def test_packets_are_read_before_the_database_is_there(tmp_path):
    """Opening it costs as much as all that happens before, and a wrong condition tells at once."""
    sink = Sink(str(tmp_path / "view.txt"), ("flows",))
    assert "_connection" not in vars(sink)
    sink.close()
    assert "_connection" in vars(sink)
    with pytest.raises(UsageError, match="--where"):
        Sink(str(tmp_path / "view.txt"), ("flows",), Run(choice=Choice(where="no_such = 1")))
