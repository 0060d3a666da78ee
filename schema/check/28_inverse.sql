-- inverse: the map can be undone
-- severity: note
SELECT NULL AS rule, 0 AS place, NULL AS name,
       count(*) || ' names, one to one: map_inverse() is the map back'
         || iif(total(rule IN (SELECT rule FROM doing)), ', but for casts', '') AS detail
FROM result CROSS JOIN given
HAVING count(*) > 0 AND total(rule IN (SELECT rule FROM doing WHERE changes)) = 0
   AND count(DISTINCT new_name) = count(*)
   AND count(DISTINCT old_name) = count(*)
   AND NOT EXISTS (SELECT 1 FROM mapping WHERE status IN ('dropped', 'unmatched', 'error'))
