-- 11_extent.sql - where the bytes of a tensor lie; ask with WHERE tensor_id = ...
-- Needs the extension's functions.
CREATE VIEW extent AS
SELECT tensor_id, ordinal, file, "offset", stored, codec, origin, shape
FROM tensor_extents;
