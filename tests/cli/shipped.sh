# The shipped rule sets: values by values on small models, and shapes on models of real sizes.
# What must come out is computed by models.py, without the program.
python3 "$TESTS/models.py"
"$CKPTDB_BIN" import .
check() { # RULESET FROM TO [--set KEY=VALUE]...
    "$CKPTDB_BIN" export "$PWD/$2.safetensors" got.safetensors --map "$1" --force --no-sync "${@:4}" >log 2>&1 ||
        cat log
    "$CKPTDB_BIN" import got.safetensors >/dev/null 2>&1
    tensors_of got.safetensors | diff "$3.want" - | head -n 10
    echo "$1: $2 -> $3, $(tensors_of got.safetensors | wc -l) tensors"
}
plan() { # RULESET FROM TO [KEY=VALUE]...: only the plan
    local each given=()
    for each in "${@:4}"; do given+=("SELECT 1 WHERE map_set('${each%%=*}', '${each#*=}')"); done
    "$CKPTDB_BIN" --list "${given[@]}" "SELECT new_name, dtype, shape FROM conversion WHERE ruleset = '$1' AND part = 0
        AND checkpoint_id = (SELECT id FROM checkpoint WHERE path = '$PWD/big/$2.json')
        AND status = 'ok' ORDER BY new_name" >got
    diff "big/$3.want" got | head -n 10
    echo "$1: $2 -> $3, $(wc -l <got) names"
}
bad() { # RULESET FROM: what is not well
    "$CKPTDB_BIN" --list "SELECT status, old_name, error FROM conversion WHERE ruleset = '$1'
        AND checkpoint_id = (SELECT id FROM checkpoint WHERE path = '$PWD/$2')
        AND status NOT IN ('ok', 'dropped') ORDER BY ord LIMIT 2"
}

echo '--- T5'
for version in 1_0 1_1; do
    check t5x_to_hf_t5 t5_$version.t5x t5_$version.hf
    check hf_t5_to_t5x t5_$version.hf t5_$version.t5x
done
check t5x_to_hf_t5 t5_1_1.t5x_heads t5_1_1.hf
plan t5x_to_hf_t5 t5_1_1_small.t5x t5_1_1_small.hf
plan hf_t5_to_t5x t5_1_1_small.hf t5_1_1_small.t5x
echo '--- scanned, under each name that the scanned module has, and a bias in every layer'
for form in t5x t5x_joined scanned scanned_posemb flaxformer; do
    check t5x_to_hf_t5 umt5.$form umt5.hf
done
check hf_t5_to_t5x umt5.hf umt5.t5x_joined --set model_type=umt5
plan t5x_to_hf_t5 umt5_small.flaxformer umt5_small.hf
check t5x_unscan umt5.scanned umt5.t5x
check t5x_unscan umt5.flaxformer umt5.t5x
check t5x_scan umt5.t5x umt5.scanned
echo '--- with the optimizer'
check t5x_unscan umt5_train.scanned umt5_train.t5x
check t5x_unscan umt5_train.scanned_unused umt5_train.t5x
check t5x_scan umt5_train.t5x umt5_train.scanned
check t5x_scan umt5_train.t5x_unused umt5_train.scanned
check t5x_to_hf_t5 umt5_train.scanned_unused umt5.hf
check t5x_scan umt5.t5x umt5.flaxformer --set encoder_module=encoder --set decoder_module=decoder

echo '--- Llama, whose heads nothing tells here'
bad llama_hf_to_gguf llama.hf.safetensors
bad llama_gguf_to_hf llama.gguf.safetensors
heads=(num_attention_heads=4 num_key_value_heads=2)
for model in llama llama_bias mixtral; do
    check llama_hf_to_gguf $model.hf $model.gguf "${heads[@]/#/--set=}"
    check llama_gguf_to_hf $model.gguf_narrow $model.hf "${heads[@]/#/--set=}"
done
for model in '32 32 llama_2_7b' '32 8 llama_3_8b'; do
    read -r q k name <<<"$model"
    heads=("num_attention_heads=$q" "num_key_value_heads=$k")
    plan llama_hf_to_gguf $name.hf $name.gguf "${heads[@]}"
    plan llama_gguf_to_hf $name.gguf_narrow $name.hf "${heads[@]}"
done

echo '--- BERT'
check bert_tf_to_hf bert.tf bert.hf
plan bert_tf_to_hf bert_base.tf bert_base.hf

echo '--- MaxText'
check maxtext_unscan maxtext.scanned maxtext.layers
check maxtext_scan maxtext.layers maxtext.scanned
plan maxtext_unscan maxtext_7b.scanned maxtext_7b.layers
plan maxtext_scan maxtext_7b.layers maxtext_7b.scanned
cat >blocks.json <<'END'
{"ckptdb": "names", "tree": {"params": {"params": {"decoder": {
    "layers": {"layers_0": {"mlp": {"wo": {"kernel": "float32[4,2,3]"}}}},
    "dense_layers": {"mlp": {"wo": {"kernel": "float32[4,2,3]"}}},
    "moe_layers": {"mlp": {"wo": {"kernel": "float32[4,2,3]"}}},
    "scanned_blocks": {"mlp": {"wo": {"kernel": "float32[4,2,3]"}}},
    "decoder_norm": {"scale": "float32[3]"}}}}}}
END
"$CKPTDB_BIN" import blocks.json 2>/dev/null
"$CKPTDB_BIN" map run maxtext_unscan blocks.json

echo '--- names that only some files have'
names() { # RULESET NAME...: the names that result
    local set=$1
    shift
    printf '"%s": {"dtype": "float32", "shape": [6, 4]},' "$@" |
        sed 's/^/{"ckptdb": "names", "tensors": {/; s/,$/}}/' >some.json
    "$CKPTDB_BIN" import some.json 2>/dev/null
    "$CKPTDB_BIN" --list "SELECT old_name, status, new_name, shape, error FROM conversion WHERE ruleset = '$set'
        AND checkpoint_id = (SELECT id FROM checkpoint WHERE path = '$PWD/some.json') ORDER BY ord"
}
names hf_t5_to_t5x encoder.embed_tokens.weight decoder.embed_tokens.weight encoder.block.0.layer.2.layer_norm.weight \
    decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight encoder.block.0.layer.0.SelfAttention.q.bias
"$CKPTDB_BIN" "UPDATE rule SET replacement = NULL WHERE ruleset = 'hf_t5_to_t5x' AND pattern = 'lm_head\.weight'"
names hf_t5_to_t5x lm_head.weight
names t5x_to_hf_t5 token_embedder/embedding target/encoder/token_embedder/embedding \
    flax_mutables/x state/step target/encoder/layers_0/mlp/wi_9/kernel target/encoder/layers_0/self_attention/out/kernel
names llama_hf_to_gguf model.layers.0.self_attn.rotary_emb.inv_freq model.layers.0.self_attn.q_norm.weight
names llama_gguf_to_hf rope_freqs.weight blk.3.ffn_down.7.weight blk.3.attn_q_norm.weight
names bert_tf_to_hf good_steps bert/pooler/dense/kernel/AdamWeightDecayOptimizer_1 cls/other/output_bias electra/x

echo '--- prefixes'
cat >prefixes.json <<'END'
{"ckptdb": "names", "tensors": {
    "module.a.weight": null, "_orig_mod.b": null, "module._orig_mod.c": null,
    "_orig_mod.module.d": null, "module.module.e": null, "model.diffusion_model.f.0": null,
    "module.model.diffusion_model._orig_mod.g": null, "layers.0._orig_mod._orig_mod.h": null,
    "_fsdp_wrapped_module.i._fsdp_wrapped_module._checkpoint_wrapped_module.j": null,
    "model.k": null, "first_stage_model.l": null, "submodule.m": null, "n.module.o": null,
    "module": null, "p._orig_mod": null, "modulex.q": null, "modules.0.r": null,
    "state_dict.module._orig_mod.s": null, "model_state_dict.t": null, "state_dict.model.diffusion_model.u": null,
    "optimizer.state_dict.v": null, "my_state_dict.w": null, "state_dict": null,
    "model.module.x": null, "model._orig_mod.module.y": null, "state_dict.model.module.z": null,
    "model._fsdp_wrapped_module.aa._orig_mod.ab": null, "module.model.module.ac": null, "state_dict.model.ad": null,
    "model.module": null, "model.model.module.ae": null, "ema_model.module.af": null}}
END
sed -i 's/: null/: {"dtype": "float32", "shape": [1]}/g' prefixes.json
"$CKPTDB_BIN" import prefixes.json 2>/dev/null
"$CKPTDB_BIN" --list "SELECT old_name, new_name FROM conversion WHERE ruleset = 'strip_prefixes'
    AND checkpoint_id = (SELECT id FROM checkpoint WHERE path LIKE '%/prefixes.json') ORDER BY ord"
