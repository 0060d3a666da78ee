-- 6_rows.sql - the rows of checkpoints, as planned. Ids keep their order, so that rows are appended.
INSERT INTO main._checkpoints
SELECT id, path, format, run, step, item, layout, meta, placed, stored, files, mtime_ns, imported
FROM merge_row WHERE NOT known;

-- Another program may have read them differently: the next import that reaches them reads them again.
INSERT INTO main._looked SELECT looker FROM source._looked WHERE NOT EXISTS (SELECT 1 FROM main._looked);
INSERT INTO main._outdated
SELECT target FROM merge_checkpoint
WHERE taken AND (id IN (SELECT id FROM source._outdated)
                 OR (SELECT looker FROM source._looked) IS NOT (SELECT looker FROM main._looked));

INSERT INTO main._placements
SELECT ID_FIRST(m.target) + ID_ORD(p.id), p.storage, p.file, p.start, p.stored, p.codec, p.strides, p.extents
FROM merge_checkpoint m
CROSS JOIN source._checkpoints c ON c.id = m.id
CROSS JOIN source._placements p ON p.id BETWEEN ID_FIRST(m.id) AND ID_LAST(m.id)
WHERE m.taken AND c.placed;
INSERT INTO main._placements
SELECT ID_FIRST(m.target) + ID_ORD(t.id), t.storage, t.file, t.start, t.stored, t.codec, t.strides, t.extents
FROM merge_checkpoint m
CROSS JOIN source._checkpoints c ON c.id = m.id
CROSS JOIN merge_layout l ON l.id = c.layout
CROSS JOIN source._layout_tensors t ON t.id BETWEEN ID_FIRST(l.id) AND ID_LAST(l.id)
WHERE m.taken AND NOT c.placed AND l.moved;
INSERT INTO main._files
SELECT ID_FIRST(m.target) + ID_ORD(f.id), merge_path(f.path), f.size, f.mtime_ns, f.inode,
       merge_device(f.path, f.device), f.role, f.base
FROM merge_checkpoint m CROSS JOIN source._files f ON f.id BETWEEN ID_FIRST(m.id) AND ID_LAST(m.id)
WHERE m.taken;
INSERT OR IGNORE INTO merge_inode
SELECT f.inode, m.target
FROM merge_checkpoint m CROSS JOIN source._files f ON f.id = ID_FIRST(m.id)
WHERE m.taken AND f.inode IS NOT NULL AND EXISTS (SELECT 1 FROM merge_read);
INSERT INTO main._checksums
SELECT m.target, s.kind, s.sums FROM merge_checkpoint m CROSS JOIN source._checksums s ON s.id = m.id WHERE m.taken;
