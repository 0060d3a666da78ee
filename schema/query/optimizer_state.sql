-- optimizer_state.sql - the state that an optimizer, given as a spec (optimizers.md), keeps of a
-- checkpoint's parameters: names, shapes and dtypes as T5X stores them, under state/.
WITH
  given(spec, checkpoint) AS MATERIALIZED (SELECT :spec, :checkpoint),
  form(form, error) AS MATERIALIZED (
    SELECT CASE count(*) WHEN 1 THEN max(key) END,
           CASE WHEN count(*) <> 1 THEN 'a spec has one of "adafactor", "multi" and "optax"'
                WHEN max(key) NOT IN ('adafactor', 'multi', 'optax')
                  THEN 'unknown optimizer ' || python_repr(max(key))
                    || ': a spec has one of "adafactor", "multi" and "optax"'
                WHEN max(type) <> iif(max(key) = 'multi', 'array', 'object')
                  THEN python_repr(max(key)) || ' is no '
                    || iif(max(key) = 'multi', 'list', 'object') END
    FROM json_each((SELECT spec FROM given)) WHERE key <> 'axes'
  )
SELECT NULL AS name, NULL AS shape, NULL AS dtype, NULL AS axes, error
FROM form WHERE error IS NOT NULL
UNION ALL
SELECT x.name, x.shape, x.dtype, x.axes, x.error
FROM form f CROSS JOIN given g CROSS JOIN state_adafactor_rows(g.spec, g.checkpoint) x
WHERE f.error IS NULL AND f.form IN ('adafactor', 'multi')
UNION ALL
SELECT x.name, x.shape, x.dtype, x.axes, x.error
FROM form f CROSS JOIN given g CROSS JOIN state_optax_rows(g.spec, g.checkpoint) x
WHERE f.error IS NULL AND f.form = 'optax'
