# The view `translation`: whole checkpoints (against the original's results), null leaves, and
# the ways to ask.
names() { # FILE NAME...: a names-only checkpoint
    local file=$1
    shift
    printf '%s\n' "$@" | python3 -c '
import json, sys
names = sys.stdin.read().split("\n")[:-1]
print(json.dumps({"ckptdb": "names", "tensors":
    {n.replace("\\n", "\n"): {"dtype": "float32", "shape": [2]} for n in names}}))' >"$file"
}
sql() { "$CKPTDB_BIN" "$@" || echo "[status $?]"; }

E0=encoder/block_000/layer_000/SelfAttention
names p11.json decoder/logits/kernel transformer/logits/kernel
names p12.json transformer/logits/kernel decoder/logits/kernel
names p13.json $E0/q encoder/block_0/layer_000/SelfAttention/q
names p14.json foo global_step bar
names p15.json $E0/relative_attention_bias \
    decoder/block_000/layer_000/SelfAttention/relative_attention_bias{,_slot_v}
names p16.json {encoder,decoder}/block_000/layer_000/SelfAttention/relative_attention_bias \
    {encoder/block_001,decoder/block_011}/layer_000/SelfAttention/relative_attention_bias \
    decoder/block_000/layer_000/SelfAttention/relative_attention_bias_slot_v
names p19.json a b abc ab xb
names p20.json drop/me k/ k/x_1
names p21.json 'a\n' 'a\nb'
names p22.json foo shared/embeddings
echo '{"ckptdb": "names", "tree": {"global_step": null, "shared": {"embedding": "bfloat16[2,3]",
  "embedding_slot_v": null, "embedding_slot_vr": {}}, "foo": null}}' >nulls.json
echo '{"ckptdb": "names", "tree": {"x": {"1": "?", "2": null, "3": "?", "4": null}, "y": {"1": null,
  "2": "?"}, "z": "?"}}' >places.json
"$CKPTDB_BIN" import . 2>/dev/null

cat >custom.sql <<'END'
INSERT INTO ruleset(name, dialect) VALUES
  ('p19', 't5x-translator'), ('p20', 't5x-translator'), ('p21', 't5x-translator'),
  ('places', 't5x-translator');
INSERT INTO rule(ruleset, ord, pattern, replacement, compute) VALUES
  ('p19', 1, 'a|b', '\g<key>!', '[["key", "name"]]'),
  ('p20', 1, 'drop/(.*)', NULL, NULL),
  ('p20', 2, '(\w+)/(?:x_(\d+))?', '\1:\2', NULL),
  ('places', 1, '(.)/.*', '\1', NULL),
  ('p21', 1, '.*', '\g<key>', '[["key", "name"]]');
END
"$CKPTDB_BIN" -f custom.sql

run() { # RULESET FILE
    echo "-- $2"
    sql --jsonl "SELECT ord, old_name, status, new_name, rule, error, wins FROM translation
      WHERE ruleset = '$1' AND checkpoint_id = (SELECT id FROM checkpoint WHERE path GLOB '*/$2')
      ORDER BY ord, tensor_id IS NOT NULL"
}
for p in p11 p12 p13 p14 p15 p16 p22 nulls; do run t5_to_t5x $p.json; done
for p in p19 p20 p21 places; do run $p $p.json; done

echo "-- dtypes after the rule, and tensors"
sql --csv "SELECT t.name, x.dtype, x.shape, x.tensor_id = t.id AS same, x.old_name
  FROM translation x LEFT JOIN tensor t
   ON t.checkpoint_id = x.checkpoint_id AND t.ord = x.ord AND x.tensor_id IS NOT NULL
  WHERE ruleset = 't5_to_t5x' AND x.checkpoint_id IN
   (SELECT id FROM checkpoint WHERE path GLOB '*/p14.json' OR path GLOB '*/nulls.json')
  ORDER BY x.checkpoint_id, x.ord, x.old_name"
echo "-- a literal, a subquery, a join and all at once agree"
id=$("$CKPTDB_BIN" "SELECT id FROM checkpoint WHERE path GLOB '*/p15.json'")
ask() {
    sql "SELECT count(*), sum(wins), group_concat(DISTINCT t.checkpoint_id = $id) FROM $1"
}
ask "translation t WHERE ruleset = 't5_to_t5x' AND checkpoint_id = $id"
ask "translation t WHERE ruleset = (SELECT name FROM ruleset WHERE name LIKE 't5_to_t5_') AND
     checkpoint_id = (SELECT id FROM checkpoint WHERE path GLOB '*/p15.json')"
ask "checkpoint c JOIN translation t ON t.checkpoint_id = c.id
     JOIN ruleset r ON r.name = t.ruleset
     WHERE r.name = 't5_to_t5x' AND c.path GLOB '*/p15.json'"
ask "(SELECT * FROM translation) t
     WHERE ruleset || '' = 't5_to_t5x' AND checkpoint_id + 0 = $id"
ask "translation t WHERE ruleset = 't5_to_t5x' AND checkpoint_id = '$id'"
ask "translation t WHERE ruleset IN ('t5_to_t5x', 'none') AND checkpoint_id IN ($id, 99)"
sql "SELECT ruleset, count(*) FROM translation GROUP BY 1"
echo "-- nothing"
sql "SELECT count(*) FROM translation WHERE ruleset = 'none'"
sql "SELECT count(*) FROM translation WHERE ruleset = 't5_to_t5x' AND checkpoint_id = 99"
sql "SELECT count(*) FROM translation WHERE ruleset = 't5_to_t5x' AND checkpoint_id = NULL"
sql "SELECT count(*) FROM translation WHERE ruleset IS NULL"
sql "SELECT * FROM translation_rows LIMIT 1"
sql "INSERT INTO translation(ruleset) VALUES ('x')"
echo "-- strict: a hidden name is an error"
sql "UPDATE ruleset SET options = json_set(options, '\$.mode', 'strict')"
run t5_to_t5x p11.json
sql --jsonl "SELECT ruleset, ord, old_name, new_name, status, error, note FROM translation WHERE ruleset IN ('places', 'p20')
  AND checkpoint_id IN (SELECT id FROM checkpoint WHERE path GLOB '*/p20.json' OR path GLOB '*/places.json') AND status <> 'unmatched'
  ORDER BY ruleset, checkpoint_id, ord, tensor_id IS NOT NULL"
echo "-- a null leaf comes before the tensors that follow it in the file, however many there are"
mkdir many
python3 -c '
import json
print(json.dumps({"ckptdb": "names", "tree":
    {"a_null": None, **{f"t{i:03}": "float32[2]" for i in range(300)}}}))' >many/many.json
"$CKPTDB_BIN" import many >/dev/null 2>&1
sql "INSERT INTO ruleset(name, dialect) VALUES ('same', 't5x-translator')"
sql "INSERT INTO rule(ruleset, ord, pattern, replacement) VALUES ('same', 1, 'a_null|t200|t010|t000', 'same'),
  ('same', 2, 't(.*)', 'x\1')"
sql --list "SELECT old_name, wins FROM translation WHERE ruleset = 'same' AND new_name = 'same'"
sql --list "SELECT old_name FROM translation WHERE ruleset = 'same' AND checkpoint_id = checkpoint_id('many') LIMIT 2"
