-- again: the map would change its own results if it were run again
-- severity: warning
-- advice: anchor the pattern to the start of the old names
-- The second half: a rule keeps the name, so nothing shows that its operations were applied
-- already.
SELECT rule_first(bound, r.new_name) AS rule, r.place, r.new_name AS name,
       'would become ' || rule_replace(bound, r.new_name) AS detail
FROM given CROSS JOIN option CROSS JOIN result r
WHERE renames AND NOT dialect_is(dialect, 'path') -- (their patterns are not tried on names)
  AND rule_status(bound, r.new_name) = 'ok'
  AND rule_replace(bound, r.new_name) <> r.new_name
UNION ALL
SELECT r.rule, r.place, r.new_name, 'its axes would be moved again'
FROM given CROSS JOIN option CROSS JOIN doing d CROSS JOIN result r ON r.rule = d.rule
WHERE renames AND NOT dialect_is(dialect, 'path') AND d.moves AND rule_replace(bound, r.new_name) = r.new_name
  AND rule_first(bound, r.new_name) = r.rule
