-- 17_content_drop.sql - when a checkpoint is indexed again, or removed, its hashes, statistics and
-- findings of verify are deleted. (Not at once if another program had indexed it: its tensors may
-- turn out to be the same, see catalog/db/write_outdated.c.)
CREATE TRIGGER content_changed AFTER UPDATE OF imported ON checkpoints
WHEN NOT EXISTS (SELECT 1 FROM outdated WHERE id = old.id)
BEGIN
  DELETE FROM tensor_hashes WHERE id BETWEEN ID_FIRST(old.id) AND ID_LAST(old.id);
  DELETE FROM checkpoint_hashes WHERE id = old.id;
  DELETE FROM tensor_statistics WHERE id BETWEEN ID_FIRST(old.id) AND ID_LAST(old.id);
  DELETE FROM damages WHERE checkpoint = old.id;
  DELETE FROM verifications WHERE id = old.id;
END;

CREATE TRIGGER content_forgotten AFTER DELETE ON checkpoints
BEGIN
  DELETE FROM outdated WHERE id = old.id;
  DELETE FROM tensor_hashes WHERE id BETWEEN ID_FIRST(old.id) AND ID_LAST(old.id);
  DELETE FROM checkpoint_hashes WHERE id = old.id;
  DELETE FROM tensor_statistics WHERE id BETWEEN ID_FIRST(old.id) AND ID_LAST(old.id);
  DELETE FROM damages WHERE checkpoint = old.id;
  DELETE FROM verifications WHERE id = old.id;
END;
