-- 14_stats.sql - statistics, as a view. (10_views.sql explains the two conditions on ids. A tensor and its
-- statistics are joined in both directions: from its id, and from its name.)
CREATE VIEW stats AS
SELECT c.id AS checkpoint_id, l.name AS checkpoint, x.id AS tensor_id, t.name, t.dtype, t.shape,
       s.elements, s.min, s.max, s.mean, s.std, s.l2, s.zeros, s.nans, s.infs, s.subnormals,
       s.histogram
FROM _checkpoints c
JOIN _layout_tensors t
  ON t.id BETWEEN ID_FIRST(c.layout) AND ID_LAST(c.layout)
 AND c.layout = ID_OWNER(t.id)
JOIN _tensor_statistics x
  ON x.id BETWEEN ID_FIRST(c.id) AND ID_LAST(c.id)
 AND c.id = ID_OWNER(x.id)
 AND x.id = ID_FIRST(c.id) + ID_ORD(t.id)
 AND t.id = ID_FIRST(c.layout) + ID_ORD(x.id)
JOIN _statistics s ON s.id = x.statistics
LEFT JOIN _labels l ON l.id = c.id;
