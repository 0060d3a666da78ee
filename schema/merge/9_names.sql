-- 9_names.sql - new checkpoints keep their names until all are named anew, unless a name is taken.
INSERT OR IGNORE INTO main._labels(id, name, state, run)
SELECT m.target, l.name, l.state, l.run
FROM merge_checkpoint m CROSS JOIN source._labels l ON l.id = m.id
WHERE NOT m.known;
