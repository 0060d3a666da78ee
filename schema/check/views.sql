-- views.sql - the tables on which the checks of map_check(ruleset, source[, target]) are written:
-- the map itself (given, option, rule), what it does (mapping; result: the rows with a result),
-- and the model (target 0 means none). schema/check/join.sh appends views_rules.sql and the checks.
given(ruleset, source, target, bound) AS MATERIALIZED (
  SELECT known_ruleset(:ruleset), known_checkpoint(:source), known_checkpoint(nullif($target, 0)),
         rule_bound(:ruleset, :source)
),
option(dialect, renames, required, restores, strict, last, fault) AS MATERIALIZED (
  SELECT dialect, NOT dialect_is(dialect, 'assignment'),
         dialect_is(dialect, 'required') AND ifnull(options ->> 'require_all', 1),
         ifnull(options ->> 'restore', 0), options ->> 'mode' IS 'strict',
         dialect_is(dialect, 'last'), options_fault(dialect, options)
  FROM ruleset WHERE name = (SELECT ruleset FROM given)
),
-- The rows of the map, in the same columns for all dialects.
mapping(place, old_name, new_name, tensor_id, dtype, shape, rule, status, error, note, wins,
        part) AS MATERIALIZED (
  SELECT ord, old_name, new_name, iif(is_tensor, 1, NULL), dtype, shape, rule, status,
         error, NULL, wins, NULL
  FROM option CROSS JOIN translation_rows((SELECT ruleset FROM given))
  WHERE dialect_is(dialect, 'translation') AND checkpoint_id = (SELECT source FROM given)
  UNION ALL
  SELECT row_number() OVER (), old_name, new_name, tensor_id, dtype, shape, rule, status,
         error, note, 1, NULL
  FROM option CROSS JOIN assignment_rows((SELECT ruleset FROM given),
    (SELECT source FROM given), (SELECT target FROM given))
  WHERE NOT renames
  UNION ALL
  SELECT place, old_name, new_name, tensor_id, dtype, shape, rule, status, error, note, 1,
         part + nth
  FROM option CROSS JOIN conversion_rows((SELECT ruleset FROM given),
    (SELECT source FROM given))
  WHERE dialect_is(dialect, 'conversion')
),
result(place, old_name, new_name, tensor_id, dtype, shape, rule, status, wins, part)
AS MATERIALIZED (
  SELECT place, old_name, new_name, tensor_id, dtype, shape, rule, status, wins, part
  FROM mapping WHERE status IN ('ok', 'mapped', 'kept')
),
-- The names on which patterns are tried.
tried(place, name) AS (
  SELECT place, iif(renames, old_name, new_name)
  FROM result CROSS JOIN option WHERE NOT dialect_is(dialect, 'path')
),
model(place, name, tensor_id, dtype, shape) AS MATERIALIZED (
  SELECT place, name, tensor_id, dtype, shape FROM leaf
  WHERE checkpoint_id = (SELECT target FROM given)
),
used(rule) AS MATERIALIZED (
  SELECT DISTINCT rule FROM mapping WHERE rule IS NOT NULL
)
