-- dropped: a rule drops them, and no map back will have them
-- severity: note
SELECT rule, place, old_name AS name, NULL AS detail FROM mapping CROSS JOIN option
WHERE status = 'dropped' AND renames AND tensor_id IS NOT NULL
