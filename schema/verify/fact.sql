-- fact.sql - metadata that checkpoint :known had when it was indexed and does not have now
-- (:fresh), or the other way round: if one of several shards has a flipped bit, the others still
-- have the original fact, and a new one appears. New facts are not damage if they come from a new
-- file (config.json), or if another build of this program reads them.
WITH
  known_fact AS (SELECT key, value FROM known.metadata WHERE checkpoint_id = :known),
  fresh_fact AS (SELECT key, value FROM main.metadata WHERE checkpoint_id = :fresh),
  new_file AS (
    SELECT path FROM main._files WHERE id BETWEEN ID_FIRST(:fresh) AND ID_LAST(:fresh)
    EXCEPT
    SELECT path FROM known._files WHERE id BETWEEN ID_FIRST(:known) AND ID_LAST(:known)
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
SELECT NULL AS name, (SELECT path FROM known._files WHERE id = ID_FIRST(:known)) AS file, NULL AS offset,
       'metadata' AS code, 'the fact ' || key || ' ' || how AS message
FROM differing
