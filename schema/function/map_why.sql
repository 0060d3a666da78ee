-- map_why.sql - map_why(checkpoint, name[, target]): what every map makes of a name of a
-- checkpoint, and which rule of which map makes that name of what: a row for each. Maps that
-- assign are asked only where a target is given.
WITH
  given(checkpoint, name, target) AS (SELECT :checkpoint, :name, $target),
  made(ruleset, old_name, new_name, tensor_id, origin, dtype, shape, status, error, note,
       target) AS MATERIALIZED (
    SELECT r.name, x.old_name, x.name, x.tensor_id, x.origin, x.dtype, x.shape, x.status,
           x.error, x.note, NULL
    FROM given g CROSS JOIN ruleset r CROSS JOIN restore_rows(r.name, g.checkpoint, 0, 1) x
    WHERE r.dialect = 't5x-translator'
      AND (x.name = (SELECT name FROM given) OR x.old_name = (SELECT name FROM given))
      AND NOT (x.status = 'error' AND rule_status(r.name, x.old_name) = 'unmatched')
    UNION ALL
    SELECT r.name, x.old_name, x.new_name, x.tensor_id, 'converted', x.dtype, x.shape, x.status,
           x.error, x.note, NULL
    FROM given g CROSS JOIN ruleset r CROSS JOIN conversion_rows(r.name, g.checkpoint) x
    WHERE r.dialect = 'convert'
      AND (x.new_name = (SELECT name FROM given) OR x.old_name = (SELECT name FROM given))
      AND x.rule IS NOT NULL
    UNION ALL
    SELECT r.name, x.old_name, x.new_name, x.tensor_id, 'assigned', x.dtype, x.shape,
           x.status, x.error, x.note, (SELECT target FROM given)
    FROM given g CROSS JOIN ruleset r
    CROSS JOIN assignment_rows(r.name, g.checkpoint, (SELECT target FROM given)) x
    WHERE r.dialect <> 't5x-translator' AND (SELECT target FROM given) IS NOT NULL
      AND (x.new_name = (SELECT name FROM given) OR x.old_name = (SELECT name FROM given))
  )
SELECT m.ruleset, m.old_name, m.new_name, m.origin, m.status, m.error, m.note,
       u.ord AS rule, u.pattern, u.replacement, m.dtype, m.shape,
       t.storage, t.file, t.offset, t.stored, m.tensor_id,
       (SELECT path FROM checkpoints WHERE id = m.target) AS onto
FROM made m
LEFT JOIN rule u ON u.ruleset = m.ruleset
  AND u.ord = iif(m.origin IN ('translated', 'converted'), rule_match(m.ruleset, m.old_name),
                  iif(m.origin = 'assigned' AND (SELECT dialect FROM ruleset
                        WHERE name = m.ruleset) = 't5x-assignment',
                      rule_match(m.ruleset, m.new_name), NULL))
LEFT JOIN tensor t ON t.checkpoint_id = (SELECT checkpoint FROM given)
  AND t.name = m.old_name AND m.tensor_id IS NOT NULL
ORDER BY m.ruleset
