-- header.sql - tensors that the headers describe differently now than when they were indexed:
-- :known is the checkpoint in the catalog, :fresh the one that was just indexed. Grids of chunks
-- are compared elsewhere, chunk by chunk.
SELECT coalesce(k.name, f.name) AS name,
       (SELECT path FROM known._files WHERE id = ID_FIRST(:known) + coalesce(k.file, f.file, 0)) AS file,
       k.start + (SELECT base FROM known._files WHERE id = ID_FIRST(:known) + k.file) AS offset,
       'header' AS code,
       CASE WHEN f.name IS NULL THEN 'the headers no longer name this tensor'
            WHEN k.name IS NULL THEN 'the headers did not name this tensor when it was indexed'
            WHEN k.dtype IS NOT f.dtype OR k.shape IS NOT f.shape
            THEN 'the headers say ' || coalesce(f.dtype, '?') || ' ' || coalesce(f.shape, '?')
                 || ' now, and said ' || coalesce(k.dtype, '?') || ' ' || coalesce(k.shape, '?')
                 || ' when it was indexed'
            ELSE 'the headers say now that its bytes lie elsewhere, or in another form' END AS message
FROM (SELECT * FROM known_place WHERE checkpoint = :known) k
FULL JOIN (SELECT * FROM fresh_place WHERE checkpoint = :fresh) f ON f.name = k.name
WHERE k.name IS NULL OR f.name IS NULL OR k.dtype IS NOT f.dtype OR k.shape IS NOT f.shape
   OR k.storage IS NOT f.storage OR k.file IS NOT f.file OR k.start IS NOT f.start
   OR k.stored IS NOT f.stored OR k.codec IS NOT f.codec OR k.strides IS NOT f.strides
   OR (k.extents IS NOT f.extents AND substr(k.extents, 1, 1) IS NOT x'04')
