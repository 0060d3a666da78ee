-- 16_kept.sql - what a statement says that would drop checkpoints: their files' rows and names are not
-- this view's to drop.
CREATE TRIGGER _checkpoint_kept INSTEAD OF DELETE ON checkpoint
BEGIN
  SELECT RAISE(ABORT, 'checkpoints are dropped by the command `ckptdb forget CHECKPOINT...`');
END;
