-- llama_hf_to_gguf.sql - Llama, Mistral and Mixtral of Hugging Face under the names of llama.cpp.
-- Mixtral's experts may be a tensor each, as they are published, or stacked (mixtral_stack).
--
-- Rotary embeddings pair each element of the first half of a head with one of the second half in
-- Hugging Face's models, and neighbours in llama.cpp's. So the rows of q_proj and k_proj are
-- reordered within each head, from (heads, 2, d/2) to (heads, d/2, 2). The numbers of heads are
-- taken from a config.json next to the checkpoint; without one, give them:
--   --set num_attention_heads=32 --set num_key_value_heads=8
-- Norms, biases and routers become float32, as in llama.cpp's conversion. rope_freqs, which that
-- computes for Llama 3.1 and later, the export to GGUF adds. If lm_head is tied, there is no output.weight.
INSERT INTO ruleset(name, dialect, options) VALUES ('llama_hf_to_gguf', 'convert', '{
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
    "outer": {"model.embed_tokens": "token_embd", "lm_head": "output"},
    "module": {
      "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
      "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"
    },
    "norm": {"input": "attn_norm", "post_attention": "ffn_norm"},
    "expert": {"w1": "ffn_gate_exps", "w2": "ffn_down_exps", "w3": "ffn_up_exps"}
  }
}');

INSERT INTO rule(ruleset, ord, pattern, replacement, compute, ops) VALUES
('llama_hf_to_gguf', 1, '(model\.embed_tokens|lm_head)\.weight', '\g<name>.weight',
 '[["name", "table", "outer", "\\1"]]', NULL),
('llama_hf_to_gguf', 2, 'model\.norm\.weight', 'output_norm.weight', NULL, '[["cast", "float32"]]'),
('llama_hf_to_gguf', 3, 'model\.layers\.(\d+)\.(input|post_attention)_layernorm\.weight',
 'blk.\1.\g<norm>.weight',
 '[["norm", "table", "norm", "\\2"]]', '[["cast", "float32"]]'),
('llama_hf_to_gguf', 4, 'model\.layers\.\d+\.self_attn\.rotary_emb\.inv_freq', NULL, NULL, NULL),

-- Weights are transposed first, so that their rows are the last axis, whose size can be given as
-- -1.
('llama_hf_to_gguf', 5, 'model\.layers\.(\d+)\.self_attn\.([qk])_proj\.weight',
 'blk.\1.attn_\2.weight',
 '[["key", "table", "heads", "\\2"],
   ["heads", "setting", "\\g<key>"],
   ["size", "setting", "head_dim"]]',
 '[["transpose"], ["reshape", [0, "\\g<heads>", "\\g<size>"]], ["reshape", [0, 0, 2, -1]], ["transpose", 2, 3], ["flatten", 1, 3], ["transpose"]]'),
('llama_hf_to_gguf', 6, 'model\.layers\.(\d+)\.self_attn\.([qk])_proj\.bias',
 'blk.\1.attn_\2.bias',
 '[["key", "table", "heads", "\\2"],
   ["heads", "setting", "\\g<key>"],
   ["size", "setting", "head_dim"]]',
 '[["reshape", ["\\g<heads>", "\\g<size>"]], ["reshape", [0, 2, -1]], ["transpose", 1, 2], ["flatten", 0, 2], ["cast", "float32"]]'),

('llama_hf_to_gguf', 7, 'model\.layers\.(\d+)\.(self_attn\.[vo]_proj|mlp\.\w+_proj)\.weight',
 'blk.\1.\g<module>.weight',
 '[["module", "table", "module", "\\2"]]', NULL),
('llama_hf_to_gguf', 8, 'model\.layers\.(\d+)\.(self_attn\.[vo]_proj|mlp\.\w+_proj)\.bias',
 'blk.\1.\g<module>.bias',
 '[["module", "table", "module", "\\2"]]', '[["cast", "float32"]]'),

('llama_hf_to_gguf', 9, 'model\.layers\.(\d+)\.(?:block_sparse_moe|mlp)\.gate\.weight',
 'blk.\1.ffn_gate_inp.weight', NULL, '[["cast", "float32"]]'),
('llama_hf_to_gguf', 10, 'model\.layers\.(\d+)\.block_sparse_moe\.experts\.(\d+)\.(w[123])\.weight',
 'blk.\1.\g<expert>.weight',
 '[["expert", "table", "expert", "\\3"]]', '[["stack", 0, "\\2"]]'),
-- experts as one tensor: (experts, 2 * inner, hidden), with the gate first
('llama_hf_to_gguf', 11, 'model\.layers\.(\d+)\.mlp\.experts\.gate_up_proj',
 'blk.\1.ffn_\g<half>_exps.weight',
 '[["half", "part"]]', '[["split", 1, 2, ["gate", "up"]]]'),
('llama_hf_to_gguf', 12, 'model\.layers\.(\d+)\.mlp\.experts\.down_proj',
 'blk.\1.ffn_down_exps.weight', NULL, NULL);
