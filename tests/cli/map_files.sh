# Maps as others keep them: gin files of T5X, Kauldron's new_to_old, Hugging Face's key mappings.
load() { # NAME FILE
    "$CKPTDB_BIN" map load "$1" "$2" && "$CKPTDB_BIN" map show "$1" 2>&1
    echo "status $?"
}
cat >moe.gin <<'G'
from __gin__ import dynamic_registration
import __main__ as train_script
# assignment_map = [('a', 'b')]
MY_assignment_map = [('never', 'this')]
utils.RestoreCheckpointConfig:
  path = %INITIAL_CHECKPOINT_PATH
  mode = 'specific'
  assignment_map = [  # first match decides
      # Restore experts from the dense layer.
      (r'(.*)expert/w(.*)', r'\1mlp/w\2'),
      ("it's", 'tab\there'
               ' and "on"'),
      (r'state.*', None),
      [ 'plain\d', r'raw\'x', ],
  ]
  strict = False
G
load moe moe.gin
printf 'assignment_map = ((r"a", None),)' >one.gin
load one one.gin
printf 'x.assignment_map = [("a", "b")]\nx.assignment_map = %%MAP\n' >macro.gin
load macro macro.gin
printf 'assignment_map = [\n("a"),\n]' >single.gin
load single single.gin
printf 'assignment_map = [("a", "b)]' >open.gin
load open open.gin
printf 'assignment_map = [("a", "\\x41")]' >number.gin
load number number.gin
printf 'assignment_map = [("a", "b") ("c", "d")]' >comma.gin
load comma comma.gin

echo '{"new_to_old": {"params.encoder": "params.old[0]", "step": "step"}, "ignore_model_keys": ["**.bias"]}' >kd.json
load kd kd.json
cat >hf.json <<'J'
{"^model\\.": "transformer.", "\\.(q|k)_proj": ".attn.\\1", "^lm_head": null}
J
load hf hf.json
echo '{"ckptdb": "names", "tensors": {"model.h.q_proj.w": {"dtype": null, "shape": null},
    "h.q_proj.k_proj": {"dtype": null, "shape": null}, "lm_head.w": {"dtype": null, "shape": null},
    "other": {"dtype": null, "shape": null}}}' >names.json
"$CKPTDB_BIN" import names.json >/dev/null 2>&1
"$CKPTDB_BIN" map run hf names.json | cut -f 1-3
echo '{"a": 3}' >bad.json
load bad bad.json
echo '{}' >empty.json
load empty empty.json
echo '-- text after the object: a second one would be lost'
for first in '{"a": "b"}' '{"new_to_old": {"a": "b"}}' '{"dialect": "orbax", "transforms": {"a": {}}}'; do
    echo "$first {}" >two.json
    load two two.json
done
echo '-- a key twice: its last value, in its first place'
echo '{"a": "first", "b": "c", "a": "last"}' >twice.json
load twice twice.json
echo '-- an option twice'
echo '{"dialect": "kauldron", "options": {"ignore_model_keys": ["a"], "ignore_model_keys": ["b"]}, "rules": [["a", "b"]]}' >options.json
load options options.json
echo '-- NUL characters, at which a text would end'
cat >nul.json <<'J'
{"dialect": "t5x-translator", "options": {"tables": {"t": {"a\u0000b": "x"}}}, "rules": [["(.*)", "\\g<k>", {"compute": [["k", "table", "t", "\\1"]]}]]}
J
load nul nul.json
echo "INSERT INTO ruleset(name, dialect) VALUES ('nul', 't5x-translator');
INSERT INTO rule(ruleset, ord, pattern, replacement, compute) VALUES ('nul', 1, '(.*)', '\\g<k>', '[[\"k\", \"if\", \"\", \"\", \"a\\u0000b\"]]');" >nul.sql
load nul nul.sql
"$CKPTDB_BIN" -f nul.sql "SELECT rule_status('nul', 'a'), rule_error('nul', 'a')"
echo '-- in a rule of the table it is a character as any other, which no name has'
"$CKPTDB_BIN" "INSERT INTO ruleset(name, dialect) VALUES ('zero', 't5x-translator'), ('zero_orbax', 'orbax')" \
    "INSERT INTO rule(ruleset, ord, pattern, replacement) VALUES ('zero', 1, 'a' || char(0), 'cut'), ('zero', 2, 'a\' || char(0) || '*', 'b'),
    ('zero', 3, 'c', 'z' || char(0) || 'y'), ('zero', 4, '(d)', '\1\' || char(0)), ('zero', 5, '(.*)', '\1'), ('zero_orbax', 1, 'a' || char(0), 'b')"
echo '{"ckptdb": "names", "tensors": {"a": {}, "c": {}, "d": {}, "e": {}}}' >letters.json
"$CKPTDB_BIN" import letters.json 2>/dev/null
"$CKPTDB_BIN" "SELECT old_name, status, rule, hex(new_name), error FROM translation WHERE ruleset = 'zero' AND checkpoint_id = (SELECT id FROM checkpoint WHERE name = 'letters.json')"
"$CKPTDB_BIN" "SELECT rule_status('zero_orbax', 'a'), rule_error('zero_orbax', 'a')"
