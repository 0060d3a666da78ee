-- 9_names.sql - what is new here is called as it was there, until all are named anew; not by a name that is taken.
INSERT OR IGNORE INTO main._labels(id, name, state, run)
SELECT m.target, l.name, l.state, l.run
FROM merge_checkpoint m CROSS JOIN source._labels l ON l.id = m.id
WHERE NOT m.known;
