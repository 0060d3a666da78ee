-- 30_assignment.sql - what every checkpoint as a target would get from every checkpoint as a
-- source, under every rule set that assigns: T5X's assignment maps, Orbax's transforms,
-- Kauldron's new_to_old (query/assignment_each.sql).
CREATE VIEW assignment AS
SELECT r.name AS ruleset,
       x.source_id,
       t.id AS target_id,
       x.new_name,
       x.old_name,
       (x.source_id << 24) + x.ord AS tensor_id,
       x.dtype,
       x.shape,
       x.ops,
       x.rule,
       x.status,
       x.error,
       x.note
FROM ruleset r
JOIN checkpoints t
JOIN assignment_each_rows(r.name, t.id) x
WHERE r.dialect IN ('t5x-assignment', 'orbax', 'kauldron');
