-- order: parts of one shape follow each other: no shape tells whether in the right order
-- severity: note
-- advice: compare values
SELECT NULL AS rule, place, name, 'for example ' || parts AS detail
FROM (
  SELECT place, new_name AS name, group_concat(old_name, ', ') AS parts
  FROM (SELECT r.place, r.part, r.new_name, r.old_name, l.shape
        FROM result r JOIN doing d ON d.rule = r.rule
        JOIN leaf l ON l.checkpoint_id = (SELECT source FROM given) AND l.name = r.old_name
        WHERE d.joins AND part IS NOT NULL ORDER BY r.new_name, r.part)
  GROUP BY new_name HAVING count(DISTINCT shape) < count(*)
  UNION ALL
  SELECT place, old_name, group_concat(new_name, ', ')
  FROM (SELECT r.place, r.new_name, r.old_name, r.shape
        FROM result r JOIN doing d ON d.rule = r.rule
        WHERE d.joins AND part IS NOT NULL ORDER BY r.old_name, r.part)
  GROUP BY old_name HAVING count(DISTINCT new_name) > count(DISTINCT shape)
)
