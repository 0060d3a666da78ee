-- one-to-many: one tensor goes to several names
-- severity: note
SELECT NULL AS rule, min(place) AS place, old_name AS name,
       'for example ' || min(new_name) || ' and ' || max(new_name) AS detail
FROM result WHERE tensor_id IS NOT NULL GROUP BY old_name
HAVING count(DISTINCT new_name) > 1
