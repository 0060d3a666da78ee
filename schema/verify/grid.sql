-- grid.sql - chunked arrays whose chunks are not the same now (:fresh) as when they were indexed
-- (:known): their ids in both. (x'04' as the first byte of packed extents marks a grid:
-- catalog/data/model/tensor.h.)
SELECT ID_FIRST(:known) + k.ord AS known_id, ID_FIRST(:fresh) + f.ord AS fresh_id
FROM known_place k JOIN fresh_place f ON f.name = k.name
WHERE k.checkpoint = :known AND f.checkpoint = :fresh
  AND substr(k.extents, 1, 1) = x'04' AND k.extents IS NOT f.extents
