-- 25_conversion.sql - every checkpoint under every rule set that converts: renames, rearranges,
-- splits and joins tensors (catalog/maps/map/dialect_convert.c).
CREATE VIEW conversion AS
SELECT x.ruleset,
       x.checkpoint_id,
       x.ord,
       x.new_name,
       x.old_name,
       x.tensor_id,
       x.dtype,
       x.shape,
       x.part,
       x.parts,
       x.ops,
       x.recipe,
       x.rule,
       x.status,
       x.error,
       x.note
FROM "conversion_rows (of ckptdb.so: load this extension first)" x;
