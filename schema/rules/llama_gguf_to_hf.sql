-- llama_gguf_to_hf.sql - Llama, Mistral and Mixtral of llama.cpp under the names of Hugging Face;
-- the inverse of llama_hf_to_gguf.
--
-- The numbers of heads are taken from a GGUF file's metadata (llama.attention.head_count and
-- head_count_kv). If the checkpoint has neither that nor a config.json next to it, give them:
--   --set num_attention_heads=32 --set num_key_value_heads=8
-- dtypes do not change (norms are float32), except that quantised attn_q, attn_k and experts, whose
-- rows are reordered, become float32.
INSERT INTO ruleset(name, dialect, options) VALUES ('llama_gguf_to_hf', 'convert', '{
  "settings": {
    "num_attention_heads": {"number": true,
      "from": ["config.json:num_attention_heads", "llama.attention.head_count"]},
    "num_key_value_heads": {"number": true, "like": "num_attention_heads",
      "from": ["config.json:num_key_value_heads", "llama.attention.head_count_kv"]},
    "hidden_size": {"number": true, "else": "",
      "from": ["config.json:hidden_size", "llama.embedding_length"]},
    "head_dim": {"number": true, "ratio": ["hidden_size", "num_attention_heads"], "else": "-1",
      "from": ["config.json:head_dim", "llama.attention.key_length"]}
  },
  "tables": {
    "heads": {"q": "num_attention_heads", "k": "num_key_value_heads"},
    "outer": {"token_embd": "model.embed_tokens", "output_norm": "model.norm",
              "output": "lm_head"},
    "module": {
      "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
      "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
      "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
      "ffn_gate_inp": "block_sparse_moe.gate"
    },
    "expert": {"gate": "w1", "down": "w2", "up": "w3"}
  }
}');

INSERT INTO rule(ruleset, ord, pattern, replacement, compute, ops) VALUES
('llama_gguf_to_hf', 1, '(token_embd|output_norm|output)\.weight', '\g<name>.weight',
 '[["name", "table", "outer", "\\1"]]', NULL),
('llama_gguf_to_hf', 2, 'rope_freqs\.weight', NULL, NULL, NULL),

('llama_gguf_to_hf', 3, 'blk\.(\d+)\.attn_([qk])\.weight',
 'model.layers.\1.self_attn.\2_proj.weight',
 '[["key", "table", "heads", "\\2"],
   ["heads", "setting", "\\g<key>"],
   ["size", "setting", "head_dim"]]',
 '[["transpose"], ["reshape", [0, "\\g<heads>", "\\g<size>"]], ["reshape", [0, 0, -1, 2]], ["transpose", 2, 3], ["flatten", 1, 3], ["transpose"]]'),
('llama_gguf_to_hf', 4, 'blk\.(\d+)\.attn_([qk])\.bias',
 'model.layers.\1.self_attn.\2_proj.bias',
 '[["key", "table", "heads", "\\2"],
   ["heads", "setting", "\\g<key>"],
   ["size", "setting", "head_dim"]]',
 '[["reshape", ["\\g<heads>", "\\g<size>"]], ["reshape", [0, -1, 2]], ["transpose", 1, 2], ["flatten", 0, 2]]'),

('llama_gguf_to_hf', 5, 'blk\.(\d+)\.ffn_(gate|up|down)_exps\.weight',
 'model.layers.\1.block_sparse_moe.experts.\g<n>.\g<expert>.weight',
 '[["n", "part"],
   ["expert", "table", "expert", "\\2"]]', '[["unstack", 0]]'),
-- Old files have a tensor for each expert.
('llama_gguf_to_hf', 6, 'blk\.(\d+)\.ffn_(gate|up|down)\.(\d+)\.weight',
 'model.layers.\1.block_sparse_moe.experts.\3.\g<expert>.weight',
 '[["expert", "table", "expert", "\\2"]]', NULL),
('llama_gguf_to_hf', 7, 'blk\.(\d+)\.(\w+)\.(weight|bias)',
 'model.layers.\1.\g<module>.\3',
 '[["module", "table", "module", "\\2"]]', NULL);
