"""What the sentence of evidence cannot say beside the numbers of its row."""

from __future__ import annotations

from consistency.rules.rule import Rule

RULES = (
    Rule(
        "window_reached_by_half_of_it",
        "verdicts",
        "Flight is said to have reached a window of which it never filled half.",
        "evidence LIKE 'flight reached%' AND flight_size_max < 0.5 * rwnd_least",
    ),
    Rule(
        "window_hardly_reached",
        "verdicts",
        "The receiver's window is the limit, high, for a flight that reached it in 5 % at most.",
        "confidence = 'high' AND evidence LIKE 'flight reached%'"
        " AND TRY_CAST(regexp_extract(evidence, ' in ([0-9.]+) % of', 1) AS DOUBLE) < 5",
    ),
    Rule(
        "no_loss_with_losses",
        "losses",
        "The evidence says that there was no loss, and the row counts some.",
        "evidence LIKE '%no loss%' AND (loss_events > 0 OR genuine_bytes > 0)",
    ),
    Rule(
        "no_loss_while_repairing",
        "inside",
        "The evidence says that there was no loss in an interval in which bytes were sent again,"
        " none of them without need.",
        "evidence LIKE '%no loss%' AND retransmitted_bytes > 0 AND flow_spurious_bytes = 0",
    ),
    Rule(
        "nothing_lost_with_losses",
        "losses",
        "The evidence says that what was sent again was not needed, and the row counts bytes that"
        " were.",
        "evidence LIKE '%nothing lost%' AND genuine_bytes > 0",
    ),
    Rule(
        "losses_of_none",
        "losses",
        "The evidence counts loss episodes or bytes lost, and the row says that nothing was sent"
        " again.",
        "retransmitted_bytes = 0 AND regexp_matches(evidence,"
        " '[1-9][0-9,]* loss episode|[1-9][0-9.]* % of the bytes were lost')",
    ),
    Rule(
        "episodes_miscounted",
        "flows",
        "The evidence counts other loss episodes than the row.",
        "TRY_CAST(replace(regexp_extract(evidence, '([0-9,]+) loss episode', 1), ',', '') AS INT)"
        " <> loss_events",
    ),
    Rule(
        "segments_miscounted",
        "verdicts",
        "The evidence speaks of more segments than the row has.",
        "TRY_CAST(replace(regexp_extract(evidence, '([0-9,]+) segments?( |;|$)', 1), ',', '')"
        " AS BIGINT) > data_packets AND evidence NOT LIKE '%flight stayed at%'",
    ),
    Rule(
        "timeouts_miscounted",
        "flows",
        "The evidence counts more timeouts than the row.",
        "TRY_CAST(replace(regexp_extract(evidence, '([0-9,]+) (retransmission )?timeout', 1), ',',"
        " '') AS INT) > rto_events",
    ),
    Rule(
        "shares_of_more_than_all",
        "verdicts",
        "The evidence speaks of more than all segments, samples, rounds, bytes or time.",
        "list_max(list_transform(regexp_extract_all(evidence,"
        " '([0-9.]+) % of (the (time|samples|segments|bytes)|[0-9])', 1),"
        " lambda x: TRY_CAST(x AS DOUBLE))) > 100",
    ),
    Rule(
        "more_than_the_capacity",
        "verdicts",
        "The evidence says that more than 116 % of the capacity was delivered.",
        "TRY_CAST(regexp_extract(evidence, 'queued, ([0-9.]+) % of the capacity', 1) AS DOUBLE)"
        " > 116",
    ),
    Rule(
        "capacity_of_another",
        "verdicts",
        "The evidence quotes a capacity that the row does not have.",
        "abs(said_bps(regexp_extract(evidence, 'the capacity of ([0-9.]+ [GMk]?bit/s)', 1))"
        " / capacity_bps - 1) > 0.01",
    ),
    Rule(
        "capacity_unknown_and_known",
        "verdicts",
        "The evidence says that the capacity is unknown, and the row has it.",
        "evidence LIKE '%capacity unknown%' AND capacity_bps IS NOT NULL",
    ),
    Rule(
        "window_of_another",
        "flows",
        "The evidence quotes a window that is not the largest of the row.",
        "TRY_CAST(replace(regexp_extract(evidence, 'the window of ([0-9,]+) bytes', 1), ',', '')"
        " AS BIGINT) <> rwnd_max AND evidence NOT LIKE '%(scale inferred)%'",
    ),
    Rule(
        "least_rtt_of_another",
        "flows",
        "The evidence quotes a smallest round-trip time that is not that of the row.",
        "abs(said_ns(regexp_extract(evidence,"
        " '(RTT from|its minimum of) ([0-9.]+ (s|ms|µs|ns))', 2)) / rtt_min_ns - 1) > 0.01",
    ),
    Rule(
        "rtt_unknown_and_known",
        "verdicts",
        "The evidence says that the round-trip time is unknown, and the row has it.",
        "evidence LIKE '%RTT unknown%' AND (rtt_mean_ns IS NOT NULL OR rtt_min_ns IS NOT NULL)",
    ),
    Rule(
        "at_its_minimum_and_bloated",
        "verdicts",
        "A standing queue was seen, and the evidence has the round-trip time at its minimum.",
        "bufferbloat AND evidence LIKE '%RTT at its minimum%'",
    ),
    Rule(
        "unscaled_and_scaled",
        "flows",
        "Window scaling is said to be off, and the row has a scale.",
        "(evidence LIKE '%window scaling is off%' OR cause = 'receiver_window/no_window_scaling')"
        " AND coalesce(window_scale, -1) <> 0",
    ),
    Rule(
        "closed_more_than_it_did",
        "flows",
        "The window is said to have closed, and the row counts no such event.",
        "regexp_matches(evidence, 'it closed (once|twice|[0-9])') AND zero_window_events = 0",
    ),
    Rule(
        "growth_of_nothing",
        "verdicts",
        "Slow start is the limit, high, of a flight that is said to have grown in no round.",
        "cause = 'transport/slow_start' AND confidence = 'high'"
        " AND evidence LIKE '%or more in 0 %'",
    ),
    Rule(
        "argued_twice",
        "verdicts",
        "The same item of evidence speaks for the answer and against it.",
        "len(list_intersect(items_of(speaks_for), items_of(speaks_against))) > 0",
    ),
)
