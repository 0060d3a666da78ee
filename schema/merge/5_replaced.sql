-- 5_replaced.sql - checkpoints that are here, and that the other catalog imported later.
--
-- Results about their contents stay where the files are the same: the trigger _content_changed skips a
-- checkpoint that is outdated.
DELETE FROM main._outdated WHERE id IN (SELECT target FROM merge_checkpoint WHERE taken AND known);
INSERT INTO main._outdated SELECT target FROM merge_checkpoint WHERE taken AND known AND same;
DELETE FROM main._files WHERE id IN
  (SELECT f.id FROM merge_checkpoint m CROSS JOIN main._files f
     ON f.id BETWEEN ID_FIRST(m.target) AND ID_LAST(m.target) WHERE m.taken AND m.known);
DELETE FROM main._placements WHERE id IN
  (SELECT p.id FROM merge_checkpoint m CROSS JOIN main._placements p
     ON p.id BETWEEN ID_FIRST(m.target) AND ID_LAST(m.target) WHERE m.taken AND m.known);
DELETE FROM main._checksums WHERE id IN (SELECT target FROM merge_checkpoint WHERE taken AND known);
DELETE FROM main._issues WHERE checkpoint IN (SELECT target FROM merge_checkpoint WHERE taken AND known);

UPDATE main._checkpoints
SET path = r.path, format = r.format, run = r.run, step = r.step, item = r.item, layout = r.layout, meta = r.meta,
    placed = r.placed, stored = r.stored, files = r.files, mtime_ns = r.mtime_ns, imported = r.imported
FROM merge_row r WHERE r.known AND r.id = _checkpoints.id;
DELETE FROM main._outdated WHERE id IN (SELECT target FROM merge_checkpoint WHERE taken AND known);
UPDATE main._labels
SET state = (SELECT l.state FROM source._labels l WHERE l.id = m.id)
FROM merge_checkpoint m WHERE m.taken AND m.known AND m.target = _labels.id;
