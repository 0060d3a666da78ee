-- fact.sql - what checkpoint :known stated of itself when it was indexed, and does not now (:fresh), or the
-- other way round: where one of several shards has a flipped bit, the others still state what they did. New
-- facts are no damage if a new file (config.json) brings them, or another build of this program reads them.
WITH
  known_fact AS (SELECT key, value FROM known.metadata WHERE checkpoint_id = :known),
  fresh_fact AS (SELECT key, value FROM main.metadata WHERE checkpoint_id = :fresh),
  new_file AS (
    SELECT path FROM main.files WHERE id BETWEEN ID_FIRST(:fresh) AND ID_LAST(:fresh)
    EXCEPT
    SELECT path FROM known.files WHERE id BETWEEN ID_FIRST(:known) AND ID_LAST(:known)
  ),
  differing(key, how) AS (
    SELECT key, 'is no longer what it was when it was indexed'
    FROM (SELECT * FROM known_fact EXCEPT SELECT * FROM fresh_fact)
    UNION ALL
    SELECT key, 'was not stated when it was indexed'
    FROM fresh_fact
    WHERE :by_this_program AND NOT EXISTS (SELECT * FROM new_file)
      AND key NOT IN (SELECT key FROM known_fact)
  )
SELECT NULL AS name, (SELECT path FROM known.files WHERE id = ID_FIRST(:known)) AS file, NULL AS offset,
       'metadata' AS code, 'the fact ' || key || ' ' || how AS message
FROM differing
