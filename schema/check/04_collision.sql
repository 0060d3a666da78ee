-- collision: several tensors become one name, and only one is kept
-- severity: error
-- advice: make the patterns tell them apart, or drop those that are not needed
SELECT r.rule, r.place, r.old_name AS name,
       w.old_name || ' becomes ' || r.new_name || ' too, and is the one that is kept' AS detail
FROM result r JOIN result w ON w.new_name = r.new_name AND w.wins
WHERE NOT r.wins
