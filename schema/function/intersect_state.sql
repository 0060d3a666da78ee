-- intersect_state.sql - intersect_state(a, b): T5X's intersect_state, the leaves of state a whose
-- names state b has too (`ok`); the original warns of the others (`dropped`).
WITH given(a, b) AS (SELECT :a, :b)
SELECT name, tensor_id, dtype, shape,
       iif(name IN (SELECT name FROM leaf WHERE checkpoint_id = (SELECT b FROM given)),
           'ok', 'dropped') AS status
FROM leaf WHERE checkpoint_id = (SELECT a FROM given)
ORDER BY place
