-- shadowed: another rule takes the names of this one
-- severity: warning, error where every rule is required
-- advice: move it, or delete it
SELECT rule, 0 AS place, NULL AS name, detail
FROM idle WHERE detail IS NOT NULL AND pattern NOT IN ('.*', '(.*)', '(?s:.*)', '(?s:(.*))')
