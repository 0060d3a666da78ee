-- conversion.sql - what a rule set of dialect convert makes of a checkpoint: tensors under new
-- names, rearranged, cut up, joined. A row for each result and each tensor that it is made of,
-- which is part number `part` of `parts`; part 0 has the recipe (catalog/compose/compose.h).
WITH
  option(unmatched) AS MATERIALIZED (
    SELECT ifnull(options ->> 'unmatched', 'error') FROM ruleset WHERE name = :ruleset
  ),
  -- The set with what it takes from this checkpoint's metadata (catalog/map/setting.h).
  bound(ruleset) AS MATERIALIZED (SELECT rule_bound(:ruleset, :checkpoint_id)),
  asked(place, name, tensor_id, dtype, shape, status, rule, error, casts, ops, parts)
  AS MATERIALIZED (
    SELECT *, operation_parts(ops, shape)
    FROM (
      SELECT place, name, tensor_id, dtype, shape, rule_status(ruleset, name),
             rule_match(ruleset, name), rule_error(ruleset, name),
             iif(tensor_id IS NULL, NULL, rule_cast(ruleset, name)),
             iif(tensor_id IS NULL, NULL, rule_ops(ruleset, name)) AS ops
      FROM bound CROSS JOIN leaf WHERE checkpoint_id = :checkpoint_id
    )
  ),
  -- One of a tensor, or several. What is to be joined says how (operation_join()).
  cut(place, nth, name, new_name, tensor_id, dtype, shape, rule, casts, ops, how)
  AS MATERIALIZED (
    SELECT place, 0, name, rule_replace(ruleset, name), tensor_id, dtype, shape, rule, casts,
           ops, operation_join(ops)
    FROM bound CROSS JOIN asked WHERE status = 'ok' AND parts IS NULL
    UNION ALL
    SELECT place, p.key, name, rule_part(ruleset, name, p.value ->> 0), tensor_id, dtype,
           shape, rule, casts, nullif(p.value ->> 1, '[]'), NULL
    FROM bound CROSS JOIN asked CROSS JOIN json_each(parts) p
    WHERE status = 'ok'
    UNION ALL
    SELECT place, 0, name, name, tensor_id, dtype, shape, NULL, NULL, NULL, NULL
    FROM asked CROSS JOIN option WHERE status = 'unmatched' AND unmatched = 'keep'
  ),
  -- The operations before the join are done on each part.
  piece(place, nth, name, new_name, tensor_id, dtype, shape, rule, ops, how, key, after, error)
  AS MATERIALIZED (
    SELECT place, nth, name, new_name, tensor_id, ifnull(casts, dtype),
           iif(ops IS NULL, shape, operation_shape(ops, shape)), rule, ops,
           how ->> 0, how ->> 1, how ->> 3,
           iif(ops IS NULL, NULL, coalesce(operation_parts_error(ops, shape),
                                           operation_error(ops, shape, dtype)))
    FROM (
      SELECT place, nth, name, new_name, tensor_id, dtype, shape, rule, casts, how,
             iif(how IS NULL, ops, how ->> 2) AS ops
      FROM cut LIMIT -1 -- keeps this from being worked out again for each mention
    )
  ),
  -- Names that several pieces share: good where all are to be joined, and alike.
  shared(new_name, parts, size, shape, error) AS MATERIALIZED (
    SELECT new_name, count(*),
           iif(how LIKE '["stack"%', count(*), sum(along)), min(shape),
           CASE
             WHEN count(how) < count(*)
               THEN 'ValueError: ' || python_repr(new_name) || ' is the new name of '
                 || python_repr(min(name)) || ' and of '
                 || iif(min(name) = max(name), 'another part of it', python_repr(max(name)))
             WHEN count(DISTINCT rule) > 1 AND count(DISTINCT how || after) > 1
               THEN 'ValueError: rules ' || min(rule) || ' and ' || max(rule)
                 || ' join the parts of ' || python_repr(new_name) || ' in different ways'
             WHEN count(key) < count(*)
               THEN 'ValueError: how parts follow each other is no whole number'
             WHEN count(DISTINCT key) < count(*)
               THEN 'ValueError: two parts of ' || python_repr(new_name)
                 || ' have the same number'
             WHEN min(key) <> 0 OR max(key) <> count(*) - 1
               THEN 'ValueError: parts of ' || python_repr(new_name) || ' are missing: there are '
                 || count(*) || ', numbered ' || min(key) || ' to ' || max(key)
             WHEN count(DISTINCT dtype) > 1 OR count(DISTINCT rest) > 1
               THEN 'ValueError: parts of ' || python_repr(new_name)
                 || ' have different shapes or dtypes: ' || min(shape) || ' ' || min(dtype)
                 || ' and ' || max(shape) || ' ' || max(dtype)
           END
    FROM (
      SELECT *, operation_along(how, shape) AS along,
             iif(how LIKE '["stack"%', shape, operation_whole(how, 0, shape, '[]')) AS rest
      FROM piece
    )
    GROUP BY new_name HAVING count(*) > 1 OR count(how) > 0
  ),
  recipe(new_name, parts) AS MATERIALIZED (
    SELECT new_name, json_group_array(json_array(tensor_id, json(nullif(ops, '[]'))))
    FROM (SELECT * FROM piece WHERE how IS NOT NULL ORDER BY new_name, key LIMIT -1)
    GROUP BY new_name
  ),
  -- Recipes can be long: only their own rows are to meet them.
  made AS (
    SELECT *, NULL AS made_of FROM piece WHERE key IS NOT 0
    UNION ALL
    SELECT p.*, e.parts FROM piece p JOIN recipe e ON e.new_name = p.new_name
    WHERE p.key = 0
  ),
  result AS (
    SELECT p.*, s.parts, s.error AS fault,
           iif(s.parts IS NULL OR p.how IS NULL, p.shape,
               operation_whole(p.how, s.size, s.shape, p.after)) AS whole,
           iif(s.parts IS NULL OR p.how IS NULL, NULL,
               operation_whole_error(p.how, s.size, s.shape, p.after)) AS misfit
    FROM made p LEFT JOIN shared s ON s.new_name = p.new_name
  )
SELECT x.place, x.nth, x.new_name, x.old_name, x.tensor_id, x.dtype, x.shape, x.part, x.parts,
       x.ops, x.recipe, x.rule, x.status, x.error, x.note
FROM (
  SELECT r.place, r.nth, r.new_name, r.name AS old_name, r.tensor_id, r.dtype, r.whole AS shape,
         iif(r.how IS NULL, 0, ifnull(r.key, 0)) AS part,
         iif(r.how IS NULL, 1, r.parts) AS parts,
         iif(r.how IS NULL, r.ops,
             json_array(json(ifnull(r.ops, '[]')), json(r.how), json(r.after))) AS ops,
         CASE
           WHEN coalesce(r.error, r.fault, r.misfit) IS NOT NULL THEN NULL
           WHEN r.how IS NOT NULL AND r.key = 0
             THEN json_array(json(r.made_of), json(r.how), json(nullif(r.after, '[]')))
           WHEN r.how IS NULL AND r.ops IS NOT NULL
             THEN json_array(json_array(json_array(r.tensor_id, json(r.ops))), NULL, NULL)
         END AS recipe,
         r.rule,
         iif(coalesce(r.error, r.fault, r.misfit) IS NULL, 'ok', 'error') AS status,
         coalesce(r.error, r.fault, r.misfit) AS error,
         iif(r.rule IS NULL, 'no rule matches; kept', NULL) AS note
  FROM result r
  UNION ALL
  SELECT place, 0, NULL, name, tensor_id, dtype, shape, 0, 1, NULL, NULL, rule,
         iif(status = 'unmatched' AND unmatched = 'drop', 'dropped', status), error,
         iif(status = 'unmatched' AND unmatched = 'drop', 'no rule matches', NULL)
  FROM asked CROSS JOIN option
  WHERE status <> 'ok' AND NOT (status = 'unmatched' AND unmatched = 'keep')
) x
