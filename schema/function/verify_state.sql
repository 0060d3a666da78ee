-- verify_state.sql - verify_state(optimizer, checkpoint): in what the state that a checkpoint
-- holds differs from the one that the optimizer would keep (query/state_diff.sql), and what
-- setting of Adafactor would explain it. No rows: they agree.
WITH
  given(optimizer, checkpoint) AS MATERIALIZED (
    SELECT known_optimizer(:optimizer), known_checkpoint(:checkpoint)
  ),
  param(name, shape, second) AS MATERIALIZED (
    SELECT name, shape,
           (SELECT value FROM json_each(shape) ORDER BY value DESC LIMIT 1 OFFSET 1)
    FROM optimizer_params((SELECT checkpoint FROM given))
  ),
  held(name, shape) AS MATERIALIZED (
    SELECT name, shape FROM leaf
    WHERE checkpoint_id = (SELECT checkpoint FROM given) AND tensor_id IS NOT NULL
      AND substr(name, 1, 19) = 'state/param_states/'
  ),
  -- From the second largest dimension on, the heuristic factors.
  bound(unfactored, factored) AS MATERIALIZED (
    SELECT max(iif(h.shape = p.shape, p.second, NULL)),
           min(iif(h.shape = '[1]', p.second, NULL))
    FROM param p JOIN held h ON h.name = 'state/param_states/' || p.name || '/v'
    WHERE p.second IS NOT NULL AND json_array_length(p.shape) = 2
  ),
  slot(name, slot, shape, second) AS MATERIALIZED (
    SELECT 'state/param_states/' || p.name || '/' || s.column1, s.column1, p.shape, p.second
    FROM param p CROSS JOIN (VALUES ('v_row'), ('v_col'), ('v'), ('m')) s
  )
SELECT d.name, d.problem, d.expected, d.found,
       CASE
         WHEN d.problem <> 'shape' OR o.spec -> 'optax' IS NOT NULL THEN NULL
         WHEN s.slot = 'm' AND h.shape = s.shape THEN 'looks like momentum on: beta1 is set'
         WHEN s.slot = 'm' AND h.shape = '[1]' THEN 'looks like momentum off: beta1 is null'
         WHEN s.second IS NULL OR json_array_length(s.shape) <> 2 THEN NULL
         WHEN b.factored IS NULL
           THEN 'looks like min_dim_size_to_factor > ' || b.unfactored || ', or factored false'
         WHEN b.unfactored IS NULL
           THEN 'looks like min_dim_size_to_factor = ' || b.factored || ' or less'
         WHEN b.unfactored < b.factored
           THEN 'looks like min_dim_size_to_factor = ' || b.factored || ' (' ||
             (b.unfactored + 1) || ' to ' || b.factored || ')'
         ELSE 'no min_dim_size_to_factor explains it: is there a factor_map with BATCH?'
       END AS hint
FROM given g CROSS JOIN optimizer o CROSS JOIN state_diff_rows(o.spec, g.checkpoint) d
CROSS JOIN bound b
LEFT JOIN slot s ON s.name = d.name
LEFT JOIN held h ON h.name = d.name
WHERE o.name = g.optimizer
ORDER BY d.ord
