-- views.sql - where the tensors of a checkpoint are stored, according to the catalog (`known`) and
-- to the new index (main).
CREATE TEMP VIEW known_place AS
SELECT c.id AS checkpoint, ID_ORD(t.id) AS ord, t.name, t.dtype, t.shape,
       iif(c.placed, p.storage, t.storage) AS storage, iif(c.placed, p.file, t.file) AS file,
       iif(c.placed, p.start, t.start) AS start, iif(c.placed, p.stored, t.stored) AS stored,
       iif(c.placed, p.codec, t.codec) AS codec, iif(c.placed, p.strides, t.strides) AS strides,
       iif(c.placed, p.extents, t.extents) AS extents
FROM known._checkpoints c
JOIN known._layout_tensors t ON t.id BETWEEN ID_FIRST(c.layout) AND ID_LAST(c.layout)
LEFT JOIN known._placements p ON c.placed AND p.id = ID_FIRST(c.id) + ID_ORD(t.id);
CREATE TEMP VIEW fresh_place AS
SELECT c.id AS checkpoint, ID_ORD(t.id) AS ord, t.name, t.dtype, t.shape,
       iif(c.placed, p.storage, t.storage) AS storage, iif(c.placed, p.file, t.file) AS file,
       iif(c.placed, p.start, t.start) AS start, iif(c.placed, p.stored, t.stored) AS stored,
       iif(c.placed, p.codec, t.codec) AS codec, iif(c.placed, p.strides, t.strides) AS strides,
       iif(c.placed, p.extents, t.extents) AS extents
FROM main._checkpoints c
JOIN main._layout_tensors t ON t.id BETWEEN ID_FIRST(c.layout) AND ID_LAST(c.layout)
LEFT JOIN main._placements p ON c.placed AND p.id = ID_FIRST(c.id) + ID_ORD(t.id);
