-- tensors_of.sql - tensors_of(CHECKPOINT): an older name of `tensor` WHERE checkpoint_id = CHECKPOINT.
SELECT * FROM tensor WHERE checkpoint_id = :of
