-- duplicate-pattern: another rule has its pattern: this one never decides
-- severity: warning, error where every rule is required
-- advice: delete it
WITH twice(pattern, decides) AS MATERIALIZED (
  SELECT pattern, iif((SELECT last FROM option), max(ord), min(ord))
  FROM rule WHERE ruleset = (SELECT ruleset FROM given) GROUP BY pattern HAVING count(*) > 1
)
SELECT r.ord AS rule, 0 AS place, NULL AS name, 'rule ' || decides || ' does' AS detail
FROM rule r JOIN twice t ON t.pattern = r.pattern
WHERE r.ruleset = (SELECT ruleset FROM given) AND r.ord <> decides
