-- 14_damage.sql - what `verify` found, as views.
CREATE VIEW damage AS
SELECT d.checkpoint AS checkpoint_id, l.name AS checkpoint, d.name, d.file, d.offset, d.code,
       d.message
FROM _damages d
LEFT JOIN _labels l ON l.id = d.checkpoint;

CREATE VIEW verification AS
SELECT v.id AS checkpoint_id, l.name AS checkpoint,
       strftime('%Y-%m-%d %H:%M:%S', v.at, 'unixepoch') AS verified, v.quick,
       (SELECT count(*) FROM _damages d WHERE d.checkpoint = v.id) AS findings
FROM _verifications v
LEFT JOIN _labels l ON l.id = v.id;
