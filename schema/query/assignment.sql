-- assignment.sql - what the leaves of a target get from one source (assignment_each.sql).
SELECT x.new_name, x.old_name, (x.source_id << 24) + x.ord AS tensor_id, x.dtype, x.shape,
       x.ops, x.rule, x.status, x.error, x.note
FROM assignment_each_rows(:ruleset) x
WHERE x.source_id = :source_id AND x.target_id = :target_id
