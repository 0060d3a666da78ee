-- 3_shared.sql - layouts and facts that are here, by their digests.
DELETE FROM merge_layout;
DELETE FROM merge_meta;
INSERT INTO merge_layout
SELECT l.id, t.id, t.id IS NOT NULL, t.id IS NOT NULL AND t.placement <> l.placement
FROM source._layouts l LEFT JOIN main._layouts t ON t.logical = l.logical
WHERE l.id IN (SELECT c.layout FROM merge_checkpoint m JOIN source._checkpoints c ON c.id = m.id WHERE m.taken);
UPDATE merge_layout SET target = n.target
FROM (SELECT id, (SELECT coalesce(max(id), 0) FROM main._layouts) + row_number() OVER (ORDER BY id) AS target
      FROM merge_layout WHERE NOT known) AS n
WHERE n.id = merge_layout.id;

INSERT INTO merge_meta
SELECT x.id, t.id, t.id IS NOT NULL
FROM source._metas x LEFT JOIN main._metas t ON t.digest = x.digest
WHERE x.id IN (SELECT c.meta FROM merge_checkpoint m JOIN source._checkpoints c ON c.id = m.id WHERE m.taken);
UPDATE merge_meta SET target = n.target
FROM (SELECT id, (SELECT coalesce(max(id), 0) FROM main._metas) + row_number() OVER (ORDER BY id) AS target
      FROM merge_meta WHERE NOT known) AS n
WHERE n.id = merge_meta.id;
