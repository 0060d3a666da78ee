-- 25_conversion.sql - every checkpoint under every rule set that converts: renames, rearranges,
-- cuts up and joins tensors (query/conversion.sql).
CREATE VIEW conversion AS
SELECT r.name AS ruleset,
       c.id AS checkpoint_id,
       (x.place >> 25) AS ord,
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
FROM ruleset r
JOIN checkpoints c
JOIN conversion_rows(r.name, c.id) x
WHERE r.dialect = 'convert';
