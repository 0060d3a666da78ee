-- 14_damage.sql - what `verify` found, as views.
CREATE VIEW damage AS
SELECT d.checkpoint AS checkpoint_id, l.name AS checkpoint, d.name, d.file, d.offset, d.code,
       d.message
FROM damages d
LEFT JOIN labels l ON l.id = d.checkpoint;

CREATE VIEW verification AS
SELECT v.id AS checkpoint_id, l.name AS checkpoint,
       strftime('%Y-%m-%d %H:%M:%S', v.at, 'unixepoch') AS verified, v.quick,
       (SELECT count(*) FROM damages d WHERE d.checkpoint = v.id) AS findings
FROM verifications v
LEFT JOIN labels l ON l.id = v.id;
