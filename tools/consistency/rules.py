"""The rules: what can never be, each a predicate over the columns of a table or a view.

`verdicts` is the verdict columns of flows, intervals and periods together, with what all three
tables say beside them. The other views are in views.sql.
"""

from __future__ import annotations

from typing import NamedTuple


class Rule(NamedTuple):
    """What can never be."""

    name: str
    table: str
    """The table or view whose rows it is about."""
    says: str
    """What is wrong with a row that the predicate holds for, as a sentence."""
    predicate: str


RULES = (
    # Words of a verdict.
    Rule(
        "verdict_incomplete",
        "verdicts",
        "A limitation comes without cause, confidence, probability, evidence or remedy.",
        "limitation IS NOT NULL AND (cause IS NULL OR confidence IS NULL OR probability IS NULL"
        " OR coalesce(evidence, '') = '' OR coalesce(remedy, '') = '')",
    ),
    Rule(
        "null_without_reason",
        "verdicts",
        "There is no limitation, and no reason why.",
        "limitation IS NULL AND null_reason IS NULL",
    ),
    Rule(
        "cause_of_another",
        "verdicts",
        "The cause is not one of its limitation.",
        "split_part(cause, '/', 1) <> limitation",
    ),
    Rule(
        "gain_without_reason",
        "verdicts",
        "The gain is NULL without a reason, or known and has one.",
        "limitation IS NOT NULL AND (headroom_bps IS NULL) <> (gain_unknown IS NOT NULL)",
    ),
    Rule(
        "next_is_the_limit",
        "verdicts",
        "The next limit is the limit itself, or is named without a gain.",
        "next_limitation = limitation OR (next_limitation IS NOT NULL AND headroom_bps IS NULL)",
    ),
    # Chances.
    Rule(
        "chance_out_of_range",
        "verdicts",
        "A probability is not between 0 and 1, or answer and alternative are more than 1 together.",
        "probability NOT BETWEEN 0 AND 1 OR alternative_probability NOT BETWEEN 0 AND 1"
        " OR probability + alternative_probability > 1.000001",
    ),
    Rule(
        "alternative_likelier",
        "verdicts",
        "The alternative is likelier than the answer.",
        "alternative_probability > probability + 1e-6",
    ),
    Rule(
        "alternative_is_the_answer",
        "verdicts",
        "The alternative is the answer, or comes without its probability.",
        "alternative = limitation OR (alternative IS NULL) <> (alternative_probability IS NULL)",
    ),
    Rule(
        "sure_and_unlikely",
        "verdicts",
        "The confidence is high, and the answer less likely than 4 to 1; or low, and 19 to 1.",
        "(confidence = 'high' AND probability < 0.8)"
        " OR (confidence = 'low' AND probability >= 0.95)",
    ),
    # Shares of the time.
    Rule(
        "shares_out_of_range",
        "verdicts",
        "A share of the time is negative or more than all of it.",
        "least(share_application, share_receiver_window, share_network, share_recovery) < -1e-9"
        " OR greatest(share_application, share_receiver_window, share_network, share_recovery)"
        " > 1.000001",
    ),
    Rule(
        "shares_do_not_add_up",
        "verdicts",
        "The shares of the time are not all of it.",
        "abs(share_application + share_receiver_window + share_network + share_recovery - 1)"
        " > 1e-6",
    ),
    Rule(
        "score_out_of_range",
        "verdicts",
        "A score is not a number between 0 and 1.",
        "retransmission_score NOT BETWEEN 0 AND 1 OR rwnd_score NOT BETWEEN 0 AND 1"
        " OR rwnd_time_score NOT BETWEEN 0 AND 1.000001 OR dispersion_score > 1"
        " OR burstiness_score > 1 OR burstiness_measured < 0",
    ),
    # Verdicts with high confidence, against the facts of their row.
    Rule(
        "sure_program_that_never_waited",
        "verdicts",
        "The application is the limit, high, and had data to send nearly all of the time.",
        "confidence = 'high' AND limitation = 'application' AND share_application < 0.2",
    ),
    Rule(
        "sure_window_never_met",
        "verdicts",
        "The receiver's window is the limit, high, and held nothing back.",
        "confidence = 'high' AND limitation = 'receiver_window'"
        " AND share_receiver_window < 0.1 AND coalesce(rwnd_score, 0) < 0.1",
    ),
    Rule(
        "sure_network_without_time",
        "verdicts",
        "The network or the sender is the limit, high, and had next to no share of the time.",
        "confidence = 'high' AND limitation NOT IN ('application', 'receiver_window')"
        " AND share_network + share_recovery < 0.1",
    ),
    Rule(
        "sure_drops_without_loss",
        "losses",
        "A policer or random loss is the limit, and nothing was sent again.",
        "limitation IN ('policer', 'random_loss') AND retransmitted_bytes = 0",
    ),
    Rule(
        "sure_bottleneck_unfilled",
        "verdicts",
        "A link is full and the half's alone, high, and it used less than a third of it.",
        "confidence = 'high' AND limitation = 'unshared_bottleneck' AND dispersion_score > 0.67"
        " AND share_application < 0.3",
    ),
    Rule(
        "network_of_a_handful",
        "verdicts",
        "A link, a policer or random loss is found, high, in fewer than ten data packets.",
        "confidence = 'high' AND data_packets < 10 AND limitation IN"
        " ('unshared_bottleneck', 'shared_bottleneck', 'policer', 'random_loss')",
    ),
    Rule(
        "network_of_almost_nothing",
        "flows",
        "A link or a policer is found in a direction of fewer than ten data packets.",
        "data_packets < 10 AND limitation IN"
        " ('unshared_bottleneck', 'shared_bottleneck', 'policer')",
    ),
    # Gains.
    Rule(
        "gain_is_a_loss",
        "verdicts",
        "Less is predicted than is reached now.",
        "headroom_bps < 0.999 * coalesce(active_bps, 0)",
    ),
    Rule(
        "gain_beyond_the_link",
        "verdicts",
        "More is predicted than the link carries, and than is reached now.",
        "headroom_bps > 1.02 * capacity_bps AND headroom_bps > 1.05 * coalesce(throughput_bps, 0)"
        " AND limitation <> 'unshared_bottleneck'",
    ),
    Rule(
        "gain_out_of_thin_air",
        "verdicts",
        "More than twenty times what was reached is predicted, and no link is known.",
        "headroom_bps > 20 * throughput_bps AND capacity_bps IS NULL"
        " AND limitation NOT IN ('application', 'receiver_window', 'sender_window')",
    ),
    # Evidence.
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
        "evidence LIKE '%no loss%' AND coalesce(loss_events, 0) > 0",
    ),
    Rule(
        "nothing_lost_with_losses",
        "losses",
        "The evidence says that what was sent again was not needed, and the row counts bytes that"
        " were.",
        "evidence LIKE '%nothing lost%' AND coalesce(genuine_bytes, 0) > 0",
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
        "The evidence says that more than 115 % of the capacity was used.",
        "TRY_CAST(regexp_extract(evidence, '([0-9.]+) % of the capacity', 1) AS DOUBLE) > 115",
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
        "len(list_intersect(words_of(speaks_for), words_of(speaks_against))) > 0",
    ),
    # Numbers of a direction.
    Rule(
        "packets_that_were_not_there",
        "flows",
        "More data packets are claimed than there were frames, none of them a super-packet.",
        "NOT offload_seen AND data_packets > packets",
    ),
    Rule(
        "bytes_do_not_add_up",
        "flows",
        "Bytes sent once and bytes sent again are not all bytes sent, or needless ones are more"
        " than were sent again.",
        "unique_bytes + retransmitted_bytes <> payload_bytes"
        " OR spurious_bytes > retransmitted_bytes OR payload_bytes > wire_bytes",
    ),
    Rule(
        "losses_without_repair",
        "flows",
        "Losses, timeouts or fast retransmissions are counted, and nothing was sent again.",
        "(loss_events > 0 OR fast_retransmissions > 0 OR rto_events > 0)"
        " AND retransmitted_bytes = 0 AND data_packets > 0",
    ),
    Rule(
        "mss_out_of_range",
        "flows",
        "A full segment is longer than the option allows, or empty.",
        "effective_mss > mss_option OR effective_mss = 0",
    ),
    Rule(
        "flight_beyond_the_window",
        "flows",
        "More than the receiver's largest window and two segments was in flight.",
        "handshake_seen AND missed_bytes = 0"
        " AND flight_size_max > rwnd_max + 2 * coalesce(effective_mss, 1460)",
    ),
    Rule(
        "flight_of_more_than_was_sent",
        "flows",
        "More was in flight than was sent at all.",
        "flight_size_max > unique_bytes + missed_bytes",
    ),
    Rule(
        "rate_out_of_range",
        "flows",
        "Goodput is more than throughput, or a rate is not positive.",
        "goodput_bps > throughput_bps * 1.000001 OR throughput_bps < 0 OR goodput_bps < 0"
        " OR capacity_bps <= 0 OR headroom_bps < 0",
    ),
    Rule(
        "capacity_beyond_its_bounds",
        "flows",
        "The capacity is not between its bounds.",
        "capacity_bps < capacity_lower_bps * 0.999999 OR capacity_bps > capacity_upper_bps *"
        " 1.000001 OR capacity_lower_bps > capacity_upper_bps",
    ),
    Rule(
        "capacity_below_the_rate",
        "flows",
        "A direction of 130 data packets or more was faster than the capacity of its path.",
        "data_packets >= 130 AND throughput_bps > 1.1 * capacity_bps",
    ),
    Rule(
        "capacity_without_reason",
        "flows",
        "The capacity is NULL without a reason, or known and has one.",
        "payload_bytes > 0 AND ((capacity_bps IS NULL) <> (capacity_unknown IS NOT NULL)"
        " OR (capacity_bps IS NULL) <> (capacity_method IS NULL))",
    ),
    Rule(
        "position_out_of_range",
        "flows",
        "The place of the capture is not between sender and receiver.",
        "position NOT BETWEEN 0 AND 1",
    ),
    Rule(
        "time_runs_backwards",
        "verdicts",
        "The row ends before it begins.",
        "end_ns < start_ns",
    ),
    # Round-trip times.
    Rule(
        "rtt_absurd",
        "flows",
        "A round-trip time is not positive, longer than the connection, or longer than ten"
        " minutes.",
        "least(rtt_min_ns, handshake_rtt_ns) <= 0 OR greatest(rtt_max_ns, handshake_rtt_ns)"
        " > least(end_ns - start_ns, 600e9)",
    ),
    Rule(
        "rtt_out_of_order",
        "flows",
        "Smallest, tenth, median, ninetieth, ninety-ninth and largest round-trip time do not rise,"
        " or the mean is outside.",
        "rtt_min_ns > rtt_p10_ns OR rtt_p10_ns > rtt_p50_ns OR rtt_p50_ns > rtt_p90_ns"
        " OR rtt_p90_ns > rtt_p99_ns OR rtt_p99_ns > rtt_max_ns OR rtt_min_ns > rtt_mean_ns"
        " OR rtt_mean_ns > greatest(rtt_max_ns, handshake_rtt_ns)"
        " OR rtt_min_ns > handshake_rtt_ns",
    ),
    Rule(
        "rtt_without_samples",
        "flows",
        "A distribution of round-trip times comes without samples.",
        "rtt_samples = 0 AND rtt_max_ns IS NOT NULL",
    ),
    # Tables against each other, directions and taps.
    Rule(
        "intervals_are_not_the_flow",
        "sums",
        "The intervals of a direction do not add up to its packets and bytes.",
        "data_packets <> flow_data_packets OR unique_bytes <> flow_unique_bytes"
        " OR retransmitted_bytes <> flow_retransmitted_bytes",
    ),
    Rule(
        "interval_outside_the_flow",
        "inside",
        "An interval begins before its flow does.",
        "start_ns < flow_start_ns OR start_ns > flow_end_ns",
    ),
    Rule(
        "flow_of_other_intervals",
        "longest",
        "The limitation of a direction did not hold for the longest time of its intervals.",
        "limitation <> longest AND held_s < most_s - 1e-6",
    ),
    Rule(
        "flow_of_other_shares",
        "longest",
        "The shares of a direction are not those of its intervals, weighted by time.",
        "abs(share_application - mean_application) > 0.01"
        " OR abs(share_receiver_window - mean_receiver_window) > 0.01"
        " OR abs(share_network - mean_network) > 0.01",
    ),
    Rule(
        "directions_disagree",
        "directions",
        "The two directions of a connection differ in what they share.",
        "handshake_rtt_ns IS DISTINCT FROM other_handshake_rtt_ns OR conn_state <> other_conn_state"
        " OR community_id <> other_community_id"
        " OR abs(position + other_position - 1) > 1e-6",
    ),
    Rule(
        "taps_contradict",
        "taps",
        "The same direction is judged differently at two places of capture, high at both.",
        "limitation <> other_limitation AND confidence = 'high' AND other_confidence = 'high'",
    ),
)
