# The view `rule_match`: every rule that meets a name, as its dialect tries it. The first decides.
echo '{"ckptdb": "names", "tree": {"a": {"b": "float32[2]", "bb": null}, "b\n": "?", "c": {}}}' >m.json
"$CKPTDB_BIN" import m.json 2>/dev/null
cat >sets.sql <<'Q'
INSERT INTO ruleset(name, dialect) VALUES ('t', 't5x-translator'), ('o', 'orbax'), ('k', 'kauldron'), ('c', 'convert');
INSERT INTO rule(ruleset, ord, pattern, replacement)
SELECT r.name, v.column1, v.column2, '\1' FROM ruleset r
JOIN (VALUES (2, 'a/(b)'), (5, '(a|b).*'), (7, '('), (9, '(\w+)/?(b+)?'), (11, 'b')) v WHERE length(r.name) = 1;
Q
"$CKPTDB_BIN" -f sets.sql
"$CKPTDB_BIN" --jsonl "SELECT ruleset, rule, checkpoint_id, tensor_id, name, groups FROM rule_match WHERE length(ruleset) = 1 ORDER BY 1, 2, name"
echo "-- the first match"
"$CKPTDB_BIN" "SELECT ruleset, count(*), sum(first IS rule_first(ruleset, name)) FROM (SELECT ruleset, name, min(rule) AS first FROM rule_match
  WHERE length(ruleset) = 1 GROUP BY 1, 2) GROUP BY 1"
"$CKPTDB_BIN" "SELECT l.name, rule_first('t', l.name), rule_status('t', l.name) FROM leaf l WHERE NOT EXISTS
  (SELECT 1 FROM rule_match m WHERE m.ruleset = 't' AND m.name = l.name)"
