-- not_known.sql - not_known(statement[, tensors]): the shell's note on a terminal after a statement about
-- statistics, hashes or damage that have not been computed for everything that it selects: having
-- no rows then proves nothing. `tensors` is a JSON list of the ids of the tensors that pass the statement's
-- conditions (NULL: all checkpoints; one counts as known if any part is). For duplicates it
-- appears only if no hash is known at all, since dedup hashes only tensors that could be equal.
WITH
  given(statement, tensors) AS MATERIALIZED (SELECT :statement, $tensors),
  range(first, last) AS MATERIALIZED ( -- tensors, or all of a checkpoint that has numeric ones
    SELECT ID_FIRST(c.id), ID_LAST(c.id)
    FROM given CROSS JOIN _checkpoints c
    WHERE tensors IS NULL AND c.format <> 'names'
      AND EXISTS (SELECT 1 FROM _layout_dtypes d WHERE d.id BETWEEN ID_FIRST(c.layout) AND ID_LAST(c.layout)
                  AND d.nbytes > 0 AND d.dtype NOT IN ('string', 'variant', 'resource'))
    UNION ALL
    SELECT value, value FROM given CROSS JOIN json_each(tensors)
  ),
  total(ranges, checkpoints) AS MATERIALIZED (SELECT count(*), count(DISTINCT ID_OWNER(first)) FROM range),
  asked(what, command, known, total, enough, unit) AS (
    SELECT 'statistics are', 'stats',
           (SELECT count(*) FROM range
            WHERE EXISTS (SELECT 1 FROM _tensor_statistics WHERE id BETWEEN first AND last)),
           ranges, NULL, iif(tensors IS NULL, 'checkpoints', 'tensors')
    FROM given, total WHERE regexp('(?i)\b(from|join)\s+stats\b', statement)
    UNION ALL
    SELECT 'content hashes are', iif(copies, 'dedup', 'hash'),
           (SELECT count(*) FROM range
            WHERE EXISTS (SELECT 1 FROM _tensor_hashes WHERE id BETWEEN first AND last)),
           ranges, iif(copies, 1, NULL), iif(tensors IS NULL, 'checkpoints', 'tensors')
    FROM (SELECT *, regexp('(?i)\b(from|join)\s+(duplicate|waste|shared)\b', statement) AS copies FROM given), total
    WHERE copies OR regexp('(?i)\bhash\b', statement)
    UNION ALL
    SELECT 'what verify found is', 'verify',
           (SELECT count(DISTINCT v.id) FROM range JOIN _verifications v ON v.id = ID_OWNER(first)),
           checkpoints, NULL, 'checkpoints'
    FROM given, total WHERE regexp('(?i)\b(from|join)\s+(damage|verification)\b', statement)
  )
SELECT what || ' known of ' || known || ' of ' || total || ' ' || unit || ': ckptdb ' || command || ' works out the rest'
       AS said
FROM asked WHERE known < ifnull(enough, total)
