-- Numbers that sentences quote, read back.
CREATE OR REPLACE MACRO scale_of(unit) AS CASE left(unit, 1)
    WHEN 'G' THEN 1e9 WHEN 'M' THEN 1e6 WHEN 'k' THEN 1e3 ELSE 1 END;
CREATE OR REPLACE MACRO said_bps(words) AS
    TRY_CAST(split_part(words, ' ', 1) AS DOUBLE) * scale_of(split_part(words, ' ', 2));
CREATE OR REPLACE MACRO said_ns(words) AS TRY_CAST(split_part(words, ' ', 1) AS DOUBLE)
    * CASE split_part(words, ' ', 2) WHEN 's' THEN 1e9 WHEN 'ms' THEN 1e6 WHEN 'µs' THEN 1e3 ELSE 1 END;

-- Items of evidence, without their values.
CREATE OR REPLACE MACRO items_of(argument) AS list_transform(
    string_split(argument, '; '),
    lambda item: regexp_replace(item, ' (yes|no|[0-9.,]+( [^0-9 ]+)?) \([^()]*\)$', ''));

-- Verdicts of all tables, with what each says beside them.
CREATE OR REPLACE VIEW verdicts AS
SELECT 'flows' AS of_table, rwnd_max AS rwnd_least, *
FROM flows
UNION ALL BY NAME
SELECT 'intervals' AS of_table, rwnd_min AS rwnd_least, *
FROM intervals
UNION ALL BY NAME
SELECT 'periods' AS of_table, *
FROM periods;

-- What was lost: flows count episodes, the others only bytes.
CREATE OR REPLACE VIEW losses AS
SELECT *, retransmitted_bytes - spurious_bytes AS genuine_bytes FROM verdicts;

CREATE OR REPLACE VIEW sums AS
SELECT
    any_value(f.origin) AS origin, any_value(f.tap) AS tap, flow_id, direction,
    sum(i.data_packets) AS data_packets, any_value(f.data_packets) AS flow_data_packets,
    sum(i.unique_bytes) AS unique_bytes, any_value(f.unique_bytes) AS flow_unique_bytes,
    sum(i.retransmitted_bytes) AS retransmitted_bytes,
    any_value(f.retransmitted_bytes) AS flow_retransmitted_bytes
FROM intervals i JOIN flows f USING (origin, tap, flow_id, direction)
GROUP BY origin, tap, flow_id, direction;

CREATE OR REPLACE VIEW inside AS
SELECT
    i.*, f.start_ns AS flow_start_ns, f.end_ns AS flow_end_ns, f.spurious_bytes AS flow_spurious_bytes
FROM intervals i JOIN flows f USING (origin, tap, flow_id, direction);

CREATE OR REPLACE VIEW so_far AS
SELECT *, sum(retransmitted_bytes) OVER (
    PARTITION BY origin, tap, flow_id, direction ORDER BY start_ns
) AS retransmitted_so_far
FROM intervals;

-- How long each limitation held.
CREATE OR REPLACE VIEW held AS
SELECT
    origin, tap, flow_id, direction, limitation, sum(end_ns - start_ns) / 1e9 AS held_s
FROM intervals WHERE limitation IS NOT NULL GROUP BY ALL;

CREATE OR REPLACE VIEW longest AS
SELECT f.*, m.longest, m.most_s, coalesce(h.held_s, 0) AS held_s, s.* EXCLUDE (origin, tap, flow_id, direction)
FROM flows f
JOIN (
    SELECT origin, tap, flow_id, direction, arg_max(limitation, held_s) AS longest,
        max(held_s) AS most_s
    FROM held GROUP BY ALL
) m USING (origin, tap, flow_id, direction)
LEFT JOIN held h USING (origin, tap, flow_id, direction, limitation)
JOIN (
    SELECT
        origin, tap, flow_id, direction,
        sum(share_application * (end_ns - start_ns)) / sum(end_ns - start_ns) AS mean_application,
        sum(share_receiver_window * (end_ns - start_ns)) / sum(end_ns - start_ns)
            AS mean_receiver_window,
        sum(share_network * (end_ns - start_ns)) / sum(end_ns - start_ns) AS mean_network
    FROM intervals WHERE share_network IS NOT NULL AND limitation IS NOT NULL GROUP BY ALL
) s USING (origin, tap, flow_id, direction);

CREATE OR REPLACE VIEW directions AS
SELECT
    f.*, o.handshake_rtt_ns AS other_handshake_rtt_ns, o.conn_state AS other_conn_state,
    o.community_id AS other_community_id, o.position AS other_position
FROM flows f
JOIN flows o ON o.origin = f.origin AND o.tap = f.tap AND o.flow_id = f.flow_id
    AND f.direction = 'orig' AND o.direction = 'resp';

-- The same direction at two places of capture: at two taps of a world, or in two files. What was
-- seen must be the same: the same data at the same time.
CREATE OR REPLACE VIEW taps AS
SELECT f.*, o.tap AS other_tap, o.limitation AS other_limitation, o.confidence AS other_confidence
FROM flows f
JOIN flows o ON o.src = f.src AND o.src_port = f.src_port AND o.dst = f.dst
    AND o.dst_port = f.dst_port AND o.initial_seq = f.initial_seq AND o.tap > f.tap
    AND abs(o.start_ns - f.start_ns) < 1e9
    AND abs(o.end_ns - f.end_ns) < 0.1 * (f.end_ns - f.start_ns) AND o.unique_bytes BETWEEN 0.8 * f.unique_bytes
    AND 1.25 * f.unique_bytes
WHERE f.origin = o.origin OR f.tap = f.origin;
