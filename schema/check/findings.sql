-- findings.sql - the result of map_check(): one row per check and rule (its ord; NULL: the whole
-- map), with the number of names concerned, and the first 20 names as JSON, or all ($all).
, numbered AS (
  SELECT *, row_number() OVER (PARTITION BY kind, rule ORDER BY place, name) AS k,
         count(*) OVER (PARTITION BY kind, rule) AS names
  FROM finding
)
SELECT CASE WHEN k.severity = 'required'
              THEN iif((SELECT required FROM option), 'error', k.otherwise)
            WHEN k.severity = 'warning'
              THEN iif((SELECT strict FROM option), 'error', k.severity)
            ELSE k.severity END AS severity,
       k.kind AS finding,
       n.rule,
       iif(max(n.name) IS NULL, NULL, n.names) AS count,
       iif(max(n.name) IS NULL, NULL, json_group_array(n.name)) AS names,
       k.meaning || iif(max(n.detail) IS NULL, '', ': '
         || max(iif(n.k = 1, n.detail, NULL))) AS meaning,
       k.advice
FROM numbered n JOIN kind k ON k.kind = n.kind
WHERE n.k <= 20 OR $all
GROUP BY n.kind, n.rule
ORDER BY k.turn, n.rule
