-- matched_first.sql - the leaves of a checkpoint, and what the first rule of a set that matches a
-- leaf's name makes of it. No rule: `ord` is NULL.
SELECT place, name, tensor_id IS NOT NULL AS is_tensor, dtype, shape, NULL AS kind,
       rule_match(:ruleset, name) AS ord,
       rule_status(:ruleset, name) AS status,
       rule_replace(:ruleset, name) AS replacement,
       rule_error(:ruleset, name) AS error,
       rule_cast(:ruleset, name) AS "cast",
       rule_ops(:ruleset, name) AS ops
FROM leaf WHERE checkpoint_id = :checkpoint_id
