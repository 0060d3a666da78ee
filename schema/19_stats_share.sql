-- 19_stats_share.sql - statistics that were computed before their tensor had a hash: from the hash on they
-- are those of all tensors with these values, or those that are known already are theirs. Where they are
-- of another hash, they are of other values.
CREATE TRIGGER statistics_shared AFTER INSERT ON tensor_hashes
WHEN EXISTS (SELECT 1 FROM tensor_statistics x WHERE x.id = new.id)
BEGIN
  DELETE FROM tensor_statistics WHERE id = new.id
  AND EXISTS (SELECT 1 FROM statistics s WHERE s.id = tensor_statistics.statistics AND s.hash <> new.hash);
  UPDATE tensor_statistics SET statistics = known.id
  FROM (SELECT s.id FROM tensor_statistics x
        JOIN statistics own ON own.id = x.statistics
        JOIN statistics s ON s.hash = new.hash AND s.dtype = own.dtype
        WHERE x.id = new.id AND own.hash IS NULL) AS known
  WHERE tensor_statistics.id = new.id;
  UPDATE statistics SET hash = new.hash
  WHERE hash IS NULL AND id = (SELECT x.statistics FROM tensor_statistics x WHERE x.id = new.id);
END;
