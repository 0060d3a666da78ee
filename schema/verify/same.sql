-- same.sql - one row if the headers of :fresh describe tensors exactly as the headers of :known
-- did, which the digests of their layouts tell.
SELECT 1
FROM known._checkpoints k JOIN known._layouts l ON l.id = k.layout
JOIN main._checkpoints f JOIN main._layouts m ON m.id = f.layout
WHERE k.id = :known AND f.id = :fresh AND NOT k.placed AND NOT f.placed
  AND l.logical = m.logical AND l.placement = m.placement
