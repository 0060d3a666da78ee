-- torch_score.sql - how much the state in a PyTorch checkpoint differs from what each optimizer of
-- torch_state would keep. Names are STATE.PARAMETER.SLOT, where STATE ends in "state" and
-- PARAMETER is a number or a name. Parameters with the same slots are compared once. No rows:
-- there is no state.
WITH
  leaf_name(name, path, rank) AS MATERIALIZED (
    SELECT name, '.' || replace(name, '/', '.'), json_array_length(shape) FROM leaf
    WHERE checkpoint_id = :checkpoint AND tensor_id IS NOT NULL AND instr(name, 'state')
  ),
  slot(name, path, rank, slot) AS MATERIALIZED (
    SELECT name, path, rank, substr(path, length(rtrim(path, replace(path, '.', ''))) + 1)
    FROM leaf_name WHERE instr(path, '.state.')
  ),
  known(slot) AS (SELECT DISTINCT x.value FROM torch_state t, json_each(t.slots) x),
  param(param, slots, rank, first) AS MATERIALIZED (
    SELECT param, json_group_array(slot), max(rank), min(name)
    FROM (SELECT name, slot, rank, substr(path, 1, length(path) - length(slot) - 1) AS param
          FROM slot ORDER BY param, slot)
    GROUP BY param
    HAVING max(slot IN (SELECT slot FROM known))
  ),
  kind(slots, rank, params, first) AS MATERIALIZED (
    SELECT slots, rank, count(*), min(first) FROM param GROUP BY slots, rank
  ),
  -- Each variant of an optimizer with each set of slots.
  pair(optimizer, slots, rank, params, first, missing, unexpected) AS MATERIALIZED (
    SELECT t.optimizer, k.slots, k.rank, k.params, k.first,
           (SELECT group_concat(value, ', ') FROM json_each(t.slots)
            WHERE value NOT IN (SELECT value FROM json_each(k.slots))),
           (SELECT group_concat(value, ', ') FROM json_each(k.slots)
            WHERE value NOT IN (SELECT value FROM json_each(t.slots))
              AND value NOT IN (SELECT value FROM json_each(t.more)))
    FROM kind k CROSS JOIN torch_state t
    WHERE t.rank IS NULL OR ifnull(k.rank, 0) <= t.rank
  ),
  counted AS (
    SELECT *, iif(missing IS NULL, 0,
                  1 + length(missing) - length(replace(missing, ',', ''))) AS lacks,
           iif(unexpected IS NULL, 0,
               1 + length(unexpected) - length(replace(unexpected, ',', ''))) AS extra
    FROM pair
  ),
  -- The closest variant. (With min(), SQLite takes the other columns from the same row.)
  best AS (
    SELECT optimizer, params, first, missing, unexpected, lacks, extra, min(lacks + extra)
    FROM counted GROUP BY optimizer, slots, rank
  )
SELECT optimizer, sum(params * (lacks + extra)) AS differences, sum(params * lacks) AS missing,
       sum(params * extra) AS unexpected,
       min(CASE WHEN lacks THEN 'missing: ' || missing || ', beside ' || first
                WHEN extra THEN 'unexpected: ' || unexpected || ', beside ' || first END) AS first
FROM best GROUP BY optimizer
