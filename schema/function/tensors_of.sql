-- tensors_of.sql - tensors_of(CHECKPOINT): the rows of the view `tensor` of one checkpoint, by its id,
-- for outer joins. SQLite never looks into a view on the outer side of a LEFT or FULL
-- JOIN: it lists the tensors of the whole catalog first. A function is asked for each row, and by
-- name where the join is by name.
SELECT id, checkpoint_id, checkpoint, path, ord, name, dtype, shape, rank, elements, nbytes,
       stored, storage, file, "offset", hash
FROM tensor WHERE checkpoint_id = :of AND $name IS NULL
UNION ALL
SELECT id, checkpoint_id, checkpoint, path, ord, name, dtype, shape, rank, elements, nbytes,
       stored, storage, file, "offset", hash
FROM tensor WHERE checkpoint_id = :of AND name = $name
