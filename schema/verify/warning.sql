-- warning.sql - what an import of :fresh would warn of, and that of :known did not: a header is not as it
-- was, though all that is read from it may be.
SELECT NULL AS name, f.path AS file, f.offset, f.code,
       f.message || ' (it was not so when it was indexed)' AS message
FROM main.issues f
WHERE f.checkpoint = :fresh AND f.severity = 'warning' AND f.code <> 'checksum'
  AND NOT EXISTS (SELECT 1 FROM known.issues k WHERE k.checkpoint = :known
                  AND k.path = f.path AND k.code = f.code AND k.message = f.message)
  AND (SELECT count(*) FROM main.issues g
       WHERE g.checkpoint = :fresh AND g.path = f.path AND g.code = f.code)
    > (SELECT count(*) FROM known.issues k
       WHERE k.checkpoint = :known AND k.path = f.path AND k.code = f.code)
