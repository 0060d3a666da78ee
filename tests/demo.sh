#!/usr/bin/env bash
# demo.sh - a tour of ckptdb over the real checkpoints in tests/fixtures/real. Prints each command,
# in the form in which a reader can repeat it, and runs it. Ends with status 1 if one of them fails.
set -u
cd "$(dirname "$0")/.." || exit 2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
export PATH=$PWD/build:$PATH CKPTDB=$work/catalog.db
failed=0
bold='' plain=''
[ -t 1 ] && bold=$'\e[1m' plain=$'\e[0m'

say() {
    printf '\n%s# %s%s\n' "$bold" "$*" "$plain"
}

# run COMMAND...: print it, quoted for a shell, with the demo's own folder as OUT; then run it.
run() {
    local word text=
    for word in "$@"; do
        case $word in
        *\'*)
            word=${word//\\/\\\\}
            word=\"${word//\$/\\\$}\" ;;
        *[!A-Za-z0-9_./:=,@%+-]*) word=\'$word\' ;;
        esac
        text+=" ${word//$work/\$OUT}"
    done
    printf '%s$%s%s\n' "$bold" "$text" "$plain"
    "$@" || { failed=1; echo "demo: that failed" >&2; }
}

data=tests/fixtures/real

say 'Index some checkpoints: TensorFlow, safetensors, NumPy. Only headers are read.'
run ckptdb import $data/tf/t5_mesh $data/tf/object_based $data/tf/partitioned_v2 \
    $data/safetensors/llama_tiny $data/safetensors/dtypes $data/numpy/npz
run ckptdb --box ls '*t5_mesh*'

say 'Everything is rows. What is there, and how large is it?'
run ckptdb --box 'SELECT format, count(*) AS checkpoints, sum(tensors) AS tensors,
       sum(parameters) AS parameters, sum(nbytes) AS bytes
FROM checkpoint GROUP BY format ORDER BY bytes DESC'
run ckptdb --box "SELECT module, tensors, parameters, nbytes FROM by_module
WHERE checkpoint_id = (SELECT id FROM checkpoint WHERE path LIKE '%/llama_tiny/%')
  AND depth <= 2 ORDER BY nbytes DESC LIMIT 5"

say 'What did ten steps of training change? Values are read only where a query asks.'
run ckptdb --box "SELECT regexp_replace('/\.ATTRIBUTES/.*', a.name, '') AS variable, a.dtype, a.shape,
       iif(tensor_sha256(a.id) = tensor_sha256(b.id), 'same', 'changed') AS values_are
FROM tensor a JOIN tensor b USING (name)
WHERE a.checkpoint LIKE '%object_based/data/ckpt-20' AND b.checkpoint LIKE '%object_based/data/ckpt-30'
  AND name REGEXP '^(model|optimizer)/\w+/\.ATTRIBUTES/' ORDER BY a.ord LIMIT 8"

say 'Look into one checkpoint, and into one tensor.'
run ckptdb tree t5_mesh/data/model.ckpt-1000000 --depth 3
run ckptdb show t5_mesh/data/model.ckpt-1000000 encoder/block_000/layer_000/SelfAttention/q
run ckptdb get t5_mesh/data/model.ckpt-1000000 encoder/block_000/layer_000/SelfAttention/q \
    --slice ':3, :4' --dtype float32

say 'T5 (Mesh TensorFlow) to T5X, as a view: one row a name, with the rule that made it.'
run ckptdb --box "SELECT rule, old_name, new_name, dtype, shape FROM translation
WHERE ruleset = 't5_to_t5x'
  AND checkpoint_id = (SELECT id FROM checkpoint WHERE path LIKE '%t5_mesh/data/model.ckpt-1000000')
  AND new_name REGEXP '^target/encoder/layers_0/' ORDER BY ord"
run ckptdb --box "SELECT status, count(*) AS names FROM translation
WHERE ruleset = 't5_to_t5x'
  AND checkpoint_id = (SELECT id FROM checkpoint WHERE path LIKE '%t5_mesh/data/model.ckpt-1000000')
GROUP BY status"

say 'Is the map right? And where does one name come from?'
run ckptdb --box map check t5_to_t5x t5_mesh/data/model.ckpt-1000000
run ckptdb --line map why t5_mesh/data/model.ckpt-1000000 target/token_embedder/embedding

say 'A conversion: Llama to the names of llama.cpp. Its rules permute heads, whose number each model has in its config.json.'
run ckptdb --box "SELECT old_name, new_name, shape, ops FROM conversion
WHERE ruleset = 'llama_hf_to_gguf' AND old_name REGEXP 'layers.0.self_attn'
  AND checkpoint_id = (SELECT id FROM checkpoint WHERE path LIKE '%/llama_tiny/%')"
run ckptdb get llama_tiny/data/model.safetensors.index.json blk.0.attn_k.weight \
    --map llama_hf_to_gguf --slice ':3, :4'

say 'A run of Orbax: every item of every step is a checkpoint; follow one tensor over the steps.'
run ckptdb import $data/orbax/composite $data/jax/t5x_version2
run ckptdb --box "SELECT format, step, item, tensors, nbytes FROM checkpoint
WHERE format IN ('orbax', 't5x') ORDER BY path"
run ckptdb --box "SELECT c.step, t.name, t.shape, t.storage, v.value AS first_value
FROM checkpoint c JOIN tensor t ON t.checkpoint_id = c.id JOIN tensor_values(t.id, 0, 1) v
WHERE c.item = 'params' AND t.name = 'Dense_0/kernel' ORDER BY c.step"
run ckptdb get data/exp@latest/params Dense_0/bias

say 'Export the encoder under its T5X names, as float32, and read the new file back.'
run ckptdb export t5_mesh/data/model.ckpt-1000000 "$work/encoder.safetensors" \
    --map t5_to_t5x --names '^encoder/.*(?<!_slot_v)(?<!_slot_v[rc])$' --dtype float32
run ckptdb import "$work/encoder.safetensors"
run ckptdb tensors encoder.safetensors 'layers_0/attention'
run ckptdb get encoder.safetensors target/encoder/layers_0/attention/query/kernel --slice ':3, :4'

say 'Every command of the program, and the shell, speak of the same catalog:'
run ckptdb --version
cat <<'END'

Now your own files:

  $ build/ckptdb import ~/models /data/runs      # again at any time: what did not change is not read
  $ build/ckptdb ls
  $ build/ckptdb                                 # the shell: SQL, .help, Tab completes

The catalog is an SQLite file (~/.local/share/ckptdb/catalog.db, or -d FILE, or $CKPTDB); with
`.load build/ckptdb` any SQLite program can open it. `ckptdb help` lists the commands.
END
exit $failed
