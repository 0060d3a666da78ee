-- translation.sql - what a rule set makes of the leaves of a checkpoint, as T5X's CheckpointTranslator
-- does: the first rule whose pattern meets a leaf's name gives it the new one. The original puts the
-- leaves into a dict, so the last of several that get the same name wins. `raised` is what it raises for
-- the leaf by itself; `error` also counts what is wrong with the set, and what a strict set refuses.
-- (A name is matched once, however many functions ask about it: fn_rule.c.)
WITH
  given(strict, operates, fault) AS (
    SELECT EXISTS (SELECT 1 FROM json_each(iif(json_valid(options), options, '{}'))
                   WHERE key = 'mode' AND value = 'strict'),
           EXISTS (SELECT 1 FROM rule WHERE ruleset = :ruleset AND ops IS NOT NULL),
           'ValueError: ' || options_fault(dialect, options)
    FROM ruleset WHERE name = :ruleset
  ),
  -- The first rule that meets each name, and what it gives.
  renamed AS NOT MATERIALIZED (
    SELECT place, tensor_id, name, dtype, shape,
           rule_first(:ruleset, name) AS rule,
           rule_status(:ruleset, name) AS status,
           rule_replace(:ruleset, name) AS new_name,
           rule_error(:ruleset, name) AS rule_error,
           iif((SELECT operates FROM given) AND tensor_id IS NOT NULL, rule_cast(:ruleset, name), NULL) AS cast_to,
           iif((SELECT operates FROM given) AND tensor_id IS NOT NULL, rule_ops(:ruleset, name), NULL) AS ops
    FROM leaf WHERE checkpoint_id = :source
  ),
  -- The leaves whose name a later one gets, too.
  -- (LIMIT: without it SQLite 3.40 would first make an index of all leaves here.)
  hidden(place) AS MATERIALIZED (
    SELECT value FROM json_each((
      SELECT hidden_places(rule_replace(:ruleset, name), place)
      FROM (SELECT name, place FROM leaf WHERE checkpoint_id = :source LIMIT -1)))
  ),
  judged AS (
    SELECT r.*, r.place IN hidden AS is_hidden,
           iif((SELECT strict FROM given) AND r.place IN hidden,
               'ValueError: a later name becomes ' || python_repr(r.new_name) || ' too', NULL) AS refused,
           iif((SELECT operates FROM given), operation_error(r.ops, r.shape, r.dtype), NULL) AS impossible
    FROM renamed r
  )
SELECT ID_OWNER(place) / 2 AS ord,
       place,
       tensor_id,
       tensor_id IS NOT NULL AS is_tensor,
       name AS old_name,
       new_name,
       coalesce(cast_to, iif(ops IS NULL, dtype, operation_dtype(dtype))) AS dtype,
       iif(ops IS NULL, shape, operation_shape(ops, shape)) AS shape,
       ops,
       rule,
       iif(coalesce((SELECT fault FROM given), refused, impossible) IS NULL, status, 'error') AS status,
       coalesce((SELECT fault FROM given), refused, impossible, rule_error) AS error,
       coalesce(impossible, rule_error) AS raised,
       iif(is_hidden AND refused IS NULL AND impossible IS NULL,
           'hidden by a later name that becomes the same', NULL) AS note,
       new_name IS NOT NULL AND NOT is_hidden AS wins
FROM judged
