-- tree.sql - the leaves of a checkpoint, including nulls, and its empty containers (`kind` is
-- set), which come last.
SELECT place, name, dtype, shape, NULL AS kind
FROM leaf WHERE checkpoint_id = known_checkpoint(:checkpoint_id)
UNION ALL
SELECT 1 << 59, name, NULL, NULL, kind FROM node
WHERE checkpoint_id = :checkpoint_id AND kind <> 'null'
