-- not_known.sql - not_known(statement): what the shell says on a terminal after a statement about
-- statistics, hashes or damage that have not been computed for all checkpoints: a checkpoint
-- without rows then proves nothing. For duplicates it is said only if no hash is known at all,
-- since dedup hashes only what could be equal.
WITH
  given(statement) AS MATERIALIZED (SELECT :statement),
  range(first, last) AS MATERIALIZED ( -- ids of the checkpoints that have numeric tensors
    SELECT ID_FIRST(c.id), ID_LAST(c.id)
    FROM _checkpoints c
    WHERE c.format <> 'names'
      AND EXISTS (SELECT 1 FROM _layout_dtypes d WHERE d.id BETWEEN ID_FIRST(c.layout) AND ID_LAST(c.layout)
                  AND d.nbytes > 0 AND d.dtype NOT IN ('string', 'variant', 'resource'))
  ),
  asked(what, command, known, enough) AS (
    SELECT 'statistics are', 'stats',
           (SELECT count(*) FROM range
            WHERE EXISTS (SELECT 1 FROM _tensor_statistics WHERE id BETWEEN first AND last)), NULL
    FROM given WHERE regexp('(?i)\b(from|join)\s+stats\b', statement)
    UNION ALL
    SELECT 'content hashes are', iif(copies, 'dedup', 'hash'),
           (SELECT count(*) FROM range
            WHERE EXISTS (SELECT 1 FROM _tensor_hashes WHERE id BETWEEN first AND last)), iif(copies, 1, NULL)
    FROM (SELECT statement, regexp('(?i)\b(from|join)\s+(duplicate|waste|shared)\b', statement) AS copies FROM given)
    WHERE copies OR regexp('(?i)\bhash\b', statement)
    UNION ALL
    SELECT 'what verify found is', 'verify', (SELECT count(*) FROM range JOIN _verifications v ON v.id = ID_OWNER(first)), NULL
    FROM given WHERE regexp('(?i)\b(from|join)\s+(damage|verification)\b', statement)
  )
SELECT what || ' known of ' || known || ' of ' || (SELECT count(*) FROM range) || ' checkpoints: '
       || 'ckptdb ' || command || ' works out the rest' AS said
FROM asked WHERE known < ifnull(enough, (SELECT count(*) FROM range))
