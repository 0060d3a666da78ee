-- 11_extent.sql - where the bytes of tensors are stored. WHERE tensor_id = ... finds one tensor's
-- directly. Needs the extension.
CREATE VIEW extent AS
SELECT tensor_id, ordinal, file, "offset", stored, codec, origin, shape, strides
FROM "tensor_extents (of ckptdb.so: load this extension first)";
