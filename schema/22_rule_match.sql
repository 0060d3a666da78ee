-- 22_rule_match.sql - every rule that meets a name, first or not. Rules are those whose patterns are
-- regular expressions, names come from every checkpoint (leaf); the dialect says how a pattern is tried.
-- rule_first(ruleset, name) is the first rule for a name. A pattern that does not compile meets none here.
CREATE VIEW rule_match AS
SELECT t.ruleset, t.ord AS rule, l.checkpoint_id, l.tensor_id, l.name,
       regexp_groups(t.pattern, l.name, t.how) AS groups
FROM (SELECT r.ruleset, r.ord, iif(s.matches, 'match', 'fullmatch') AS how,
             iif(s.matches, r.pattern || '$', r.pattern) AS pattern
      FROM (SELECT name, "dialect_is (of ckptdb.so: load this extension first)"(dialect, 'match') AS matches,
                   dialect_is(dialect, 'fullmatch') AS whole
            FROM ruleset) s
      JOIN rule r ON r.ruleset = s.name
      WHERE s.matches OR s.whole) t
JOIN leaf l
WHERE iif(regexp_error(t.pattern) IS NULL, regexp_match(t.pattern, l.name, t.how), 0);
