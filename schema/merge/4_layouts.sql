-- 4_layouts.sql - layouts and facts that are new here. Packed values (_layout_columns and the like) hold no ids,
-- and are copied unchanged.
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
