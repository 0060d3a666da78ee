-- 7_issues.sql - issues of checkpoints, and of files without a checkpoint, unless the other side has a checkpoint of the file.
INSERT INTO main._issues(checkpoint, path, offset, severity, code, message)
SELECT m.target, merge_path(i.path), i.offset, i.severity, i.code, i.message
FROM source._issues i JOIN merge_checkpoint m ON m.id = i.checkpoint
WHERE m.taken ORDER BY i.id;
DELETE FROM main._issues
WHERE checkpoint IS NULL
  AND path IN (SELECT merge_path(f.path)
               FROM merge_checkpoint m
               CROSS JOIN source._files f ON f.id BETWEEN ID_FIRST(m.id) AND ID_LAST(m.id)
               WHERE m.taken AND f.role <> 'facts')
  AND path NOT IN (SELECT merge_path(path) FROM source._issues WHERE checkpoint IS NULL);
INSERT INTO main._issues(checkpoint, path, offset, severity, code, message)
SELECT NULL, i.here, i.offset, i.severity, i.code, i.message
FROM (SELECT *, merge_path(path) AS here FROM source._issues WHERE checkpoint IS NULL) i
WHERE NOT EXISTS (SELECT 1 FROM main._issues k
                  WHERE k.path = i.here AND k.checkpoint IS NULL AND k.offset IS i.offset
                    AND k.severity = i.severity AND k.code = i.code AND k.message = i.message)
  AND NOT EXISTS (SELECT 1 FROM main._files f
                  WHERE f.path = i.here AND f.role <> 'facts'
                    AND ID_OWNER(f.id) NOT IN (SELECT target FROM merge_checkpoint))
ORDER BY i.id;
