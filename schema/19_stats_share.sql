-- 19_stats_share.sql - runs when a tensor that has statistics gets its hash. If the statistics
-- belong to another hash, they are of other values, and are dropped. If some are known for this
-- hash and dtype, the tensor takes these. Otherwise its own statistics become the hash's.
CREATE TRIGGER _statistics_shared AFTER INSERT ON _tensor_hashes
WHEN EXISTS (SELECT 1 FROM _tensor_statistics x WHERE x.id = new.id)
BEGIN
  DELETE FROM _tensor_statistics WHERE id = new.id
  AND EXISTS (SELECT 1 FROM _statistics s WHERE s.id = _tensor_statistics.statistics AND s.hash <> new.hash);
  UPDATE _tensor_statistics SET statistics = known.id
  FROM (SELECT s.id FROM _tensor_statistics x
        JOIN _statistics own ON own.id = x.statistics
        JOIN _statistics s ON s.hash = new.hash AND s.dtype = own.dtype
        WHERE x.id = new.id AND own.hash IS NULL) AS known
  WHERE _tensor_statistics.id = new.id;
  UPDATE _statistics SET hash = new.hash
  WHERE hash IS NULL AND id = (SELECT x.statistics FROM _tensor_statistics x WHERE x.id = new.id);
END;
