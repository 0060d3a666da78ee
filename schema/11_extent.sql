-- 11_extent.sql - where the bytes of tensors lie. WHERE tensor_id = ... finds those of one
-- at once. Needs the extension's functions.
CREATE VIEW extent AS
SELECT tensor_id, ordinal, file, "offset", stored, codec, origin, shape, strides
FROM "tensor_extents (of ckptdb.so: load this extension first)";
