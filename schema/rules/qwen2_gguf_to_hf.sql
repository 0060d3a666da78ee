-- qwen2_gguf_to_hf.sql - Qwen2, Qwen2.5 and Qwen3 of llama.cpp under the names of Hugging Face; the
-- inverse of qwen2_hf_to_gguf.
--
-- dtypes do not change: norms and biases are float32, and quantised blocks stay as they are.
INSERT INTO ruleset(name, dialect, options) VALUES ('qwen2_gguf_to_hf', 'convert', '{
  "tables": {
    "outer": {"token_embd": "model.embed_tokens", "output_norm": "model.norm",
              "output": "lm_head"},
    "module": {
      "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
      "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm",
      "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
      "attn_output": "self_attn.o_proj",
      "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"
    }
  }
}');

INSERT INTO rule(ruleset, ord, pattern, replacement, compute, ops) VALUES
('qwen2_gguf_to_hf', 1, '(token_embd|output_norm|output)\.weight', '\g<name>.weight',
 '[["name", "table", "outer", "\\1"]]', NULL),
('qwen2_gguf_to_hf', 2, 'rope_freqs\.weight', NULL, NULL, NULL),
('qwen2_gguf_to_hf', 3, 'blk\.(\d+)\.(\w+)\.(weight|bias)', 'model.layers.\1.\g<module>.\3',
 '[["module", "table", "module", "\\2"]]', NULL);
