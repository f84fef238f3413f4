-- Segments of one connection at two points. `a` is the point nearer to the originator, `b` the
-- other one; both have the columns of the `segments` table. $mss bytes are a full segment.

-- SYN and FIN take a sequence number without payload.
CREATE TEMP MACRO closing(flags) AS CASE WHEN flags LIKE '%S%' OR flags LIKE '%F%' THEN 1 ELSE 0 END;

-- What a path carries as one packet. A capture on a host shows several of them as one (offload).
CREATE TEMP TABLE pieces AS
WITH taps AS (SELECT 'a' AS tap, * FROM a UNION ALL BY NAME SELECT 'b' AS tap, * FROM b),
pushed AS (
    SELECT tap, direction, ts_ns, frame, kind, tsval, ack, window_raw, flags, sack,
        unnest(range(seq_start, seq_end, $mss)) AS start, 'data' AS sort
    FROM taps WHERE seq_end - seq_start > closing(flags)
),
bare AS (
    SELECT tap, direction, ts_ns, frame, kind, tsval, ack, window_raw, flags, sack,
        seq_start AS start, 'ack' AS sort
    FROM taps WHERE seq_end - seq_start <= closing(flags)
)
SELECT *,
    -- Two transmissions of the same bytes differ in the timestamp, or in their turn.
    hash(direction, sort, start, tsval,
         CASE WHEN sort = 'ack' THEN hash(ack, window_raw, flags, sack) END) AS name
FROM (SELECT * FROM pushed UNION ALL BY NAME SELECT * FROM bare);

-- Packets that each point saw exactly once: nothing to confuse them with.
CREATE TEMP TABLE certain AS
WITH single AS (
    SELECT tap, name, any_value(ts_ns) AS ts_ns, any_value(direction) AS direction
    FROM pieces GROUP BY tap, name HAVING count(*) = 1
)
SELECT direction, a.ts_ns AS a_ns, b.ts_ns - a.ts_ns AS apart_ns
FROM (FROM single WHERE tap = 'a') AS a JOIN (FROM single WHERE tap = 'b') AS b USING (name, direction);

-- All packets, by name and turn. A turn is counted from the last one: what is sent again arrives.
CREATE TEMP TABLE met AS
WITH turned AS (
    SELECT *, row_number() OVER (PARTITION BY tap, name ORDER BY ts_ns DESC) AS turn FROM pieces
)
SELECT coalesce(a.direction, b.direction) AS direction,
    coalesce(a.sort, b.sort) AS sort, coalesce(a.start, b.start) AS start,
    a.ts_ns AS a_ns, b.ts_ns AS b_ns, a.frame AS a_frame, b.frame AS b_frame,
    coalesce(a.kind, b.kind) AS kind
FROM (FROM turned WHERE tap = 'a') AS a
FULL JOIN (FROM turned WHERE tap = 'b') AS b USING (name, turn);
