-- unmatched: no rule matches
-- severity: error
-- advice: add a rule for them, or one with NULL that drops them
WITH suffix(suffix, names) AS (
  SELECT substr(old_name, 1 + length(rtrim(old_name,
           replace(replace(old_name, '/', ''), '.', '')))), count(*)
  FROM mapping WHERE status = 'unmatched' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5
)
SELECT NULL AS rule, place, old_name AS name,
       (SELECT 'they end in ' || group_concat(suffix || ' (' || names || ')', ', ')
        FROM suffix) AS detail
FROM mapping WHERE status = 'unmatched'
