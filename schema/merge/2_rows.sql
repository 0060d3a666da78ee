-- 2_rows.sql - the rows of checkpoints, as 1_plan.sql has decided. Ids rise as they did there, so that rows are
-- appended. What is packed (_layout_columns and its like) has no ids in it, and is copied as it is.
INSERT INTO main._layouts
SELECT m.target, l.logical, l.placement, l.tensors, l.parameters, l.nbytes, l.stored
FROM merge_layout m CROSS JOIN source._layouts l ON l.id = m.id WHERE NOT m.known;
INSERT INTO main._layout_tensors
SELECT ID_FIRST(m.target) + ID_ORD(t.id), t.name, t.dtype, t.shape, t.elements, t.nbytes, t.module, t.storage,
       t.file, t.start, t.stored, t.codec, t.strides, t.extents
FROM merge_layout m CROSS JOIN source._layout_tensors t ON t.id BETWEEN ID_FIRST(m.id) AND ID_LAST(m.id)
WHERE NOT m.known;
INSERT INTO main._layout_kinds
SELECT ID_FIRST(m.target) + ID_ORD(t.id), t.dtype, t.shape, t.elements, t.nbytes
FROM merge_layout m CROSS JOIN source._layout_kinds t ON t.id BETWEEN ID_FIRST(m.id) AND ID_LAST(m.id)
WHERE NOT m.known;
INSERT INTO main._layout_nodes
SELECT ID_FIRST(m.target) + ID_ORD(t.id), t.name, t.kind, t.before
FROM merge_layout m CROSS JOIN source._layout_nodes t ON t.id BETWEEN ID_FIRST(m.id) AND ID_LAST(m.id)
WHERE NOT m.known;
INSERT INTO main._layout_modules
SELECT ID_FIRST(m.target) + ID_ORD(t.id), t.tensor, t.length, t.depth, t.tensors, t.parameters, t.nbytes
FROM merge_layout m CROSS JOIN source._layout_modules t ON t.id BETWEEN ID_FIRST(m.id) AND ID_LAST(m.id)
WHERE NOT m.known;
INSERT INTO main._layout_folds
SELECT ID_FIRST(m.target) + ID_ORD(t.id), t.module, t.depth, t.tensors, t.parameters, t.nbytes
FROM merge_layout m CROSS JOIN source._layout_folds t ON t.id BETWEEN ID_FIRST(m.id) AND ID_LAST(m.id)
WHERE NOT m.known;
INSERT INTO main._layout_dtypes
SELECT ID_FIRST(m.target) + ID_ORD(t.id), t.dtype, t.tensors, t.parameters, t.nbytes
FROM merge_layout m CROSS JOIN source._layout_dtypes t ON t.id BETWEEN ID_FIRST(m.id) AND ID_LAST(m.id)
WHERE NOT m.known;
INSERT INTO main._layout_checks
SELECT m.target, t.checks FROM merge_layout m CROSS JOIN source._layout_checks t ON t.id = m.id WHERE NOT m.known;
INSERT INTO main._layout_columns
SELECT m.target, t.columns FROM merge_layout m CROSS JOIN source._layout_columns t ON t.id = m.id WHERE NOT m.known;
INSERT INTO main._layout_module_sums
SELECT m.target, t.sums FROM merge_layout m CROSS JOIN source._layout_module_sums t ON t.id = m.id
WHERE NOT m.known;
INSERT INTO main._layout_blocks
SELECT m.target, t.blocks FROM merge_layout m CROSS JOIN source._layout_blocks t ON t.id = m.id WHERE NOT m.known;
INSERT INTO main._layout_alike
SELECT m.target, t.sum, t.digest, m.target FROM merge_layout m CROSS JOIN source._layout_alike t ON t.id = m.id
WHERE NOT m.known;

INSERT INTO main._metas
SELECT m.target, x.digest FROM merge_meta m CROSS JOIN source._metas x ON x.id = m.id WHERE NOT m.known;
INSERT INTO main._meta_facts
SELECT ID_FIRST(m.target) + ID_ORD(f.id), f.key, f.value
FROM merge_meta m CROSS JOIN source._meta_facts f ON f.id BETWEEN ID_FIRST(m.id) AND ID_LAST(m.id)
WHERE NOT m.known;
INSERT OR IGNORE INTO main._long_texts(digest, text)
SELECT t.digest, t.text
FROM merge_meta m
CROSS JOIN source._long_facts f ON f.id BETWEEN ID_FIRST(m.id) AND ID_LAST(m.id)
CROSS JOIN source._long_texts t ON t.id = f.text
WHERE NOT m.known;
INSERT INTO main._long_facts
SELECT ID_FIRST(m.target) + ID_ORD(f.id), here.id
FROM merge_meta m
CROSS JOIN source._long_facts f ON f.id BETWEEN ID_FIRST(m.id) AND ID_LAST(m.id)
CROSS JOIN source._long_texts t ON t.id = f.text
CROSS JOIN main._long_texts here ON here.digest = t.digest
WHERE NOT m.known;

-- What replaced checkpoints had for themselves. What is known of their contents stays where the files are the
-- same: the trigger _content_changed passes over a checkpoint that is outdated.
DELETE FROM main._outdated WHERE id IN (SELECT target FROM merge_checkpoint WHERE taken);
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
INSERT INTO main._checkpoints
SELECT id, path, format, run, step, item, layout, meta, placed, stored, files, mtime_ns, imported
FROM merge_row WHERE NOT known ORDER BY id;
DELETE FROM main._outdated WHERE id IN (SELECT target FROM merge_checkpoint WHERE taken);

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
-- A name is the path until all are named again.
INSERT INTO main._labels(id, name, state)
SELECT m.target, m.path, l.state FROM merge_checkpoint m LEFT JOIN source._labels l ON l.id = m.id WHERE m.taken
ON CONFLICT(id) DO UPDATE SET state = excluded.state;

-- Issues of checkpoints, and of files that are part of none: unless the other side has a checkpoint of that file.
INSERT INTO main._issues(checkpoint, path, offset, severity, code, message)
SELECT m.target, merge_path(i.path), i.offset, i.severity, i.code, i.message
FROM source._issues i JOIN merge_checkpoint m ON m.id = i.checkpoint
WHERE m.taken ORDER BY i.id;
DELETE FROM main._issues
WHERE checkpoint IS NULL
  AND path IN (SELECT merge_path(f.path)
               FROM merge_checkpoint m
               CROSS JOIN source._files f ON f.id BETWEEN ID_FIRST(m.id) AND ID_LAST(m.id)
               WHERE m.taken AND f.role <> 'facts')
  AND path NOT IN (SELECT merge_path(path) FROM source._issues WHERE checkpoint IS NULL);
INSERT INTO main._issues(checkpoint, path, offset, severity, code, message)
SELECT NULL, i.here, i.offset, i.severity, i.code, i.message
FROM (SELECT *, merge_path(path) AS here FROM source._issues WHERE checkpoint IS NULL) i
WHERE NOT EXISTS (SELECT 1 FROM main._issues k
                  WHERE k.path = i.here AND k.checkpoint IS NULL AND k.offset IS i.offset
                    AND k.severity = i.severity AND k.code = i.code AND k.message = i.message)
  AND NOT EXISTS (SELECT 1 FROM main._files f
                  WHERE f.path = i.here AND f.role <> 'facts'
                    AND ID_OWNER(f.id) NOT IN (SELECT target FROM merge_checkpoint))
ORDER BY i.id;
