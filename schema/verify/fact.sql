-- fact.sql - what checkpoint :known stated of itself when it was indexed, and does not now (:fresh).
SELECT NULL AS name,
       (SELECT path FROM known.files WHERE id = :known << 24) AS file,
       NULL AS offset,
       'metadata' AS code,
       'the fact ' || key || ' is no longer what it was when it was indexed' AS message
FROM (SELECT m.key, m.value FROM known.checkpoints c
      JOIN known.meta_facts m ON m.id BETWEEN c.meta << 24 AND (c.meta << 24) + 16777215
      WHERE c.id = :known
      EXCEPT
      SELECT m.key, m.value FROM main.checkpoints c
      JOIN main.meta_facts m ON m.id BETWEEN c.meta << 24 AND (c.meta << 24) + 16777215
      WHERE c.id = :fresh)
