-- 15_rulesets.sql - triggers that keep ruleset and rule consistent in any SQLite program, even with
-- foreign keys off, and that turn an edited shipped set into the user's own.
--
-- They also check that columns hold JSON. A CHECK constraint cannot: with trusted_schema off,
-- SQLite 3.40 rejects a whole schema as malformed if a table in it uses a JSON function.
CREATE TRIGGER _ruleset_checked BEFORE INSERT ON ruleset WHEN NOT json_valid(new.options)
BEGIN
  SELECT RAISE(ABORT, 'ruleset.options: no valid JSON');
END;
CREATE TRIGGER _ruleset_rechecked BEFORE UPDATE OF options ON ruleset
WHEN NOT json_valid(new.options)
BEGIN
  SELECT RAISE(ABORT, 'ruleset.options: no valid JSON');
END;
CREATE TRIGGER _rule_checked BEFORE INSERT ON rule
WHEN NOT json_valid(coalesce(new.compute, '[]')) OR NOT json_valid(coalesce(new.ops, '[]'))
BEGIN
  SELECT RAISE(ABORT, 'rule.compute, rule.ops: no valid JSON');
END;
CREATE TRIGGER _rule_rechecked BEFORE UPDATE OF compute, ops ON rule
WHEN NOT json_valid(coalesce(new.compute, '[]')) OR NOT json_valid(coalesce(new.ops, '[]'))
BEGIN
  SELECT RAISE(ABORT, 'rule.compute, rule.ops: no valid JSON');
END;
CREATE TRIGGER _optimizer_checked BEFORE INSERT ON optimizer WHEN NOT json_valid(new.spec)
BEGIN
  SELECT RAISE(ABORT, 'optimizer.spec: no valid JSON');
END;
CREATE TRIGGER _optimizer_rechecked BEFORE UPDATE OF spec ON optimizer
WHEN NOT json_valid(new.spec)
BEGIN
  SELECT RAISE(ABORT, 'optimizer.spec: no valid JSON');
END;
CREATE TRIGGER _ruleset_deleted AFTER DELETE ON ruleset BEGIN
  DELETE FROM rule WHERE ruleset = old.name;
END;
CREATE TRIGGER _ruleset_renamed AFTER UPDATE OF name ON ruleset BEGIN
  UPDATE rule SET ruleset = new.name WHERE ruleset = old.name;
END;
CREATE TRIGGER _ruleset_edited AFTER UPDATE OF dialect, options ON ruleset BEGIN
  UPDATE ruleset SET shipped = 0 WHERE name = new.name;
END;
CREATE TRIGGER _rule_inserted AFTER INSERT ON rule BEGIN
  UPDATE ruleset SET shipped = 0 WHERE name = new.ruleset AND shipped;
END;
CREATE TRIGGER _rule_updated AFTER UPDATE ON rule BEGIN
  UPDATE ruleset SET shipped = 0 WHERE name IN (old.ruleset, new.ruleset) AND shipped;
END;
CREATE TRIGGER _rule_deleted AFTER DELETE ON rule BEGIN
  UPDATE ruleset SET shipped = 0 WHERE name = old.ruleset AND shipped;
END;
