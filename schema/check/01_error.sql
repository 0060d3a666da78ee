-- error: the original refuses
-- severity: error
-- advice: fix the rule, or the names it is for
SELECT rule, place, ifnull(new_name, old_name) AS name, error AS detail
FROM mapping CROSS JOIN option WHERE status = 'error' AND fault IS NULL
