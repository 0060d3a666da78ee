-- known_apart.sql - as known.sql, for a catalog of an older program (upgrade/names_read.sql).
CREATE TEMP VIEW known_tensors AS
SELECT t.id, n.name, t.dtype, t.shape, t.storage, t.file, t.start, t.stored, t.codec, t.strides, t.extents
FROM known.layout_tensors t JOIN known.names n ON n.id = t.name;
