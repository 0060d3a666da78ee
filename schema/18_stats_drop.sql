-- 18_stats_drop.sql - deletes statistics that no tensor refers to any more.
CREATE TRIGGER _statistics_left AFTER DELETE ON _tensor_statistics
BEGIN
  DELETE FROM _statistics WHERE id = old.statistics
  AND NOT EXISTS (SELECT 1 FROM _tensor_statistics x WHERE x.statistics = old.statistics);
END;

CREATE TRIGGER _statistics_replaced AFTER UPDATE OF statistics ON _tensor_statistics
BEGIN
  DELETE FROM _statistics WHERE id = old.statistics AND old.statistics <> new.statistics
  AND NOT EXISTS (SELECT 1 FROM _tensor_statistics x WHERE x.statistics = old.statistics);
END;
