-- 30_assignment.sql - what every checkpoint as a target would get from every checkpoint as a
-- source, under every rule set that assigns: T5X's assignment maps, Orbax's transforms,
-- Kauldron's new_to_old (catalog/maps/map/).
CREATE VIEW assignment AS
SELECT x.ruleset,
       x.source_id,
       x.target_id,
       x.new_name,
       x.old_name,
       x.tensor_id,
       x.dtype,
       x.shape,
       x.ops,
       x.rule,
       x.status,
       x.error,
       x.note
FROM "assignment_rows (of ckptdb.so: load this extension first)" x;
