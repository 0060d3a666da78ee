-- unlike.sql - unlike(a, b): the positions at which two checkpoints do not have tensors of the same name,
-- dtype, shape and (where both are known) hash. What is left is all that diff(a, b) can find different, and
-- mostly little: one walk over two lists that lie side by side.
WITH
  given(a, b) AS (SELECT :a, :b), -- their order as arguments
  -- Where their layouts' tensors begin, how far apart these are, and whether both have hashes.
  side(a, b, apart, own, tensors, hashed) AS (
    SELECT x.layout << 24, y.layout << 24, (y.layout - x.layout) << 24, (x.id - x.layout) << 24, l.tensors,
           EXISTS (SELECT 1 FROM tensor_hashes WHERE id BETWEEN :a << 24 AND (:a << 24) + 16777215) AND
           EXISTS (SELECT 1 FROM tensor_hashes WHERE id BETWEEN :b << 24 AND (:b << 24) + 16777215)
    FROM checkpoints x JOIN checkpoints y ON y.id = :b JOIN layouts l ON l.id = x.layout
    WHERE x.id = :a
  )
SELECT x.id - s.a AS ord
FROM side s
CROSS JOIN layout_tensors x ON x.id BETWEEN s.a AND s.a + 16777215
LEFT JOIN layout_tensors y
  ON y.id = x.id + s.apart AND y.name = x.name AND y.dtype IS x.dtype AND y.shape IS x.shape
LEFT JOIN tensor_hashes h ON s.hashed AND h.id = x.id + s.own
LEFT JOIN tensor_hashes g ON g.id = h.id + ((:b - :a) << 24)
WHERE (s.apart OR s.hashed) AND (y.id IS NULL OR h.hash <> g.hash)
UNION ALL
SELECT y.id - s.b FROM side s
CROSS JOIN layout_tensors y ON y.id BETWEEN s.b + s.tensors AND s.b + 16777215
