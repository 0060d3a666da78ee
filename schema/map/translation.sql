-- translation.sql - what a rule set makes of the leaves of a checkpoint, as T5X's CheckpointTranslator
-- does: the first rule whose pattern meets a leaf's name gives it the new one. The original puts the
-- leaves into a dict, so the last of several that get the same name wins. `raised` is what it raises for
-- the leaf by itself; `error` also counts what is wrong with the set, and what a strict set refuses.
WITH
  -- The rule that meets each name, and what it gives.
  renamed AS NOT MATERIALIZED (
    SELECT l.place, l.tensor_id, l.name, l.dtype, l.shape, r.ord AS rule, r.replacement,
           rule_replace(:ruleset, l.name) AS new_name,
           iif(r.ops IS NULL OR l.tensor_id IS NULL, NULL, rule_cast(:ruleset, l.name)) AS cast_to,
           iif(r.ops IS NULL OR l.tensor_id IS NULL, NULL, rule_ops(:ruleset, l.name)) AS ops
    FROM leaf l LEFT JOIN rule r ON r.ruleset = :ruleset AND r.ord = rule_first(:ruleset, l.name)
    WHERE l.checkpoint_id = :source
  ),
  -- The leaves whose name a later one gets, too.
  -- (LIMIT: without it SQLite 3.40 would first make an index of all leaves here.)
  hidden(place) AS MATERIALIZED (
    SELECT value FROM json_each((
      SELECT hidden_places(rule_replace(:ruleset, name), place)
      FROM (SELECT name, place FROM leaf WHERE checkpoint_id = :source LIMIT -1)))
  ),
  given(strict, fault) AS (
    SELECT EXISTS (SELECT 1 FROM json_each(iif(json_valid(options), options, '{}'))
                   WHERE key = 'mode' AND value = 'strict'), options_fault(dialect, options)
    FROM ruleset WHERE name = :ruleset
  ),
  judged AS (
    SELECT r.*, r.place IN hidden AS is_hidden,
           iif((SELECT strict FROM given) AND r.place IN hidden,
               'ValueError: a later name becomes ' || python_repr(r.new_name) || ' too', NULL) AS refused,
           iif(r.ops IS NULL, NULL, operation_error(r.ops, r.shape, r.dtype)) AS impossible,
           rule_error(:ruleset, r.name) AS rule_error
    FROM renamed r
  )
SELECT ID_OWNER(j.place) / 2 AS ord,
       j.place,
       j.tensor_id,
       j.tensor_id IS NOT NULL AS is_tensor,
       j.name AS old_name,
       j.new_name,
       coalesce(j.cast_to, iif(j.ops IS NULL, j.dtype, operation_dtype(j.dtype))) AS dtype,
       CASE WHEN j.ops IS NULL THEN j.shape
            WHEN j.impossible IS NULL THEN operation_shape(j.ops, j.shape) END AS shape,
       j.ops,
       j.rule,
       CASE WHEN coalesce((SELECT fault FROM given), j.refused, j.impossible, j.rule_error) IS NOT NULL
              THEN 'error'
            WHEN j.rule IS NULL THEN 'unmatched'
            WHEN j.replacement IS NULL THEN 'dropped' ELSE 'ok' END AS status,
       coalesce('ValueError: ' || (SELECT fault FROM given), j.refused, j.impossible, j.rule_error)
         AS error,
       coalesce(j.impossible, j.rule_error) AS raised,
       iif(j.is_hidden AND j.refused IS NULL AND j.impossible IS NULL,
           'hidden by a later name that becomes the same', NULL) AS note,
       j.new_name IS NOT NULL AND NOT j.is_hidden AS wins
FROM judged j
