-- map_inverse.sql - map_inverse(ruleset, source[, target]): the inverse map, as literal rules of
-- T5X's translator, whose pattern is the new name and whose replacement is the old one. It is
-- derived from the results of the map, never from its patterns. `error` says why a row cannot be
-- inverted. (target 0 means none.)
WITH
  given(ruleset, source, target) AS MATERIALIZED (
    SELECT known_ruleset(:ruleset), known_checkpoint(:source), known_checkpoint(nullif($target, 0))
  ),
  option(dialect) AS MATERIALIZED (
    SELECT dialect FROM ruleset WHERE name = (SELECT ruleset FROM given)
  ),
  mapping(old_name, new_name, status, ops) AS MATERIALIZED (
    SELECT old_name, new_name, status, ops
    FROM option CROSS JOIN translation_rows((SELECT ruleset FROM given))
    WHERE dialect_is(dialect, 'translation') AND checkpoint_id = (SELECT source FROM given)
    UNION ALL
    SELECT old_name, new_name, status, ops
    FROM option CROSS JOIN assignment_rows((SELECT ruleset FROM given),
      (SELECT source FROM given), (SELECT target FROM given))
    WHERE dialect_is(dialect, 'assignment') AND status <> 'missing'
    UNION ALL
    SELECT old_name, new_name, status, ops
    FROM option CROSS JOIN conversion_rows((SELECT ruleset FROM given),
      (SELECT source FROM given))
    WHERE dialect_is(dialect, 'conversion')
  ),
  owners(new_name, sources) AS MATERIALIZED (
    SELECT new_name, count(DISTINCT old_name) FROM mapping WHERE new_name IS NOT NULL
    GROUP BY new_name
  )
SELECT row_number() OVER () AS ord,
       regexp_replace('[][\\^$.|?*+(){}#&~\s-]', m.new_name, '\\\g<0>')
         || iif(n.new_name IS NULL, '', '\Z') AS pattern, -- '$' also matches before a final newline
       replace(m.old_name, '\', '\\') AS replacement,
       CASE WHEN m.status NOT IN ('ok', 'mapped', 'kept')
              THEN 'the tensor goes nowhere: it cannot come back'
            WHEN o.sources > 1 THEN 'several tensors became this name'
            WHEN m.ops IS NOT NULL
              THEN 'a map back has to undo ' || m.ops || ' too' END AS error
FROM mapping m LEFT JOIN owners o ON o.new_name = m.new_name
LEFT JOIN owners n ON n.new_name = m.new_name || char(10)
