-- left-behind: these keep their names, while others of their module do not
-- severity: warning
-- advice: add a rule for them
-- moved: modules (everything before the last separator) with a tensor that changes its module.
WITH moved(module, example) AS MATERIALIZED (
  SELECT rtrim(old_name, replace(replace(old_name, '/', ''), '.', '')) AS module,
         min(old_name || ' becomes ' || new_name)
  FROM result CROSS JOIN option
  WHERE renames AND new_name <> old_name
    AND module <> rtrim(new_name, replace(replace(new_name, '/', ''), '.', ''))
  GROUP BY module
)
SELECT rule, place, old_name AS name, 'for example ' || m.example AS detail
FROM result JOIN moved m
  ON m.module = rtrim(old_name, replace(replace(old_name, '/', ''), '.', ''))
WHERE new_name = old_name AND tensor_id IS NOT NULL
