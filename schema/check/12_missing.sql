-- missing: the source has nothing for these names of the model
-- severity: warning
-- advice: add a rule for them, if they are not to keep what they have
SELECT NULL AS rule, place, new_name AS name, NULL AS detail
FROM mapping WHERE status = 'missing'
UNION ALL
SELECT NULL, place, name, NULL FROM model CROSS JOIN option
WHERE renames AND NOT restores AND tensor_id IS NOT NULL
  AND name NOT IN (SELECT new_name FROM result)
