-- names.sql - places and names of the leaves of a checkpoint, as the view `leaf` has them (12_leaf.sql). Here it is known
-- whose they are, so that no row is asked for its owner: a third less for each.
SELECT ID_FIRST(2 * ID_ORD(t.id) + 1), t.name
FROM _checkpoints c JOIN _layout_tensors t ON t.id BETWEEN ID_FIRST(c.layout) AND ID_LAST(c.layout)
WHERE c.id = known_checkpoint(:checkpoint_id)
UNION ALL
SELECT ID_FIRST(2 * x.before) + ID_ORD(x.id), x.name
FROM _checkpoints c JOIN _layout_nodes x ON x.id BETWEEN ID_FIRST(c.layout) AND ID_LAST(c.layout)
WHERE c.id = :checkpoint_id AND +x.kind = 'null'
