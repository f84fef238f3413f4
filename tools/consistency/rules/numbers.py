"""What numbers of a direction cannot be: alone, and beside other tables, directions and taps."""

from __future__ import annotations

from consistency.rules.rule import Rule

RULES = (
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
        "Bytes sent once and bytes sent again are less than all bytes sent, one of them is more, or"
        " needless ones are more than were sent again.",
        "unique_bytes + retransmitted_bytes + zero_window_probes + keep_alives < payload_bytes"
        " OR unique_bytes > payload_bytes OR retransmitted_bytes > payload_bytes"
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
        "More was in flight than was sent at all, seen near the sender.",
        "position < 0.5 AND flight_size_max > payload_bytes + missed_bytes",
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
        "A direction of 130 data packets or more delivered more than the capacity of its path.",
        # What is sent again may have been dropped before the link.
        "data_packets >= 130 AND goodput_bps > 1.1 * capacity_bps",
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
