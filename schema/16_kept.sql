-- 16_kept.sql - what a statement says that would drop checkpoints: their files' rows and names are not
-- this view's to drop. (main: where a temporary table stands before the view, ALTER TABLE of any table, which
-- reads all triggers anew, would take this one to be on that.)
CREATE TRIGGER _checkpoint_kept INSTEAD OF DELETE ON main.checkpoint
BEGIN
  SELECT RAISE(ABORT, 'checkpoints are dropped by the command `ckptdb forget CHECKPOINT...`');
END;
