"""Every rule finds what it is about, and the rows of captures and worlds break none."""

import sys
from pathlib import Path

import duckdb
import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from consistency import rows  # noqa: E402
from consistency.check import check  # noqa: E402
from consistency.rules import RULES  # noqa: E402

SHOWN = ("bulk_tbf_sender", "bulk_tbf_receiver", "receiver_window", "loss_middle", "application")
EVERY = 12
"""One in so many captures of others is held against the rules here, all by `make consistency`."""
SEEDS = range(710_000, 710_004)

HIGH = "confidence = 'high', probability = 0.99"
SAYS = "UPDATE flows SET evidence = '{}' WHERE data_packets > 100"
BREAKS = {
    "verdict_incomplete": "UPDATE flows SET remedy = NULL WHERE limitation IS NOT NULL",
    "null_without_reason": "UPDATE flows SET limitation = NULL, null_reason = NULL",
    "cause_of_another": "UPDATE flows SET cause = 'policer', limitation = 'random_loss'",
    "gain_without_reason": "UPDATE flows SET headroom_bps = NULL, gain_unknown = NULL",
    "next_is_the_limit": "UPDATE flows SET next_limitation = limitation",
    "chance_out_of_range": "UPDATE intervals SET probability = 1.5",
    "alternative_likelier": "UPDATE flows SET probability = 0.3, alternative_probability = 0.4",
    "alternative_is_the_answer": "UPDATE flows SET alternative = limitation",
    "sure_and_unlikely": "UPDATE periods SET confidence = 'high', probability = 0.5",
    "shares_out_of_range": "UPDATE flows SET share_network = -0.5",
    "shares_do_not_add_up": "UPDATE flows SET share_network = share_network / 2 + 0.1",
    "score_out_of_range": "UPDATE flows SET rwnd_score = 1.5",
    "sure_program_that_never_waited": f"UPDATE flows SET {HIGH}, limitation = 'application',"
    " share_application = 0.1",
    "sure_window_never_met": f"UPDATE flows SET {HIGH}, limitation = 'receiver_window',"
    " share_receiver_window = 0, rwnd_score = 0",
    "sure_network_without_time": f"UPDATE flows SET {HIGH}, limitation = 'transport',"
    " share_network = 0, share_recovery = 0",
    "drops_without_loss": "UPDATE flows SET limitation = 'policer', retransmitted_bytes = 0",
    "interval_drops_without_loss": "UPDATE intervals SET limitation = 'policer',"
    " retransmitted_bytes = 0",
    "sure_bottleneck_unfilled": f"UPDATE intervals SET {HIGH}, limitation = 'unshared_bottleneck',"
    " capacity_bps = 5 * throughput_bps, evidence = 'queue not seen from here'",
    "network_of_a_handful": f"UPDATE flows SET {HIGH}, limitation = 'policer', data_packets = 9",
    "network_of_almost_nothing": "UPDATE flows SET limitation = 'policer', data_packets = 9",
    "gain_is_a_loss": "UPDATE flows SET headroom_bps = goodput_bps / 2",
    "gain_beyond_the_link": "UPDATE flows SET limitation = 'random_loss',"
    " headroom_bps = 20 * throughput_bps, capacity_bps = 2 * throughput_bps",
    "gain_out_of_thin_air": "UPDATE flows SET limitation = 'random_loss', capacity_bps = NULL,"
    " headroom_bps = 200 * throughput_bps",
    "window_reached_by_half_of_it": "UPDATE flows SET evidence = 'flight reached the window',"
    " flight_size_max = rwnd_max / 3",
    "window_hardly_reached": f"UPDATE flows SET {HIGH},"
    " evidence = 'flight reached the window of 9 bytes in 1.2 % of 900 segments'",
    "no_loss_with_losses": SAYS.format("RTT at its minimum, no loss")
    + "; UPDATE flows SET retransmitted_bytes = 900, spurious_bytes = 0",
    "no_loss_while_repairing": "UPDATE intervals SET evidence = 'no loss',"
    " retransmitted_bytes = 900; UPDATE flows SET spurious_bytes = 0",
    "nothing_lost_with_losses": SAYS.format("nothing lost: what was sent again was not needed")
    + "; UPDATE flows SET retransmitted_bytes = 900, spurious_bytes = 0",
    "losses_of_none": SAYS.format("3 loss episodes in 9 segments")
    + "; UPDATE flows SET retransmitted_bytes = 0",
    "episodes_miscounted": SAYS.format("987 loss episodes in 9 segments"),
    "segments_miscounted": SAYS.format("100 % of 987,654,321 segments small"),
    "timeouts_miscounted": SAYS.format("98,765 retransmission timeouts without an answer"),
    "shares_of_more_than_all": SAYS.format("nothing to send for 101 % of the time"),
    "more_than_the_capacity": SAYS.format(
        "9 Mbit/s delivered while it queued, 130 % of the capacity of 7 Mbit/s"
    ),
    "capacity_of_another": SAYS.format("sent 9 % of the capacity of 1.23 kbit/s")
    + "; UPDATE flows SET capacity_bps = 1e6",
    "capacity_unknown_and_known": SAYS.format("capacity unknown")
    + "; UPDATE flows SET capacity_bps = 1e6",
    "window_of_another": SAYS.format("flight reached the window of 12 bytes in 99 % of 9 segments"),
    "least_rtt_of_another": SAYS.format("RTT at its minimum of 1.23 µs"),
    "rtt_unknown_and_known": SAYS.format("RTT unknown, no loss"),
    "at_its_minimum_and_bloated": SAYS.format("RTT at its minimum")
    + "; UPDATE flows SET bufferbloat = true",
    "unscaled_and_scaled": SAYS.format("window scaling is off")
    + "; UPDATE flows SET window_scale = 7",
    "closed_more_than_it_did": SAYS.format("it closed twice")
    + "; UPDATE flows SET zero_window_events = 0",
    "growth_of_nothing": f"UPDATE flows SET {HIGH}, cause = 'transport/slow_start',"
    " evidence = 'flight grew by a quarter or more in 0 % of 9 round trips'",
    "argued_twice": "UPDATE flows SET speaks_for = 'round trips with a queue 82 % (+1.9)',"
    " speaks_against = 'round trips with a queue 82 % (-1.9)'",
    "packets_that_were_not_there": "UPDATE flows SET data_packets = packets + 1,"
    " offload_seen = false",
    "bytes_do_not_add_up": "UPDATE flows SET spurious_bytes = retransmitted_bytes + 1",
    "losses_without_repair": "UPDATE flows SET loss_events = 1, retransmitted_bytes = 0",
    "mss_out_of_range": "UPDATE flows SET effective_mss = mss_option + 1",
    "flight_beyond_the_window": "UPDATE flows SET flight_size_max = rwnd_max * 2 + 9000",
    "flight_of_more_than_was_sent": "UPDATE flows SET flight_size_max = payload_bytes * 2 + 1",
    "rate_out_of_range": "UPDATE flows SET goodput_bps = throughput_bps * 2",
    "capacity_beyond_its_bounds": "UPDATE flows SET capacity_bps = 2, capacity_lower_bps = 3",
    "capacity_below_the_rate": "UPDATE flows SET capacity_bps = throughput_bps / 2",
    "capacity_without_reason": "UPDATE flows SET capacity_bps = NULL, capacity_unknown = NULL",
    "position_out_of_range": "UPDATE flows SET position = -0.1",
    "time_runs_backwards": "UPDATE intervals SET end_ns = start_ns - 1",
    "rtt_absurd": "UPDATE flows SET rtt_max_ns = (end_ns - start_ns) * 2",
    "rtt_out_of_order": "UPDATE flows SET rtt_p50_ns = rtt_p99_ns + 1",
    "rtt_without_samples": "UPDATE flows SET rtt_samples = 0",
    "intervals_are_not_the_flow": "UPDATE flows SET unique_bytes = unique_bytes + 1",
    "interval_outside_the_flow": "UPDATE intervals SET start_ns = start_ns - 3600000000000",
    "flow_of_other_intervals": "UPDATE intervals SET limitation = 'policer'",
    "flow_of_other_shares": "UPDATE intervals SET share_application = share_application + 0.2",
    "directions_disagree": "UPDATE flows SET conn_state = 'S0' WHERE direction = 'orig'",
    "taps_contradict": f"UPDATE flows SET {HIGH}; UPDATE flows SET limitation = 'policer'"
    " WHERE tap = 'bulk_tbf_sender'",
}
"""What makes rows break each rule."""


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    """Analyse a few captures of the repository."""
    found = rows.Found()
    for name in SHOWN:
        tables = rows.of_capture(ROOT / "tests" / "data" / f"{name}.pcap")
        assert tables
        found.add(name, name, tables)
    return found.connect()


def test_there_is_a_row_for_every_rule() -> None:
    assert BREAKS.keys() == {rule.name for rule in RULES}


def test_the_rows_of_shipped_captures_break_no_rule(database: duckdb.DuckDBPyConnection) -> None:
    assert [result for result in check(database) if result.broken] == []


@pytest.mark.parametrize("name", BREAKS)
def test_a_rule_finds_what_it_is_about(database: duckdb.DuckDBPyConnection, name: str) -> None:
    database.execute("BEGIN")
    try:
        database.execute(BREAKS[name])
        (result,) = check(database, {name})
        assert result.broken > 0
        assert result.example
    finally:
        database.execute("ROLLBACK")


def test_captures_of_others_break_no_rule(shared: Path) -> None:
    found = rows.Found()
    for path in rows.captures(shared / "captures")[::EVERY]:
        if tables := rows.of_capture(path):
            found.add(path.name, path.name, tables)
    assert [result for result in check(found.connect()) if result.broken] == []


def test_worlds_break_no_rule() -> None:
    found = rows.Found()
    tables = rows.of_capture(ROOT / "tests" / "data" / "application.pcap")
    found.add("application", "application", tables or {})
    for seed in SEEDS:
        world, by_tap = rows.of_world(seed)
        for tap, tables in by_tap.items():
            found.add(world, tap, tables)
    assert [result for result in check(found.connect()) if result.broken] == []
