-- intersect_state.sql - intersect_state(a, b): T5X's intersect_state, the leaves of state a whose
-- names state b has as well (`ok`); the original warns about the others (`dropped`). The rest is
-- made into a tree as in merge_state.sql: a later leaf replaces a subtree (`dropped`, with a
-- note), and a later subtree cannot be put below a leaf (`error`).
WITH
  given(a, b) AS (SELECT known_checkpoint(:a), known_checkpoint(:b)),
  entry(name, place, tensor_id, dtype, shape, common) AS MATERIALIZED (
    SELECT name, place, tensor_id, dtype, shape,
           name IN (SELECT name FROM leaf WHERE checkpoint_id = (SELECT b FROM given))
    FROM leaf WHERE checkpoint_id = (SELECT a FROM given)
  ),
  above(name, place, leaf) AS MATERIALIZED (
    SELECT name, place,
           CASE WHEN tensor_id IS NULL THEN 'NoneType'
                WHEN ifnull(shape, '[]') = '[]' THEN 'int' ELSE 'LazyArray' END
    FROM (SELECT *, lead(name) OVER (ORDER BY name || '/') AS following FROM entry
          WHERE common)
    WHERE substr(following, 1, length(name) + 1) = name || '/'
  ),
  -- (With min(), SQLite takes the other columns from the same row.)
  collision(name, len, above, leaf, later) AS MATERIALIZED (
    SELECT e.name, min(l.len + iif(a.place > e.place, 1 << 32, 0)), a.name, a.leaf,
           a.place > e.place
    FROM (SELECT DISTINCT length(name) AS len FROM above) l
    CROSS JOIN entry e ON e.common AND substr(e.name, l.len + 1, 1) = '/'
    CROSS JOIN above a ON a.name = substr(e.name, 1, l.len)
    GROUP BY e.name
  )
SELECT e.name, e.tensor_id, e.dtype, e.shape,
       CASE WHEN NOT e.common OR x.later THEN 'dropped'
            WHEN x.name IS NOT NULL THEN 'error' ELSE 'ok' END AS status,
       CASE WHEN x.name IS NULL OR x.later THEN NULL
            WHEN instr(substr(e.name, x.len + 2), '/')
              THEN 'TypeError: argument of type ''' || x.leaf || ''' is not iterable'
            ELSE 'TypeError: ''' || x.leaf || ''' object does not support item assignment'
       END AS error,
       iif(x.later, 'hidden by the later leaf ' || python_repr(x.above), NULL) AS note
FROM entry e LEFT JOIN collision x ON x.name = e.name
ORDER BY e.place
