-- duplicate-pattern: the pattern of an earlier rule: this one never decides
-- severity: warning, error where every rule is required
-- advice: delete it
SELECT r.ord AS rule, 0 AS place, NULL AS name,
       'rule ' || (SELECT min(ord) FROM rule o
                   WHERE o.ruleset = r.ruleset AND o.pattern = r.pattern) || ' has it too' AS detail
FROM rule r
WHERE r.ruleset = (SELECT ruleset FROM given)
  AND EXISTS (SELECT 1 FROM rule o WHERE o.ruleset = r.ruleset
              AND o.pattern = r.pattern AND o.ord < r.ord)
