-- translation.sql - what a rule set makes of the leaves of a checkpoint, as T5X's CheckpointTranslator
-- does: the first rule whose pattern meets a leaf's name gives it the new one. The original puts the
-- leaves into a dict, so the last of several that get the same name wins.
WITH
  -- The rule that meets each name, and what it gives.
  renamed AS NOT MATERIALIZED (
    SELECT l.place, l.tensor_id, l.name, l.dtype, l.shape, r.ord AS rule, r.replacement,
           rule_replace(:ruleset, l.name) AS new_name,
           iif(l.tensor_id IS NULL, NULL, rule_cast(:ruleset, l.name)) AS cast_to,
           iif(l.tensor_id IS NULL, NULL, rule_ops(:ruleset, l.name)) AS ops
    FROM leaf l LEFT JOIN rule r ON r.ruleset = :ruleset AND r.ord = rule_first(:ruleset, l.name)
    WHERE l.checkpoint_id = :source
  ),
  winner(place) AS (SELECT max(place) FROM renamed WHERE new_name IS NOT NULL GROUP BY new_name),
  -- What the original raises for a leaf; where the whole set is wrong, or strict, we do.
  given(strict, fault) AS (
    SELECT EXISTS (SELECT 1 FROM json_each(iif(json_valid(options), options, '{}'))
                   WHERE key = 'mode' AND value = 'strict'), options_fault(dialect, options)
    FROM ruleset WHERE name = :ruleset
  ),
  judged AS (
    SELECT r.*, r.place IN winner AS wins,
           iif((SELECT strict FROM given) AND r.new_name IS NOT NULL AND r.place NOT IN winner,
               'ValueError: a later name becomes ' || python_repr(r.new_name) || ' too', NULL) AS refused,
           iif(r.ops IS NULL, NULL, operation_error(r.ops, r.shape, r.dtype)) AS impossible
    FROM renamed r
  )
SELECT ID_OWNER(j.place) / 2 AS ord,
       j.place,
       j.tensor_id,
       j.tensor_id IS NOT NULL AS is_tensor,
       j.name AS old_name,
       j.new_name,
       CASE WHEN j.cast_to IS NOT NULL THEN j.cast_to
            WHEN j.ops IS NOT NULL THEN operation_dtype(j.dtype) ELSE j.dtype END AS dtype,
       CASE WHEN j.ops IS NULL THEN j.shape
            WHEN j.impossible IS NULL THEN operation_shape(j.ops, j.shape) END AS shape,
       j.ops,
       j.rule,
       CASE WHEN (SELECT fault FROM given) IS NOT NULL OR j.refused IS NOT NULL OR j.impossible IS NOT NULL
              OR rule_error(:ruleset, j.name) IS NOT NULL THEN 'error'
            WHEN j.rule IS NULL THEN 'unmatched'
            WHEN j.replacement IS NULL THEN 'dropped' ELSE 'ok' END AS status,
       coalesce('ValueError: ' || (SELECT fault FROM given), j.refused, j.impossible,
                rule_error(:ruleset, j.name)) AS error,
       iif(j.new_name IS NOT NULL AND NOT j.wins AND j.refused IS NULL AND j.impossible IS NULL,
           'hidden by a later name that becomes the same', NULL) AS note,
       j.wins
FROM judged j
