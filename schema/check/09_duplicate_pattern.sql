-- duplicate-pattern: another rule has its pattern: this one never decides
-- severity: warning, error where every rule is required
-- advice: delete it
SELECT r.ord AS rule, 0 AS place, NULL AS name,
       'rule ' || (SELECT iif(last, max(ord), min(ord)) FROM rule o
                   WHERE o.ruleset = r.ruleset AND o.pattern = r.pattern) || ' does' AS detail
FROM rule r CROSS JOIN option
WHERE r.ruleset = (SELECT ruleset FROM given)
  AND EXISTS (SELECT 1 FROM rule o WHERE o.ruleset = r.ruleset AND o.pattern = r.pattern
              AND iif(last, o.ord > r.ord, o.ord < r.ord))
