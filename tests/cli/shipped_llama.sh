# The maps between Hugging Face and llama.cpp on files as PyTorch and llama.cpp have them: heads come
# from what lies beside them or in them, and quantised weights become numbers where rows move.
python3 "$TESTS/fixtures/make_llama.py"
"$CKPTDB_BIN" import .
list() { # CHECKPOINT: its tensors as float32
    "$CKPTDB_BIN" --list "SELECT name, shape, tensor_sha256(id, 'float32') FROM tensor
        WHERE path = '$PWD/$1' ORDER BY name"
}
same() { # FROM RULESET WANT: what the map makes is what the other file holds
    "$CKPTDB_BIN" export "$PWD/$1" got.safetensors --map "$2" --dtype float32 --force --no-sync
    "$CKPTDB_BIN" import got.safetensors >/dev/null 2>&1
    list got.safetensors | diff <(list "$3") - | head -n 10
    echo "$1 by $2: $(list got.safetensors | wc -l) tensors"
}
same hf/pytorch_model.bin llama_hf_to_gguf cpp/m.gguf
same cpp/m.gguf llama_gguf_to_hf hf/pytorch_model.bin
same q8/m.gguf llama_gguf_to_hf hf/pytorch_model.bin
same mixtral_q8/m.gguf llama_gguf_to_hf mixtral/pytorch_model.bin
same mixtral/pytorch_model.bin llama_hf_to_gguf mixtral_q8/m.gguf
echo '-- what has no operations keeps its blocks'
"$CKPTDB_BIN" "SELECT old_name, new_name, dtype, shape FROM conversion WHERE ruleset = 'llama_gguf_to_hf' AND checkpoint_id =
    (SELECT id FROM checkpoint WHERE path = '$PWD/mixtral_q8/m.gguf') AND old_name LIKE 'blk.0.%' AND part < 2"
echo '-- a slice that is in the middle of blocks'
"$CKPTDB_BIN" get hf/pytorch_model.bin model.layers.1.self_attn.q_proj.weight --slice '3:30:9, 5:31:5'
"$CKPTDB_BIN" get q8/m.gguf model.layers.1.self_attn.q_proj.weight --map llama_gguf_to_hf --slice '3:30:9, 5:31:5'
echo '-- and by diff'
"$CKPTDB_BIN" diff hf/pytorch_model.bin cpp/m.gguf --map llama_hf_to_gguf; echo "status $?"
"$CKPTDB_BIN" diff hf/pytorch_model.bin cpp/m.gguf --map llama_hf_to_gguf --bytes; echo "status $?"
"$CKPTDB_BIN" diff mixtral_q8/m.gguf mixtral/pytorch_model.bin --map llama_gguf_to_hf --values; echo "status $?"
echo '-- nothing is wrong with it: heads are put in another order, no matrix is turned'
"$CKPTDB_BIN" map check llama_hf_to_gguf hf/pytorch_model.bin | cut -f 1-4; echo "status ${PIPESTATUS[0]}"
echo '-- and no heads'
mv hf/config.json kept && "$CKPTDB_BIN" import hf
"$CKPTDB_BIN" map check llama_hf_to_gguf hf/pytorch_model.bin | head -n 1
"$CKPTDB_BIN" diff hf/pytorch_model.bin cpp/m.gguf --map llama_hf_to_gguf
"$CKPTDB_BIN" diff hf/pytorch_model.bin cpp/m.gguf --map llama_hf_to_gguf --set num_attention_heads=4 --set num_key_value_heads=2 --values
echo '-- which come later, also beside what is refused; and nothing new is nothing new'
mv kept hf/config.json && head -c 300 hf/pytorch_model.bin >hf/cut.pt
for _ in 1 2; do "$CKPTDB_BIN" import hf 2>&1 | sed "s|$PWD|WORK|"; done
"$CKPTDB_BIN" diff hf/pytorch_model.bin cpp/m.gguf --map llama_hf_to_gguf --bytes
echo '-- a config.json that is not what was indexed'
sed -i 's/: 4/: 8/' hf/config.json
"$CKPTDB_BIN" diff hf/pytorch_model.bin cpp/m.gguf --map llama_hf_to_gguf --bytes 2>&1 | sed "s|$PWD|WORK|"; echo "status ${PIPESTATUS[0]}"
