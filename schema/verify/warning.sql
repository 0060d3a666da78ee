-- warning.sql - warnings of an import of :fresh, and dangerous calls, that an import of :known did not give: the header
-- has changed, even if everything read from it may be the same.
SELECT NULL AS name, f.path AS file, f.offset, f.code,
       f.message || ' (it was not so when it was indexed)' AS message
FROM main._issues f
WHERE f.checkpoint = :fresh AND f.code <> 'checksum'
  AND (f.severity = 'warning' OR f.code = 'dangerous-call')
  AND NOT EXISTS (SELECT 1 FROM known._issues k WHERE k.checkpoint = :known
                  AND k.path = f.path AND k.code = f.code AND k.message = f.message)
  AND (SELECT count(*) FROM main._issues g
       WHERE g.checkpoint = :fresh AND g.path = f.path AND g.code = f.code)
    > (SELECT count(*) FROM known._issues k
       WHERE k.checkpoint = :known AND k.path = f.path AND k.code = f.code)
