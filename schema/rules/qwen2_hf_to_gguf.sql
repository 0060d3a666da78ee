-- qwen2_hf_to_gguf.sql - Qwen2, Qwen2.5 and Qwen3 of Hugging Face under the names of llama.cpp, which
-- pairs the elements of a head for rotary embeddings as Hugging Face does: no row moves.
--
-- Norms and biases become float32, as in llama.cpp's conversion. If lm_head is tied, there is no
-- output.weight. Mixtures of experts are not for this set.
INSERT INTO ruleset(name, dialect, options) VALUES ('qwen2_hf_to_gguf', 'convert', '{
  "tables": {
    "outer": {"model.embed_tokens": "token_embd", "lm_head": "output"},
    "norm": {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
             "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm"},
    "module": {
      "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
      "self_attn.o_proj": "attn_output",
      "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"
    }
  }
}');

INSERT INTO rule(ruleset, ord, pattern, replacement, compute, ops) VALUES
('qwen2_hf_to_gguf', 1, '(model\.embed_tokens|lm_head)\.weight', '\g<name>.weight',
 '[["name", "table", "outer", "\\1"]]', NULL),
('qwen2_hf_to_gguf', 2, 'model\.norm\.weight', 'output_norm.weight', NULL, '[["cast", "float32"]]'),
('qwen2_hf_to_gguf', 3, 'model\.layers\.(\d+)\.(\w+_layernorm|self_attn\.[qk]_norm)\.weight',
 'blk.\1.\g<norm>.weight',
 '[["norm", "table", "norm", "\\2"]]', '[["cast", "float32"]]'),
('qwen2_hf_to_gguf', 4, 'model\.layers\.\d+\.self_attn\.rotary_emb\.inv_freq', NULL, NULL, NULL),
('qwen2_hf_to_gguf', 5, 'model\.layers\.(\d+)\.((?:self_attn|mlp)\.\w+_proj)\.weight',
 'blk.\1.\g<module>.weight',
 '[["module", "table", "module", "\\2"]]', NULL),
('qwen2_hf_to_gguf', 6, 'model\.layers\.(\d+)\.((?:self_attn|mlp)\.\w+_proj)\.bias',
 'blk.\1.\g<module>.bias',
 '[["module", "table", "module", "\\2"]]', '[["cast", "float32"]]');
