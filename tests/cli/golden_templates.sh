# Templates through the views: the cases E, each the only rule of a set (what a template makes is in hex
# where it is not printable).
echo '{"ckptdb": "names", "tensors": {"a": {"dtype": null, "shape": null}, "b": {"dtype": null, "shape": null}}}' >names.json
"$CKPTDB_BIN" import names.json 2>/dev/null
cat >cases.sql <<'END'
CREATE TEMP TABLE cases(id INTEGER PRIMARY KEY, pattern, subject, template, result);
INSERT INTO cases(pattern, subject, template, result) VALUES
  ('(a)(b)?', 'a', '[\1\2]', '[a]'),
  ('(a)', 'a', '\0', char(0)), ('(a)', 'a', '\01', char(1)), ('(a)', 'a', '\101', 'A'),
  ('(a)', 'a', '\10', 'error: invalid group reference 10 at position 1'),
  ('(a)', 'a', '\1a', 'aa'), ('(a)', 'a', '\g<1>0', 'a0'), ('(a)', 'a', '\g<0>', 'a'),
  ('(a)', 'a', '\g<01>', 'a'),
  ('(a)', 'a', '\g<>', 'error: missing group name at position 3'),
  ('(a)', 'a', '\g<1', 'error: missing >, unterminated name at position 3'),
  ('(a)', 'a', '\g1', 'error: missing < at position 2'),
  ('(a)', 'a', '\g<-1>', 'error: bad character in group name ''-1'' at position 3'),
  ('(?P<n>a)', 'a', '\g<n>', 'a'),
  ('(a)', 'a', '\g<n>', 'IndexError: unknown group name ''n'''),
  ('(?P<n>a)|b', 'b', '<\g<n>>', '<>'),
  ('(a)', 'a', 'x\/y', 'x\/y'), ('(a)', 'a', 'x\.y', 'x\.y'), ('(a)', 'a', '\_x', '\_x'),
  ('(a)', 'a', 'a&$1', 'a&$1'), ('(a)', 'a', '\\', '\'),
  ('(a)', 'a', '\d', 'error: bad escape \d at position 0'),
  ('(a)', 'a', '\x41', 'error: bad escape \x at position 0'),
  ('(a)', 'a', '\Z', 'error: bad escape \Z at position 0'),
  ('(a)', 'a', 'end\', 'error: bad escape (end of pattern) at position 3'),
  ('(a)', 'a', '\400', 'error: octal escape value \400 outside of range 0-0o377 at position 0'),
  ('(a)', 'a', '\099', char(0) || '99'),
  ('(a)', 'a', '\8', 'error: invalid group reference 8 at position 1');
INSERT INTO ruleset(name, dialect) SELECT format('E%02d', id), 't5x-translator' FROM cases;
INSERT INTO rule(ruleset, ord, pattern, replacement)
  SELECT format('E%02d', id), 1, pattern, template FROM cases;
INSERT INTO ruleset(name, dialect, options)
  SELECT format('A%02d', id), 't5x-assignment', '{"require_all": false}' FROM cases;
INSERT INTO rule(ruleset, ord, pattern, replacement)
  SELECT format('A%02d', id), 1, pattern, template FROM cases;
INSERT INTO ruleset(name, dialect) SELECT format('O%02d', id), 'orbax' FROM cases;
INSERT INTO rule(ruleset, ord, pattern, replacement)
  SELECT format('O%02d', id), 1, pattern, template FROM cases;

SELECT t.ruleset, c.pattern, c.template, t.status,
       ifnull(t.error, iif(t.new_name GLOB '*[' || char(1) || '-' || char(31) || ']*' OR instr(t.new_name, char(0)),
                           hex(t.new_name), t.new_name)) AS result,
       iif(ifnull(t.error, t.new_name) IS c.result, '', 'BUT THE ORIGINAL: ' || c.result) AS verdict
FROM cases c JOIN translation t ON t.ruleset = format('E%02d', c.id) AND t.checkpoint_id = 1
 AND t.old_name = c.subject;
-- The old names that the templates make.
SELECT count(*) AS cases, sum(t.error IS c.result OR t.old_name = c.result) AS told
FROM cases c JOIN assignment t ON t.ruleset = format('A%02d', c.id) AND t.source_id = 1 AND t.target_id = 1
 AND t.new_name = c.subject;
SELECT count(*) AS cases, sum(t.error IS c.result OR t.old_name = c.result) AS told
FROM cases c JOIN assignment t ON t.ruleset = format('O%02d', c.id) AND t.source_id = 1 AND t.target_id = 1
 AND t.new_name = c.subject;
END
"$CKPTDB_BIN" --list -f cases.sql
# And as functions; an error there fails the statement.
"$CKPTDB_BIN" "SELECT regexp_expand('(a)(b)?', 'a', '[\\1\\2]'), hex(regexp_expand('(a)', 'a', '\\099')),
    regexp_replace('(a)', 'a', 'x\\/y'), regexp_expand('(?P<n>a)|b', 'b', '<\\g<n>>')"
for template in '\10' '\g<-1>' 'end\' '\400' '\g<n>'; do
    "$CKPTDB_BIN" "SELECT regexp_expand('(a)', 'a', '$template')"
    "$CKPTDB_BIN" "SELECT regexp_replace('(a)', 'b', '$template')" # re.sub parses it all the same
done
true
