"""What a verdict cannot be: its words, chances, shares, certainty, gain."""

from __future__ import annotations

from consistency.rules.rule import Rule

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
        "drops_without_loss",
        "flows",
        "A policer or random loss is the limit of a direction that sent nothing again.",
        "limitation IN ('policer', 'random_loss') AND retransmitted_bytes = 0",
    ),
    Rule(
        "interval_drops_without_loss",
        "so_far",
        "A policer or random loss is the limit of an interval, and nothing was sent again in it or"
        " before.",
        "limitation IN ('policer', 'random_loss') AND retransmitted_so_far = 0",
    ),
    Rule(
        "sure_bottleneck_unfilled",
        "verdicts",
        "A link is full and nobody else's, high, and less than a third of it was used.",
        "confidence = 'high' AND limitation = 'unshared_bottleneck'"
        " AND throughput_bps < 0.33 * capacity_bps AND of_table <> 'flows'"
        " AND coalesce(TRY_CAST(regexp_extract(evidence, '([0-9.]+) % of the capacity', 1)"
        " AS DOUBLE), 0) < 33 AND evidence NOT LIKE '%more than the%'",
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
        "Less is predicted than is reached now, by more packets than leave at once.",
        "headroom_bps < 0.999 * goodput_bps AND data_packets >= 10",
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
        "of_table <> 'periods' AND headroom_bps > 20 * throughput_bps AND capacity_bps IS NULL"
        " AND limitation NOT IN ('application', 'receiver_window', 'sender_window')",
    ),
)
