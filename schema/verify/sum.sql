-- sum.sql - tensors whose checksum in the file is not the same now (:fresh) as when it was indexed
-- (:known). The checksums of further extents, which follow the tensors' own, are reported together.
WITH
  sums(known, fresh, kind) AS MATERIALIZED (
    SELECT k.sums, f.sums, k.kind FROM known._checksums k JOIN main._checksums f
    WHERE k.id = :known AND f.id = :fresh AND k.sums <> f.sums
  ),
  numbered(ord) AS (
    SELECT ID_ORD(t.id) FROM known._checkpoints c JOIN known._layout_tensors t
    ON t.id BETWEEN ID_FIRST(c.layout) AND ID_LAST(c.layout)
    WHERE c.id = :known AND EXISTS (SELECT 1 FROM sums)
  )
SELECT t.name, t.file, t.offset, 'checksum' AS code,
       'the file states the ' || s.kind || ' x''' || hex(substr(s.fresh, 4 * n.ord + 1, 4))
       || ''' now, and stated x''' || hex(substr(s.known, 4 * n.ord + 1, 4))
       || ''' when it was indexed' AS message
FROM sums s CROSS JOIN numbered n
JOIN known.tensor t ON t.checkpoint_id = :known AND t.ord = n.ord
WHERE substr(s.known, 4 * n.ord + 1, 4) <> substr(s.fresh, 4 * n.ord + 1, 4)
UNION ALL
SELECT NULL, (SELECT path FROM known._files WHERE id = ID_FIRST(:known)), NULL, 'checksum',
       'the files state other checksums of pieces now than when they were indexed'
FROM sums WHERE substr(known, 4 * (SELECT count(*) FROM numbered) + 1)
             <> substr(fresh, 4 * (SELECT count(*) FROM numbered) + 1)
