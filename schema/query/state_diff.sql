-- state_diff.sql - in what the state that a checkpoint holds, under state/, differs from the one
-- that an optimizer, given as a spec, would keep of its parameters; `ord` is their order.
-- No rows: nothing.
--   problem   missing, unexpected, shape, dtype, null (one has null where the other has
--             tensors), error (the optimizer takes no such parameters)
WITH
  given(spec, checkpoint) AS MATERIALIZED (SELECT :spec, :checkpoint),
  wanted(name, shape, dtype, error, is_null, ord) AS MATERIALIZED (
    SELECT name, shape, dtype, error, coalesce(shape, dtype, error) IS NULL,
           row_number() OVER ()
    FROM given g CROSS JOIN optimizer_state_rows(g.spec, g.checkpoint)
  ),
  held(name, shape, dtype, is_null, ord) AS MATERIALIZED (
    SELECT name, shape, dtype, tensor_id IS NULL, place FROM leaf
    WHERE checkpoint_id = (SELECT checkpoint FROM given) AND substr(name, 1, 6) = 'state/'
  ),
  wanted_name(name) AS MATERIALIZED (SELECT name FROM wanted WHERE name IS NOT NULL),
  held_name(name) AS MATERIALIZED (SELECT name FROM held),
  -- The folder of a null leaf that the other side has tensors in. (Mostly there are no null
  -- leaves: then no name is looked at.)
  wanted_null(name) AS MATERIALIZED (SELECT name FROM wanted WHERE is_null),
  held_null(name) AS MATERIALIZED (SELECT name FROM held WHERE is_null),
  hollow(name, owner) AS MATERIALIZED (
    SELECT x.name, n.name FROM (SELECT 1 FROM held_null LIMIT 1) CROSS JOIN wanted_name x
    CROSS JOIN held_null n ON n.name = rtrim(rtrim(x.name, replace(x.name, '/', '')), '/')
    UNION ALL
    SELECT x.name, n.name FROM (SELECT 1 FROM wanted_null LIMIT 1) CROSS JOIN held_name x
    CROSS JOIN wanted_null n ON n.name = rtrim(rtrim(x.name, replace(x.name, '/', '')), '/')
  ),
  -- Both sides by name. (Grouped, not joined: what a function gives SQLite takes for few rows.)
  side(name, shape, dtype, error, is_null, ord, held_shape, held_dtype, held_null, held_ord)
  AS MATERIALIZED (
    SELECT name, max(shape), max(dtype), max(error), max(is_null), max(ord),
           max(held_shape), max(held_dtype), max(held_null), max(held_ord)
    FROM (
      SELECT name, shape, dtype, error, is_null, ord, NULL AS held_shape,
             NULL AS held_dtype, NULL AS held_null, NULL AS held_ord FROM wanted
      UNION ALL
      SELECT name, NULL, NULL, NULL, NULL, NULL, shape, dtype, is_null, ord FROM held)
    GROUP BY name, iif(name IS NULL, ord, 0)
  ),
  difference(name, problem, expected, found, ord) AS (
    SELECT name,
           CASE WHEN error IS NOT NULL THEN 'error'
                WHEN is_null <> held_null OR name IN (SELECT name FROM hollow) THEN 'null'
                WHEN name IN (SELECT owner FROM hollow) THEN 'same'
                WHEN held_ord IS NULL THEN 'missing'
                WHEN ord IS NULL THEN 'unexpected'
                WHEN shape <> held_shape THEN 'shape'
                WHEN dtype <> held_dtype THEN 'dtype' ELSE 'same' END,
           CASE WHEN error IS NOT NULL THEN error
                WHEN is_null OR (ord IS NULL AND name IN (SELECT name FROM hollow))
                  THEN 'null'
                WHEN ord IS NOT NULL THEN ifnull(dtype, '?') || ifnull(shape, '[?]') END,
           CASE WHEN held_null OR (held_ord IS NULL AND name IN (SELECT name FROM hollow))
                  THEN 'null'
                WHEN held_ord IS NOT NULL
                  THEN ifnull(held_dtype, '?') || ifnull(held_shape, '[?]') END,
           ifnull(ord, (1 << 60) + held_ord)
    FROM side
  )
SELECT name, problem, expected, found, ord
FROM difference WHERE problem <> 'same'
