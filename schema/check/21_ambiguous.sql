-- ambiguous: these names are one when joined by dots
-- severity: warning
-- advice: keep them joined by "/", or rename
WITH dotted(name) AS (
  SELECT replace(new_name, '/', '.') FROM result
  GROUP BY 1 HAVING count(DISTINCT new_name) > 1
)
SELECT NULL AS rule, r.place, r.new_name AS name, NULL AS detail
FROM dotted d JOIN result r ON replace(r.new_name, '/', '.') = d.name
