-- 18_folds.sql - sums by module, with like modules folded into one: `layers.{0..31}.mlp` stands for
-- 32 modules, as in `ckptdb tree`.
CREATE VIEW by_folded_module AS
SELECT c.id AS checkpoint_id, l.name AS checkpoint, f.module, f.depth, f.tensors,
       f.parameters, f.nbytes
FROM _checkpoints c
JOIN _layout_folds f
  ON f.id BETWEEN ID_FIRST(c.layout) AND ID_LAST(c.layout)
 AND c.layout = ID_OWNER(f.id)
LEFT JOIN _labels l ON l.id = c.id;
