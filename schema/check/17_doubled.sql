-- doubled: a part of the name now occurs twice
-- severity: warning
-- advice: make the pattern take what is there already
-- The pattern matches one to three components that are repeated at once: "a/b/a/b".
WITH twice(twice) AS (VALUES ('(?:^|[./])((?=[^./]*[A-Za-z])[^./]+(?:[./][^./]+){0,2})[./]\1(?=[./]|$)'))
SELECT rule, place, new_name AS name, 'from ' || old_name AS detail
FROM result CROSS JOIN twice t
WHERE new_name <> old_name AND new_name REGEXP t.twice AND NOT old_name REGEXP t.twice
  AND new_name NOT IN (SELECT name FROM model)
