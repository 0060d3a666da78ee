-- translation.sql - the leaves of a checkpoint after a rule set, as in T5X's CheckpointTranslator.
-- renamed_leaves() has a row for each leaf, in the file's order, with the result of the first rule whose
-- pattern meets its name: the new name, dtype and shape, or in `error` the original's exception for
-- it. The original puts the leaves into a dict, so the last of several that get the same name wins; a
-- strict set refuses the others. A fault in the set's options is an error of every leaf.
WITH
  given(strict, fault) AS MATERIALIZED (
    SELECT EXISTS (SELECT 1 FROM json_each(iif(json_valid(options), options, '{}'))
                   WHERE key = 'mode' AND value = 'strict'),
           'ValueError: ' || options_fault(dialect, options)
    FROM ruleset WHERE name = :ruleset
  ),
  judged AS (
    SELECT l.*, g.strict,
           coalesce(g.fault,
                    iif(g.strict AND l.new_name IS NOT NULL AND NOT l.wins,
                        'ValueError: a later name becomes ' || python_repr(l.new_name) || ' too', NULL)) AS refused
    FROM given g CROSS JOIN renamed_leaves(:ruleset, :source) l
  )
SELECT ord,
       place,
       tensor_id,
       is_tensor,
       old_name,
       new_name,
       dtype,
       shape,
       ops,
       rule,
       iif(refused IS NULL, status, 'error') AS status,
       coalesce(refused, error) AS error,
       error AS raised,
       iif(NOT strict AND NOT wins AND status = 'ok',
           'hidden by a later name that becomes the same', NULL) AS note,
       wins
FROM judged
