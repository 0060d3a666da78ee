-- 14_trend.sql - how the tensors of a run change from step to step, as far as statistics are known.
--
-- `change` is l2's change since the latest earlier step of the same item whose l2 is known. (A subquery,
-- not a window, so that every WHERE and join reaches the tables.)
CREATE VIEW trend AS
SELECT n.run, c.run AS run_path, c.step, c.item, c.id AS checkpoint_id, n.name AS checkpoint,
       x.id AS tensor_id, t.name, s.mean, s.std, s.min, s.max, s.l2, s.zeros, s.nans, s.infs,
       (SELECT (s.l2 - b.l2) / b.l2
        FROM _checkpoints p
        CROSS JOIN _layout_tensors q
          ON q.name = t.name AND q.id BETWEEN ID_FIRST(p.layout) AND ID_LAST(p.layout)
        CROSS JOIN _tensor_statistics y ON y.id = ID_FIRST(p.id) + ID_ORD(q.id)
        CROSS JOIN _statistics b ON b.id = y.statistics
        WHERE p.run = c.run AND p.step < c.step
          AND coalesce(p.item, 'model') = coalesce(c.item, 'model')
        ORDER BY p.step DESC, p.id DESC LIMIT 1) AS change
FROM _checkpoints c
JOIN _layout_tensors t
  ON t.id BETWEEN ID_FIRST(c.layout) AND ID_LAST(c.layout)
 AND c.layout = ID_OWNER(t.id)
JOIN _tensor_statistics x
  ON x.id = ID_FIRST(c.id) + ID_ORD(t.id)
 AND c.id = ID_OWNER(x.id)
 AND t.id = ID_FIRST(c.layout) + ID_ORD(x.id)
JOIN _statistics s ON s.id = x.statistics
JOIN _labels n ON n.id = c.id
WHERE c.run IS NOT NULL AND c.step IS NOT NULL;
