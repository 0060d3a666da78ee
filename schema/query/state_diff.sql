-- state_diff.sql - in what the state that a checkpoint holds, under state/, differs from the one
-- that an optimizer, given as a spec, would keep of its parameters. No rows: nothing.
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
  -- The folder of a null leaf that the other side has tensors in.
  hollow(name, owner) AS MATERIALIZED (
    SELECT x.name, n.name FROM wanted_name x JOIN held n
      ON n.is_null AND n.name = rtrim(rtrim(x.name, replace(x.name, '/', '')), '/')
    UNION ALL
    SELECT x.name, n.name FROM held_name x JOIN wanted n
      ON n.is_null AND n.name = rtrim(rtrim(x.name, replace(x.name, '/', '')), '/')
  ),
  difference(name, problem, expected, found, side, ord) AS MATERIALIZED (
    SELECT w.name,
           CASE WHEN w.error IS NOT NULL THEN 'error'
                WHEN w.is_null <> h.is_null THEN 'null'
                WHEN w.name IN (SELECT name FROM hollow) THEN 'null'
                WHEN w.name IN (SELECT owner FROM hollow) THEN 'same'
                WHEN h.name IS NULL THEN 'missing'
                WHEN w.shape <> h.shape THEN 'shape'
                WHEN w.dtype <> h.dtype THEN 'dtype' ELSE 'same' END,
           CASE WHEN w.error IS NOT NULL THEN w.error WHEN w.is_null THEN 'null'
                ELSE ifnull(w.dtype, '?') || ifnull(w.shape, '[?]') END,
           CASE WHEN h.is_null OR w.name IN (SELECT name FROM hollow) THEN 'null'
                ELSE ifnull(h.dtype, '?') || ifnull(h.shape, '[?]') END,
           CASE WHEN h.name IS NULL AND w.name NOT IN (SELECT name FROM hollow)
                THEN 1 ELSE 0 END, w.ord
    FROM wanted w LEFT JOIN held h ON h.name = w.name
    UNION ALL
    SELECT h.name,
           CASE WHEN h.name IN (SELECT name FROM hollow) THEN 'null'
                WHEN h.name IN (SELECT owner FROM hollow) THEN 'same' ELSE 'unexpected' END,
           iif(h.name IN (SELECT name FROM hollow), 'null', NULL),
           iif(h.is_null, 'null', ifnull(h.dtype, '?') || ifnull(h.shape, '[?]')), 0,
           (1 << 60) + h.ord
    FROM held h WHERE h.name NOT IN (SELECT name FROM wanted_name)
  )
SELECT name, problem, expected, iif(side, NULL, found) AS found
FROM difference WHERE problem <> 'same'
ORDER BY ord
