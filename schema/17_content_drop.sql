-- 17_content_drop.sql - when a checkpoint is indexed again, or removed, its hashes, statistics and
-- findings of verify are deleted. (Not at once if another program had indexed it: its tensors may
-- turn out to be the same, see catalog/db/write/write_outdated.c.)
CREATE TRIGGER _content_changed AFTER UPDATE OF imported ON _checkpoints
WHEN NOT EXISTS (SELECT 1 FROM _outdated WHERE id = old.id)
BEGIN
  DELETE FROM _tensor_hashes WHERE id BETWEEN ID_FIRST(old.id) AND ID_LAST(old.id);
  DELETE FROM _checkpoint_hashes WHERE id = old.id;
  DELETE FROM _tensor_statistics WHERE id BETWEEN ID_FIRST(old.id) AND ID_LAST(old.id);
  DELETE FROM _damages WHERE checkpoint = old.id;
  DELETE FROM _verifications WHERE id = old.id;
END;

CREATE TRIGGER _content_forgotten AFTER DELETE ON _checkpoints
BEGIN
  DELETE FROM _outdated WHERE id = old.id;
  DELETE FROM _tensor_hashes WHERE id BETWEEN ID_FIRST(old.id) AND ID_LAST(old.id);
  DELETE FROM _checkpoint_hashes WHERE id = old.id;
  DELETE FROM _tensor_statistics WHERE id BETWEEN ID_FIRST(old.id) AND ID_LAST(old.id);
  DELETE FROM _damages WHERE checkpoint = old.id;
  DELETE FROM _verifications WHERE id = old.id;
END;
