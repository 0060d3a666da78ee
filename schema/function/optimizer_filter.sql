-- optimizer_filter.sql - optimizer_filter(filters, checkpoint): what each of a list of filters
-- (JSON) selects of a checkpoint's parameters. They are tried on '/' + name. `filter` is its
-- place in the list; a form that nobody knows is a row with `error`.
WITH RECURSIVE
  given(filters, checkpoint) AS (SELECT :filters, :checkpoint),
  form(filter, f, turned) AS MATERIALIZED (
    SELECT x.key, (SELECT filters FROM given) -> x.key, 0
    FROM json_each((SELECT filters FROM given)) x
    UNION ALL
    SELECT filter, f -> 'not', NOT turned FROM form
    WHERE json_type(f) = 'object' AND f -> 'not' IS NOT NULL
  ),
  test(filter, how, what, turned, error) AS MATERIALIZED (
    SELECT f.filter, x.key, x.value, f.turned,
           iif(x.key IN ('contains', 'startswith', 'endswith', 'search')
                 AND x.type = 'text' AND json_type(f.f) = 'object'
                 AND (SELECT count(*) FROM json_each(f.f)) = 1,
               NULL, 'filter ' || f.f || ' is none of {"contains": S}, {"startswith": S}, '
               || '{"endswith": S}, {"search": S} and {"not": F}')
    FROM form f LEFT JOIN json_each(iif(json_type(f.f) = 'object', f.f, '{}')) x
    WHERE json_type(f.f) <> 'object' OR f.f -> 'not' IS NULL
       OR (SELECT count(*) FROM json_each(f.f)) <> 1
  )
SELECT t.filter, p.name, NULL AS error
FROM test t CROSS JOIN optimizer_params((SELECT checkpoint FROM given)) p
WHERE t.error IS NULL
  AND t.turned <> CASE t.how
    WHEN 'contains' THEN instr('/' || p.name, t.what) > 0
    WHEN 'startswith' THEN substr('/' || p.name, 1, length(t.what)) = t.what
    WHEN 'endswith' THEN t.what = '' OR substr('/' || p.name, -length(t.what)) = t.what
    ELSE regexp(t.what, '/' || p.name) END
UNION ALL
SELECT filter, NULL, error FROM test WHERE error IS NOT NULL
