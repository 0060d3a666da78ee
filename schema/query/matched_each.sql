-- matched_each.sql - the leaves of a checkpoint, and what every rule of a set that matches a
-- leaf's name makes of it: a row for each. No rule: one row, whose `ord` is NULL.
SELECT l.place, l.name, l.tensor_id IS NOT NULL AS is_tensor, l.dtype, l.shape, NULL AS kind,
       r.ord,
       rule_status(:ruleset, l.name, r.ord) AS status,
       rule_replace(:ruleset, l.name, r.ord) AS replacement,
       rule_error(:ruleset, l.name, r.ord) AS error,
       rule_cast(:ruleset, l.name, r.ord) AS "cast",
       rule_ops(:ruleset, l.name, r.ord) AS ops
FROM leaf l LEFT JOIN rule r
  ON r.ruleset = :ruleset AND rule_status(:ruleset, l.name, r.ord) <> 'unmatched'
WHERE l.checkpoint_id = :checkpoint_id
