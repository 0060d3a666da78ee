-- 14_stats.sql - statistics, as a view. (Both conditions on ids: 10_views.sql says why.)
CREATE VIEW stats AS
SELECT c.id AS checkpoint_id, l.name AS checkpoint, x.id AS tensor_id, t.name, t.dtype, t.shape,
       s.elements, s.min, s.max, s.mean, s.std, s.l2, s.zeros, s.nans, s.infs, s.subnormals,
       s.histogram
FROM checkpoints c
JOIN tensor_statistics x
  ON x.id BETWEEN c.id << 24 AND (c.id << 24) + 16777215
 AND c.id = x.id >> 24
JOIN statistics s ON s.id = x.statistics
JOIN layout_tensors t ON t.id = (c.layout << 24) + (x.id & 16777215)
LEFT JOIN labels l ON l.id = c.id;
