-- prefix: a tensor has the name of a folder of others
-- severity: error
-- advice: rename one of them: no tree can hold both
-- Sorted by name || '/', a name is followed directly by the names below it, if there are any.
SELECT NULL AS rule, 0 AS place, name, 'for example ' || following AS detail
FROM (
  SELECT new_name AS name, lead(new_name) OVER (ORDER BY new_name || '/') AS following
  FROM (SELECT DISTINCT new_name FROM result)
)
WHERE substr(following, 1, length(name) + 1) = name || '/'
