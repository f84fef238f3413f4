-- Stored questions. A question is a view; its comment is its documentation and makes it listed.

CREATE VIEW worst_flows AS
SELECT
    limitation,
    unique_bytes,
    (end_ns - start_ns) / 1e9 AS duration_s,
    throughput_bps,
    src, src_port, dst, dst_port,
    rtt_mean_ns, confidence, evidence, remedy, headroom_bps, flow_id, direction
FROM flows
WHERE data_packets > 0
ORDER BY unique_bytes::DOUBLE * (end_ns - start_ns) DESC
LIMIT 100;
COMMENT ON VIEW worst_flows IS
    'The 100 directions that moved most bytes in most time, with what limits them';

CREATE VIEW shares AS
SELECT
    coalesce(limitation, 'none: ' || coalesce(null_reason, 'not known')) AS limitation,
    count(*) AS directions,
    sum(unique_bytes)::UBIGINT AS bytes,
    count(*) / sum(count(*)) OVER () AS share_of_directions,
    sum(unique_bytes) / sum(sum(unique_bytes)) OVER () AS share_of_bytes
FROM flows
WHERE data_packets > 0
GROUP BY 1
ORDER BY bytes DESC;
COMMENT ON VIEW shares IS 'Share of directions and of bytes by limitation';

CREATE VIEW shares_by_port AS
WITH groups AS (
    SELECT
        CASE direction WHEN 'orig' THEN dst_port ELSE src_port END AS service_port,
        direction,
        coalesce(limitation, 'none') AS limitation,
        count(*) AS directions,
        sum(unique_bytes)::UBIGINT AS bytes,
        median(throughput_bps) AS median_throughput_bps
    FROM flows
    WHERE data_packets > 0
    GROUP BY ALL
)
SELECT *, bytes / sum(bytes) OVER (PARTITION BY service_port) AS share_of_bytes
FROM groups
ORDER BY sum(bytes) OVER (PARTITION BY service_port) DESC, service_port, bytes DESC;
COMMENT ON VIEW shares_by_port IS
    'Bytes and directions by port of the service and limitation, busiest port first';

-- The same for the intervals that begin in a span of time, both ends in ns, the second one not in
-- it. The dashboard asks for one span after another: a direction counts once a minute.
CREATE MACRO limitation_between(begin_ns, beyond_ns) AS TABLE
WITH active AS (
    SELECT start_ns // 60000000000 AS number, limitation, flow_id, direction,
        sum(unique_bytes)::UBIGINT AS bytes
    FROM intervals
    WHERE start_ns >= begin_ns AND start_ns < beyond_ns
    GROUP BY ALL
), groups AS (
    SELECT
        make_timestamp(number * 60000000) AS minute,
        coalesce(limitation, 'none') AS limitation,
        count(*) AS directions,
        sum(bytes)::UBIGINT AS bytes
    FROM active
    GROUP BY ALL
)
SELECT *, bytes / nullif(sum(bytes) OVER (PARTITION BY minute), 0) AS share_of_bytes
FROM groups
ORDER BY minute, bytes DESC;

CREATE VIEW limitation_over_time AS
FROM limitation_between(-9223372036854775807, 9223372036854775807);
COMMENT ON VIEW limitation_over_time IS
    'Active directions and their bytes by limitation, minute by minute (needs the intervals table)';

-- 200 bins of 0.01 over [-1, 1] instead of a sort: an order of magnitude cheaper, and finer than
-- a plot shows. The first bin holds everything below -1 as well, which only dispersion and
-- burstiness reach.
CREATE VIEW score_cdf AS
WITH scores AS (
    UNPIVOT (SELECT COLUMNS('.*_score') FROM flows WHERE data_packets > 0)
    ON COLUMNS(*) INTO NAME score VALUE value
), bins AS (
    SELECT
        score,
        greatest(1, least(200, ceil((value + 1) * 100)))::INTEGER AS bin,
        count(*) AS directions
    FROM scores
    GROUP BY ALL
)
SELECT
    score,
    bin / 100 - 1 AS value,
    directions,
    sum(directions) OVER (PARTITION BY score ORDER BY bin) / sum(directions) OVER (PARTITION BY score) AS cdf
FROM bins
ORDER BY score, value;
COMMENT ON VIEW score_cdf IS
    'Distribution of each score over directions: cdf is the share with at most this value';

CREATE VIEW coverage AS
SELECT
    CASE WHEN limitation IS NULL THEN 'no verdict' ELSE coalesce(confidence, 'verdict') END AS answer,
    count(DISTINCT flow_id) AS flows,
    count(*) AS directions,
    sum(unique_bytes)::UBIGINT AS bytes,
    count(*) / sum(count(*)) OVER () AS share_of_directions,
    sum(unique_bytes) / sum(sum(unique_bytes)) OVER () AS share_of_bytes
FROM flows
WHERE data_packets > 0
GROUP BY 1
ORDER BY bytes DESC;
COMMENT ON VIEW coverage IS 'How many flows, directions and bytes have a verdict, by confidence';

CREATE VIEW counts AS
SELECT name, sum(value)::UBIGINT AS value
FROM counters
GROUP BY name
HAVING sum(value) > 0
ORDER BY name;
COMMENT ON VIEW counts IS 'Counters of all runs in the store, added up; those at zero are left out';
