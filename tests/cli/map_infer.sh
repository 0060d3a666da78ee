# map infer: each shipped set is found again from what it makes: the set inferred makes the same names,
# dtypes, shapes and values.
python3 "$TESTS/models.py"
"$CKPTDB_BIN" import . >/dev/null 2>&1
again() { # RULESET FROM [--set KEY=VALUE]...
    rm -f made.safetensors again.safetensors
    "$CKPTDB_BIN" export "$PWD/$2" made.safetensors --map "$1" --no-sync "${@:3}" >log 2>&1 || cat log
    "$CKPTDB_BIN" import made.safetensors >/dev/null 2>&1
    tensors_of made.safetensors >made
    "$CKPTDB_BIN" map infer "$PWD/$2" made.safetensors --name found >/dev/null 2>log
    echo "$1 $2: status $?, $(sed -n 's/^ckptdb: \([0-9]* rules.*\)/\1/p' log)"
    "$CKPTDB_BIN" export "$PWD/$2" again.safetensors --map found --no-sync >log 2>&1 || cat log
    "$CKPTDB_BIN" import again.safetensors >/dev/null 2>&1
    tensors_of again.safetensors | diff made - | head -n 10
}
for version in 1_0 1_1; do
    again t5x_to_hf_t5 t5_$version.t5x.safetensors
    again hf_t5_to_t5x t5_$version.hf.safetensors
done
again t5x_to_hf_t5 t5_1_1.t5x_heads.safetensors
for form in t5x t5x_joined scanned scanned_posemb flaxformer; do again t5x_to_hf_t5 umt5.$form.safetensors; done
again hf_t5_to_t5x umt5.hf.safetensors --set model_type=umt5
again t5x_unscan umt5.scanned.safetensors
again t5x_unscan umt5.flaxformer.safetensors
again t5x_scan umt5.t5x.safetensors
again t5x_unscan umt5_train.scanned.safetensors
again t5x_scan umt5_train.t5x.safetensors
heads=(--set num_attention_heads=4 --set num_key_value_heads=2)
for model in llama llama_bias mixtral; do
    again llama_hf_to_gguf $model.hf.safetensors "${heads[@]}"
    again llama_gguf_to_hf $model.gguf_narrow.safetensors "${heads[@]}"
done
again bert_tf_to_hf bert.tf.safetensors
again maxtext_unscan maxtext.scanned.safetensors
again maxtext_scan maxtext.layers.safetensors
# T5's own names from T5X's, and from these T5X's again; wrappers put around names and taken off.
"$CKPTDB_BIN" export "$PWD/t5_1_0.t5x.safetensors" t5.safetensors --map t5x_to_t5 --no-sync 2>/dev/null
again t5x_to_t5 t5_1_0.t5x.safetensors
"$CKPTDB_BIN" import t5.safetensors >/dev/null 2>&1
again t5_to_t5x t5.safetensors --where 1
printf '{"dialect": "convert", "rules": [["(.*)\\\\.(weight|bias)", "module._orig_mod.\\\\1._checkpoint_wrapped_module.\\\\2"], ["(.*)", "module.\\\\1"]]}' >wrap.json
"$CKPTDB_BIN" map load wrap wrap.json
"$CKPTDB_BIN" export "$PWD/llama_bias.hf.safetensors" wrapped.safetensors --map wrap --no-sync
"$CKPTDB_BIN" import wrapped.safetensors >/dev/null 2>&1
again strip_prefixes wrapped.safetensors
