-- translation.sql - what a rule set makes of the leaves of checkpoints; the view
-- `translation` asks for it by rule set. $checkpoint_id NULL: of all checkpoints.
-- (How such files are run: catalog/sql/vt_query.c.)
--
-- A layout is translated once, however many checkpoints share it.
WITH
  span(layout, checkpoints) AS MATERIALIZED (
    SELECT layout, id FROM checkpoints WHERE id = $checkpoint_id
    UNION ALL
    SELECT layout, iif(count(*) = 1, min(id), group_concat(id)) FROM checkpoints
    WHERE $checkpoint_id IS NULL GROUP BY layout
  ),
  mode(strict) AS MATERIALIZED (
    SELECT options ->> 'mode' = 'strict' FROM ruleset WHERE name = :ruleset
  ),
  -- Of the leaves with one new name the last keeps it. Their order: tensors by position, a
  -- null leaf just before the tensor it stands before. (+kind: 12_leaf.sql.)
  place(id, layout, place, name) AS (
    SELECT t.id, s.layout, ((t.id & 16777215) << 25) + (1 << 24), t.name
    FROM span s CROSS JOIN layout_tensors t
    WHERE t.id BETWEEN s.layout << 24 AND (s.layout << 24) + 16777215
    UNION ALL
    SELECT -x.id, s.layout, (x.before << 25) + (x.id & 16777215), x.name
    FROM span s CROSS JOIN layout_nodes x
    WHERE x.id BETWEEN s.layout << 24 AND (s.layout << 24) + 16777215
      AND +x.kind = 'null'
  ),
  keeper(id) AS (
    SELECT id FROM (
      SELECT p.id, max(p.place)
      FROM place p CROSS JOIN names n ON n.id = p.name
      WHERE rule_status(:ruleset, n.name) = 'ok'
      GROUP BY p.layout, rule_replace(:ruleset, n.name))
  )
SELECT e.checkpoints AS each_checkpoint_id,
       e.ord,
       e.is_tensor,
       n.name AS old_name,
       rule_replace(:ruleset, n.name) AS new_name,
       iif(e.is_tensor, ifnull(rule_cast(:ruleset, n.name), e.dtype), NULL) AS dtype,
       iif(rule_ops(:ruleset, n.name) IS NULL, e.shape,
           operation_shape(rule_ops(:ruleset, n.name), e.shape)) AS shape,
       iif(e.is_tensor, rule_ops(:ruleset, n.name), NULL) AS ops,
       rule_match(:ruleset, n.name) AS rule,
       CASE WHEN (SELECT strict FROM mode) AND rule_status(:ruleset, n.name) = 'ok'
                 AND e.id NOT IN keeper
            THEN 'error'
            WHEN e.is_tensor
                 AND operation_error(rule_ops(:ruleset, n.name), e.shape, e.dtype) IS NOT NULL
            THEN 'error' ELSE rule_status(:ruleset, n.name) END AS status,
       CASE WHEN (SELECT strict FROM mode) AND rule_status(:ruleset, n.name) = 'ok'
                 AND e.id NOT IN keeper
            THEN 'ValueError: a later name becomes '
                 || python_repr(rule_replace(:ruleset, n.name)) || ' too'
            WHEN e.is_tensor AND rule_ops(:ruleset, n.name) IS NOT NULL
            THEN operation_error(rule_ops(:ruleset, n.name), e.shape, e.dtype)
            ELSE rule_error(:ruleset, n.name) END AS error,
       e.id IN keeper AS wins
FROM (
  -- Expressions, not bare columns, where the arms would differ in affinity: SQLite flattens
  -- a UNION ALL only where they are alike, and what is flattened computes no column in vain.
  SELECT -x.id AS id, x.name, s.checkpoints, x.before + 0 AS ord, 0 AS is_tensor,
         CAST(NULL AS TEXT) AS dtype, CAST(NULL AS TEXT) AS shape
  FROM span s CROSS JOIN layout_nodes x
  WHERE x.id BETWEEN s.layout << 24 AND (s.layout << 24) + 16777215
    AND +x.kind = 'null'
  UNION ALL
  SELECT t.id + 0, t.name, s.checkpoints, t.id & 16777215, 1, t.dtype, t.shape
  FROM span s CROSS JOIN layout_tensors t
  WHERE t.id BETWEEN s.layout << 24 AND (s.layout << 24) + 16777215
) e
CROSS JOIN names n ON n.id = e.name
