-- not-in-model: the model has no such names
-- severity: warning
-- advice: drop them by a rule
SELECT r.rule, r.place, r.new_name AS name, NULL AS detail
FROM result r CROSS JOIN given
WHERE target IS NOT NULL AND r.new_name NOT IN (SELECT name FROM model)
