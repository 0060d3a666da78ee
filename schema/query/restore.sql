-- restore.sql - what T5X's restore_from_t5_checkpoint makes of a checkpoint: translate, add
-- the optimizer slots that are missing, correct the names of relative position biases, and
-- update a model's state. :target_id 0: without a model.
--
-- The original works on one dict, and so `turn` is when a name entered it: a value that
-- replaces another keeps the other's place. It stops at the first error; here all of the
-- first step that has any are told, and the steps behind it are not taken.
WITH
  -- 1 Translate. Of the leaves with one new name the last wins.
  translated(place, old_name, tensor_id, dtype, shape, status, rule, name, error, ops)
  AS MATERIALIZED (
    SELECT place, name, tensor_id,
           iif(tensor_id IS NULL, NULL, ifnull(rule_cast(:ruleset, name), dtype)),
           iif(ops IS NULL, shape, operation_shape(ops, shape)),
           iif(operation_error(ops, shape, dtype) IS NULL, rule_status(:ruleset, name),
               'error'),
           rule_match(:ruleset, name), rule_replace(:ruleset, name),
           ifnull(operation_error(ops, shape, dtype), rule_error(:ruleset, name)), ops
    FROM (
      SELECT *, iif(tensor_id IS NULL, NULL, rule_ops(:ruleset, name)) AS ops
      FROM leaf WHERE checkpoint_id = :checkpoint_id
    )
  ),
  failed(step) AS MATERIALIZED (
    SELECT CASE WHEN EXISTS (SELECT 1 FROM translated WHERE status = 'error') THEN 'rule'
                WHEN EXISTS (SELECT 1 FROM translated WHERE status = 'unmatched')
                  THEN 'unmapped' END
  ),
  unmapped(list, count) AS MATERIALIZED (
    SELECT group_concat(python_repr(old_name) || ': '
             || iif(tensor_id IS NULL, 'None',
                    'LazyThreadPoolArray(shape=' || ifnull(python_shape(shape), 'None')
                    || ', dtype=' || ifnull(dtype, 'None') || ')'), ', '), count(*)
    FROM (SELECT * FROM translated WHERE status = 'unmatched' ORDER BY place)
  ),
  first_step(name, turn, place) AS MATERIALIZED ( -- place: of the leaf that wins
    SELECT name, min(place), max(place) FROM translated WHERE status = 'ok' GROUP BY name
  ),
  -- 2 Zeros for the slots that a parameter lacks, also over a slot that is there.
  owner(slot, turn) AS MATERIALIZED (
    SELECT 'state/param_states' || substr(name, 7), turn
    FROM first_step WHERE substr(name, 1, 6) = 'target'
  ),
  zeros(name, turn) AS MATERIALIZED (
    SELECT slot || '/m', (1 << 60) + turn * 4 FROM owner
    UNION ALL
    SELECT slot || '/v_row', (1 << 60) + turn * 4 + 1 FROM owner
    WHERE slot || '/v' IN (SELECT name FROM first_step)
    UNION ALL
    SELECT slot || '/v_col', (1 << 60) + turn * 4 + 2 FROM owner
    WHERE slot || '/v' IN (SELECT name FROM first_step)
    UNION ALL
    SELECT slot || '/v', (1 << 60) + turn * 4 + 3 FROM owner
    WHERE slot || '/v' NOT IN (SELECT name FROM first_step)
      AND slot || '/v_row' IN (SELECT name FROM first_step)
  ),
  second_step(name, turn, place) AS MATERIALIZED ( -- place NULL: zeros
    SELECT f.name, f.turn, iif(z.name IS NULL, f.place, NULL)
    FROM first_step f LEFT JOIN zeros z ON z.name = f.name
    UNION ALL
    SELECT name, turn, NULL FROM zeros WHERE name NOT IN (SELECT name FROM first_step)
  ),
  -- 3 Where no layer but the first has a relative position bias, all layers share it.
  shared(is_shared) AS MATERIALIZED (
    SELECT NOT EXISTS (
      SELECT 1 FROM second_step
      WHERE python_int(regexp_capture('layers_(\d+)/relpos_bias', name, 1)) <> '0')
  ),
  renamed(name, turn, place, was) AS MATERIALIZED (
    SELECT iif(is_shared, regexp_replace('layers_\d+/relpos_bias', name, 'relpos_bias'),
               name), turn, place, name
    FROM second_step CROSS JOIN shared
  ),
  third_step(name, turn, last) AS MATERIALIZED (
    SELECT name, min(turn), max(turn) FROM renamed GROUP BY name
  ),
  -- 4 The model: it has the last word on names and shapes.
  model(name, shape) AS MATERIALIZED (
    SELECT name, shape FROM leaf WHERE checkpoint_id = :target_id
  ),
  state(name, turn, place, dtype, shape, old_name, tensor_id, rule, known, wanted, ops)
  AS MATERIALIZED (
    SELECT s.name, s.turn, r.place,
           iif(r.place IS NULL, 'float32', t.dtype), iif(r.place IS NULL, '[1]', t.shape),
           t.old_name, t.tensor_id, t.rule, :target_id = 0 OR m.name IS NOT NULL, m.shape,
           t.ops
    FROM third_step s
    JOIN renamed r ON r.name = s.name AND r.turn = s.last
    LEFT JOIN translated t ON t.place = r.place
    LEFT JOIN model m ON m.name = s.name
  ),
  -- What became of each leaf, and each zero.
  entry(turn, name, old_name, tensor_id, origin, dtype, shape, status, error, note, ops)
  AS MATERIALIZED (
    SELECT place, name, old_name, tensor_id, 'translated', dtype, shape,
           iif(status = 'unmatched', 'error', status),
           CASE WHEN status = 'unmatched' THEN
             'ValueError: Unmapped tensor keys exist: {'
             || iif((SELECT count FROM unmapped) <= 100
                    OR place = (SELECT min(place) FROM translated
                                WHERE status = 'unmatched'),
                    (SELECT list FROM unmapped), '...') || '}' ELSE error END,
           NULL, NULL
    FROM translated CROSS JOIN failed
    WHERE status IN ('dropped', 'error') OR (status = 'unmatched' AND step = 'unmapped')
    UNION ALL
    SELECT turn, name, old_name, tensor_id, iif(place IS NULL, 'zeros', 'translated'),
           dtype, shape,
           CASE WHEN NOT known AND NOT :strict THEN 'dropped'
                WHEN NOT known OR wanted <> shape THEN 'error' ELSE 'ok' END,
           CASE WHEN NOT known AND :strict THEN 'KeyError: ' || python_repr(name)
                WHEN known AND wanted <> shape THEN
                  'ValueError: Variable ' || name || ' has shape ' || python_shape(shape)
                  || ' != ' || python_shape(wanted) END,
           iif(NOT known AND NOT :strict, 'the model has no such name', NULL), ops
    FROM state CROSS JOIN failed WHERE step IS NULL
    UNION ALL
    -- Leaves that another replaces.
    SELECT t.place, r.name, t.old_name, t.tensor_id, 'translated', t.dtype, t.shape,
           'dropped', NULL,
           CASE WHEN t.place <> f.place THEN 'hidden by a later name that becomes the same'
                WHEN r.place IS NULL THEN 'replaced by zeros: its parameter has other slots'
                ELSE 'hidden: a later name without its layer becomes the same' END, NULL
    FROM translated t
    JOIN first_step f ON f.name = t.name
    JOIN renamed r ON r.was = t.name
    JOIN third_step s ON s.name = r.name
    CROSS JOIN failed
    WHERE t.status = 'ok' AND step IS NULL
      AND (t.place <> f.place OR r.place IS NULL OR r.turn <> s.last)
  )
SELECT row_number() OVER (ORDER BY turn, status <> 'ok', old_name) AS ord, name, old_name, tensor_id, origin, dtype,
       shape, status, error, note, ops
FROM entry
ORDER BY ord
