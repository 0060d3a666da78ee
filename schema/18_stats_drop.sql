-- 18_stats_drop.sql - deletes statistics that no tensor refers to any more.
CREATE TRIGGER statistics_left AFTER DELETE ON tensor_statistics
BEGIN
  DELETE FROM statistics WHERE id = old.statistics
  AND NOT EXISTS (SELECT 1 FROM tensor_statistics x WHERE x.statistics = old.statistics);
END;

CREATE TRIGGER statistics_replaced AFTER UPDATE OF statistics ON tensor_statistics
BEGIN
  DELETE FROM statistics WHERE id = old.statistics AND old.statistics <> new.statistics
  AND NOT EXISTS (SELECT 1 FROM tensor_statistics x WHERE x.statistics = old.statistics);
END;
