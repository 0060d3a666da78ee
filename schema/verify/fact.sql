-- fact.sql - what checkpoint :known stated of itself when it was indexed, and does not now (:fresh).
SELECT NULL AS name,
       (SELECT path FROM known.files WHERE id = ID_FIRST(:known)) AS file,
       NULL AS offset,
       'metadata' AS code,
       'the fact ' || key || ' is no longer what it was when it was indexed' AS message
FROM (SELECT key, value FROM known.metadata WHERE checkpoint_id = :known
      EXCEPT
      SELECT key, value FROM main.metadata WHERE checkpoint_id = :fresh)
