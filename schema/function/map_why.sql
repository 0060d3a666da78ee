-- map_why.sql - map_why(checkpoint, name[, target, map]): a row for each map that turns the name
-- of a checkpoint into another, or another name into this one, with the rule that does. Maps that
-- assign are included only if there is a target. `map` restricts it to one map, which then also
-- reports that no rule matches. (target 0 and map '' mean none.)
WITH
  given(checkpoint, name, target, map) AS MATERIALIZED (
    SELECT known_checkpoint(:checkpoint), :name, known_checkpoint(nullif($target, 0)),
           known_ruleset(nullif($map, ''))
  ),
  asked(ruleset, dialect) AS MATERIALIZED (
    SELECT r.name, r.dialect FROM given g CROSS JOIN ruleset r WHERE r.name = ifnull(g.map, r.name)
  ),
  translated AS MATERIALIZED (
    SELECT a.ruleset, x.rule, x.old_name, x.new_name,
           iif(x.is_tensor, ID_FIRST(g.checkpoint) + x.ord, NULL) AS tensor_id, 'translated' AS origin,
           x.dtype, x.shape, x.status, x.error,
           iif(x.status = 'ok' AND NOT x.wins, 'hidden by a later name that becomes the same', NULL)
             AS note
    FROM given g CROSS JOIN asked a CROSS JOIN translation_rows(a.ruleset) x
    WHERE dialect_is(a.dialect, 'translation') AND x.checkpoint_id = g.checkpoint
      AND g.name IN (x.old_name, x.new_name)
  ),
  -- What the T5 importer changes afterwards: it adds zeros, and renames biases.
  restored(ruleset, rule, old_name, new_name, tensor_id, origin, dtype, shape, status, error, note)
  AS MATERIALIZED (
    SELECT a.ruleset, rule_first(a.ruleset, x.old_name), x.old_name, x.name, x.tensor_id, x.origin,
           x.dtype, x.shape, x.status, x.error, x.note
    FROM given g CROSS JOIN asked a CROSS JOIN restore_rows(a.ruleset, g.checkpoint, 0, 1) x
    WHERE dialect_is(a.dialect, 'translation') AND x.status <> 'error' AND g.name IN (x.old_name, x.name)
  ),
  made AS (
    SELECT * FROM restored
    UNION ALL
    SELECT * FROM translated t
    WHERE NOT EXISTS (SELECT 1 FROM restored r WHERE r.ruleset = t.ruleset AND r.old_name = t.old_name)
    UNION ALL
    SELECT a.ruleset, x.rule, x.old_name, x.new_name, x.tensor_id, 'converted', x.dtype, x.shape,
           x.status, x.error, x.note
    FROM given g CROSS JOIN asked a CROSS JOIN conversion_rows(a.ruleset, g.checkpoint) x
    WHERE dialect_is(a.dialect, 'conversion') AND (x.rule IS NOT NULL OR g.map IS NOT NULL)
      AND g.name IN (x.old_name, x.new_name)
    UNION ALL
    SELECT a.ruleset, x.rule, x.old_name, x.new_name, x.tensor_id, 'assigned', x.dtype, x.shape,
           x.status, x.error, x.note
    FROM given g CROSS JOIN asked a CROSS JOIN assignment_rows(a.ruleset, g.checkpoint, g.target) x
    WHERE dialect_is(a.dialect, 'assignment') AND g.target IS NOT NULL
      AND g.name IN (x.old_name, x.new_name)
  )
SELECT m.ruleset, m.old_name, m.new_name, m.origin, m.status, m.error,
       iif(m.status = 'unmatched', 'no rule matches', m.note) AS note, m.rule, u.pattern, u.replacement,
       m.dtype, m.shape, t.storage, t.file, t.offset, t.stored, m.tensor_id,
       iif(m.origin = 'assigned', (SELECT path FROM _checkpoints WHERE id = g.target), NULL) AS onto
FROM given g CROSS JOIN made m
LEFT JOIN rule u ON u.ruleset = m.ruleset AND u.ord = m.rule
LEFT JOIN tensor t ON t.checkpoint_id = g.checkpoint AND t.name = m.old_name
  AND m.tensor_id IS NOT NULL
WHERE m.status <> 'unmatched' OR g.map IS NOT NULL
ORDER BY m.ruleset
