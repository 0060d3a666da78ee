-- 15_rulesets.sql - what keeps ruleset and rule together in any SQLite program, also where
-- foreign keys are off, and what makes an edited shipped set the user's own.
CREATE TRIGGER ruleset_deleted AFTER DELETE ON ruleset BEGIN
  DELETE FROM rule WHERE ruleset = old.name;
END;
CREATE TRIGGER ruleset_renamed AFTER UPDATE OF name ON ruleset BEGIN
  UPDATE rule SET ruleset = new.name WHERE ruleset = old.name;
END;
CREATE TRIGGER ruleset_edited AFTER UPDATE OF dialect, options ON ruleset BEGIN
  UPDATE ruleset SET shipped = 0 WHERE name = new.name;
END;
CREATE TRIGGER rule_inserted AFTER INSERT ON rule BEGIN
  UPDATE ruleset SET shipped = 0 WHERE name = new.ruleset AND shipped;
END;
CREATE TRIGGER rule_updated AFTER UPDATE ON rule BEGIN
  UPDATE ruleset SET shipped = 0 WHERE name IN (old.ruleset, new.ruleset) AND shipped;
END;
CREATE TRIGGER rule_deleted AFTER DELETE ON rule BEGIN
  UPDATE ruleset SET shipped = 0 WHERE name = old.ruleset AND shipped;
END;
