# Rows of table functions: the same however they are asked for, and counted as they are made.
"$CKPTDB_BIN" import "$TESTS/fixtures/real/safetensors/llama_tiny" "$TESTS/fixtures/real/tf/t5_mesh" 2>/dev/null
pair() { # one question in two ways
  echo "-- $1"
  "$CKPTDB_BIN" "$1" >asked
  "$CKPTDB_BIN" "$2" | cmp - asked && wc -l <asked
}
pair "SELECT a.name, b.name FROM (SELECT * FROM tensor WHERE checkpoint_id = 1) a FULL JOIN (SELECT * FROM tensor WHERE checkpoint_id = 2) b USING (name) ORDER BY 1, 2" \
  "SELECT a.name, b.name FROM tensors_of(1) a FULL JOIN tensors_of(2) b USING (name) ORDER BY 1, 2"
echo '-- rows of maps are counted without making them'
"$CKPTDB_BIN" map load to2 - <<'END'
{"dialect": "t5x-translator", "rules": [["(.*)_slot_.*", null], ["enc.*", "new/\\0"], ["(g.*)", "\\1"]]}
END
"$CKPTDB_BIN" map load fill - <<'END'
{"dialect": "t5x-assignment", "rules": [["enc(.*)", "dec\\1"], ["gl.*", null]]}
END
pair "SELECT checkpoint_id, status, count(*) FROM translation WHERE ruleset = 'to2' GROUP BY 1, 2" \
  "SELECT checkpoint_id, status, rows FROM translation_counts('to2') ORDER BY 1, 2"
pair "SELECT status, count(*) FROM conversion GROUP BY 1" \
  "SELECT status, sum(rows) FROM ruleset r JOIN conversion_counts(r.name) GROUP BY 1"
pair "SELECT target_id, status, count(*) FROM assignment WHERE ruleset = 'fill' AND source_id = 2 GROUP BY 1, 2" \
  "SELECT target_id, status, rows FROM assignment_counts('fill', 2) ORDER BY 1, 2"
pair "SELECT source_id, count(*) FROM assignment WHERE ruleset = 'fill' AND target_id = 3 GROUP BY 1" \
  "SELECT source_id, sum(rows) FROM assignment_counts WHERE ruleset = 'fill' AND target_id = 3 GROUP BY 1"
echo '-- a row is the same row however it is asked for: OR, FULL JOIN'
"$CKPTDB_BIN" map load to - <<'END'
{"dialect": "t5x-translator", "rules": [["(.*)", "new/\\1"]]}
END
"$CKPTDB_BIN" "SELECT count(*) FROM translation WHERE ruleset = 'to' AND (checkpoint_id = 1 OR checkpoint_id = 2)"
"$CKPTDB_BIN" "SELECT count(*) FROM translation_rows WHERE ruleset = 'to' AND source_id = 1 OR source_id = 2 AND ruleset = 'to'"
"$CKPTDB_BIN" "SELECT count(*) FROM translation_rows WHERE ruleset = 'to' AND source_id = 1 OR ord < 50 AND ruleset = 'to'"
"$CKPTDB_BIN" "SELECT count(*) FROM tensors_of WHERE of = 1 AND ord < 30 OR of = 2 AND name = 'global_step' OR of = 1 AND ord < 20"
"$CKPTDB_BIN" "SELECT count(a.id), count(b.id), sum(a.nbytes), sum(b.nbytes) FROM tensors_of(2) a FULL JOIN tensors_of(3) b
  ON a.name = b.name AND a.name < 'encoder'"
"$CKPTDB_BIN" "SELECT tensors, nbytes FROM checkpoint WHERE id IN (2, 3)"
"$CKPTDB_BIN" "SELECT count(*) FROM tensor_values WHERE of_tensor = 1 << 24 AND position < 3 OR of_tensor = (1 << 24) + 1 AND position < 4"
"$CKPTDB_BIN" "SELECT count(*) FROM extent WHERE tensor_id = 2 << 24 AND ordinal < 9 OR tensor_id = (2 << 24) + 1 AND stored > 0"
"$CKPTDB_BIN" "SELECT count(*) FROM tensors_of"
cp -r "$TESTS/fixtures/real/safetensors/llama_tiny/data" again
"$CKPTDB_BIN" import again 2>/dev/null
"$CKPTDB_BIN" hash 1 4 >/dev/null
"$CKPTDB_BIN" "SELECT count(c.id), count(s.other_id), count(*) FROM checkpoint c FULL JOIN shared s ON s.checkpoint_id = c.id"
echo '-- an argument that comes from another table, from a list, or is left out'
"$CKPTDB_BIN" "SELECT count(*) FROM diff d, ruleset r WHERE d.a = 2 AND d.b = 3 AND d.ruleset = r.name AND r.name = 'to'"
"$CKPTDB_BIN" "SELECT count(*) FROM mapped m, tensors_of t WHERE m.checkpoint_id = t.checkpoint_id AND m.checkpoint_id IN (2, 3)
  AND m.ruleset IN ('to', 'to2') AND t.of = m.checkpoint_id AND t.id = m.tensor_id"
"$CKPTDB_BIN" "SELECT count(*) FROM extent WHERE tensor_id = (2 << 24) + 0.5"
