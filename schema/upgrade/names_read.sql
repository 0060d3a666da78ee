-- names_read.sql - the tables of 02_layouts.sql as views, for a catalog from before version 7 that
-- is opened read-only.
CREATE TEMP VIEW layout_tensors AS
SELECT t.id, n.name, t.dtype, t.shape, t.elements, t.nbytes, t.module, t.storage,
       t.file, t.start, t.stored, t.codec, t.strides, t.extents
FROM main.layout_tensors t JOIN main.names n ON n.id = t.name;
CREATE TEMP VIEW layout_nodes AS
SELECT x.id, n.name, x.kind, x.before FROM main.layout_nodes x JOIN main.names n ON n.id = x.name;
CREATE TEMP VIEW layout_modules AS
SELECT m.id, (SELECT ID_ORD(min(t.id)) FROM main.layout_tensors t WHERE t.name = m.name
              AND t.id BETWEEN ID_FIRST(ID_OWNER(m.id)) AND ID_LAST(ID_OWNER(m.id))) AS tensor,
       m.length, m.depth, m.tensors, m.parameters, m.nbytes
FROM main.layout_modules m;
