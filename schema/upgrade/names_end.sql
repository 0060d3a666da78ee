-- names_end.sql - see names_begin.sql. (CROSS JOIN reads in the order of the new rows.)
INSERT INTO layout_tensors
SELECT t.id, n.name, t.dtype, t.shape, t.elements, t.nbytes, t.module, t.storage,
       t.file, t.start, t.stored, t.codec, t.strides, t.extents
FROM old_tensors t CROSS JOIN names n ON n.id = t.name ORDER BY t.id;
INSERT INTO layout_nodes
SELECT x.id, n.name, x.kind, x.before FROM old_nodes x CROSS JOIN names n ON n.id = x.name ORDER BY x.id;
INSERT INTO layout_modules
SELECT m.id, ID_ORD(t.id), m.length, m.depth, m.tensors, m.parameters, m.nbytes
FROM old_modules m
CROSS JOIN old_tensors t
  ON t.id = (SELECT min(x.id) FROM old_tensors x WHERE x.name = m.name
             AND x.id BETWEEN ID_FIRST(ID_OWNER(m.id)) AND ID_LAST(ID_OWNER(m.id)))
ORDER BY m.id;
DROP TABLE old_tensors;
DROP TABLE old_nodes;
DROP TABLE old_modules;
DROP TABLE names;
