-- inside: the pattern begins or ends inside a component
-- severity: warning
-- advice: put the separator into the pattern
-- Patterns that begin or end with a group such as (.*), which splits a component in two.
SELECT rule, place, name, 'it matches from the middle of '
         || python_repr(regexp_capture('[^/.]*$', head, 0)
            || regexp_capture('^[^/.]*', substr(name, length(head) + 1), 0)) AS detail
FROM (
  SELECT r.place, r.rule, t.name, regexp_capture(u.pattern, t.name, 1, 'match') AS head
  FROM given g CROSS JOIN rule u CROSS JOIN result r
  JOIN tried t ON t.place = r.place
  WHERE u.ruleset = g.ruleset AND u.pattern GLOB '(.[*+])[A-Za-z0-9_]*'
    AND r.rule = u.ord
)
WHERE head REGEXP '[^/.]$'
UNION ALL
SELECT rule, place, name, 'it matches up to the middle of '
         || python_repr(regexp_capture('[^/.]*$',
              substr(name, 1, length(name) - length(tail)), 0)
            || regexp_capture('^[^/.]*', tail, 0))
FROM (
  SELECT r.place, r.rule, t.name,
         regexp_groups(u.pattern, t.name, 'match') ->> '$[#-1]' AS tail
  FROM given g CROSS JOIN rule u CROSS JOIN result r
  JOIN tried t ON t.place = r.place
  WHERE u.ruleset = g.ruleset AND u.pattern GLOB '*[A-Za-z0-9_](.[*+])'
    AND r.rule = u.ord
)
WHERE tail REGEXP '^[^/.]'
UNION ALL
-- The key of a key mapping, found inside a longer word.
SELECT rule, place, name,
       'it finds ' || python_repr(found) || ' in ' || python_repr(
         regexp_capture('[^/.]*$', head, 0) || found || regexp_capture('^[^/.]*', tail, 0))
FROM (
  SELECT rule, place, name, key, tail, found,
         substr(name, 1, length(name) - length(tail) - length(found)) AS head
  FROM (
    SELECT m.rule, m.place, m.old_name AS name, k.key,
           regexp_groups('(?s:.*?)(?:' || key || ')((?s:.*))', m.old_name, 'match')
             ->> '$[#-1]' AS tail,
           regexp_capture(key, m.old_name, 0) AS found
    FROM (SELECT ord, substr(pattern, 12, length(pattern) - 19) AS key FROM rule
          WHERE ruleset = (SELECT ruleset FROM given)
            AND pattern GLOB '(?s:.[*]?)(?:*)(?s:.[*])') k
    JOIN mapping m ON m.rule = k.ord
    CROSS JOIN option
    WHERE renames AND status IN ('ok', 'dropped')
      AND (key GLOB '[A-Za-z0-9_]*' OR key GLOB '*[^\][A-Za-z0-9_]'))
)
WHERE (key GLOB '[A-Za-z0-9_]*' AND head REGEXP '[^/.]$')
   OR (key GLOB '*[^\][A-Za-z0-9_]' AND tail REGEXP '^[^/.]')
