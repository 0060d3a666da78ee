-- merge_state.sql - merge_state(a, b[, overwrite]): T5X's merge_state. The leaves of state a, and
-- the leaves of b that a lacks; with overwrite, b's leaf if both have one. If a leaf of one is a
-- folder of the other, the order in which the tree is built decides (first a, then b): a later leaf
-- replaces a subtree (which is `dropped`), and a later subtree cannot be put below a leaf
-- (`error`).
WITH
  given(a, b, overwrite) AS (SELECT known_checkpoint(:a), known_checkpoint(:b), ifnull($overwrite, 0)),
  first(name, place, tensor_id, dtype, shape) AS MATERIALIZED (
    SELECT name, place, tensor_id, dtype, shape FROM leaf
    WHERE checkpoint_id = (SELECT a FROM given)
  ),
  second(name, place, tensor_id, dtype, shape) AS MATERIALIZED (
    SELECT name, place, tensor_id, dtype, shape FROM leaf
    WHERE checkpoint_id = (SELECT b FROM given)
  ),
  entry(name, turn, tensor_id, dtype, shape, origin) AS MATERIALIZED (
    SELECT f.name, f.place, iif(s.name IS NULL, f.tensor_id, s.tensor_id),
           iif(s.name IS NULL, f.dtype, s.dtype), iif(s.name IS NULL, f.shape, s.shape),
           iif(s.name IS NULL, 'a', 'b')
    FROM given CROSS JOIN first f LEFT JOIN second s ON s.name = f.name AND overwrite
    UNION ALL
    SELECT name, (1 << 60) + place, tensor_id, dtype, shape, 'b'
    FROM second WHERE name NOT IN (SELECT name FROM first)
  ),
  -- Sorted by name || '/', a name is followed directly by the names below it, if there are any.
  above(name, turn, leaf) AS MATERIALIZED (
    SELECT name, turn,
           CASE WHEN tensor_id IS NULL THEN 'NoneType'
                WHEN ifnull(shape, '[]') = '[]' THEN 'int' ELSE 'LazyArray' END
    FROM (SELECT *, lead(name) OVER (ORDER BY name || '/') AS following FROM entry)
    WHERE substr(following, 1, length(name) + 1) = name || '/'
  ),
  -- (With min(), SQLite takes the other columns from the same row.)
  collision(name, len, above, leaf, later) AS MATERIALIZED (
    SELECT e.name, min(l.len + iif(a.turn > e.turn, 1 << 32, 0)), a.name, a.leaf,
           a.turn > e.turn
    FROM (SELECT DISTINCT length(name) AS len FROM above) l
    CROSS JOIN entry e ON substr(e.name, l.len + 1, 1) = '/'
    CROSS JOIN above a ON a.name = substr(e.name, 1, l.len)
    GROUP BY e.name
  )
SELECT e.name, e.tensor_id, e.dtype, e.shape, e.origin,
       CASE WHEN x.name IS NULL THEN 'ok' WHEN x.later THEN 'dropped' ELSE 'error' END
         AS status,
       CASE WHEN x.name IS NULL OR x.later THEN NULL
            WHEN instr(substr(e.name, x.len + 2), '/')
              THEN 'TypeError: argument of type ''' || x.leaf || ''' is not iterable'
            ELSE 'TypeError: ''' || x.leaf || ''' object does not support item assignment'
       END AS error,
       iif(x.later, 'hidden by the later leaf ' || python_repr(x.above), NULL) AS note
FROM entry e LEFT JOIN collision x ON x.name = e.name
ORDER BY e.turn
