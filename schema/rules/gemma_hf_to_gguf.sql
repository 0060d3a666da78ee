-- gemma_hf_to_gguf.sql - Gemma, Gemma 2 and Gemma 3 (text) of Hugging Face under the names of
-- llama.cpp.
--
-- Hugging Face's norms multiply by 1 + weight, llama.cpp's by their weight: 1 is added, in float32.
-- lm_head is tied, and is dropped. What post_attention_layernorm is called depends on the model;
-- it is told by a config.json next to the checkpoint. Without one:
--   --set model_type=gemma2
INSERT INTO ruleset(name, dialect, options) VALUES ('gemma_hf_to_gguf', 'convert', '{
  "settings": {"model_type": {"from": ["config.json:model_type", "general.architecture"]}},
  "tables": {
    "post_attention": {"gemma": "ffn_norm", "gemma2": "post_attention_norm",
                       "gemma3": "post_attention_norm", "gemma3_text": "post_attention_norm"},
    "norm": {"input_layernorm": "attn_norm", "pre_feedforward_layernorm": "ffn_norm",
             "post_feedforward_layernorm": "post_ffw_norm",
             "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm"},
    "module": {
      "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
      "self_attn.o_proj": "attn_output",
      "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"
    }
  }
}');

INSERT INTO rule(ruleset, ord, pattern, replacement, compute, ops) VALUES
('gemma_hf_to_gguf', 1, 'model\.embed_tokens\.weight', 'token_embd.weight', NULL, NULL),
('gemma_hf_to_gguf', 2, 'lm_head\.weight', NULL, NULL, NULL),
('gemma_hf_to_gguf', 3, 'model\.norm\.weight', 'output_norm.weight', NULL,
 '[["add", 1], ["cast", "float32"]]'),
('gemma_hf_to_gguf', 4, 'model\.layers\.(\d+)\.post_attention_layernorm\.weight',
 'blk.\1.\g<norm>.weight',
 '[["model", "setting", "model_type"],
   ["norm", "table", "post_attention", "\\g<model>"]]', '[["add", 1], ["cast", "float32"]]'),
('gemma_hf_to_gguf', 5, 'model\.layers\.(\d+)\.(\w+_layernorm|self_attn\.[qk]_norm)\.weight',
 'blk.\1.\g<norm>.weight',
 '[["norm", "table", "norm", "\\2"]]', '[["add", 1], ["cast", "float32"]]'),
('gemma_hf_to_gguf', 6, 'model\.layers\.\d+\.self_attn\.rotary_emb\.inv_freq', NULL, NULL, NULL),
('gemma_hf_to_gguf', 7, 'model\.layers\.(\d+)\.((?:self_attn|mlp)\.\w+_proj)\.weight',
 'blk.\1.\g<module>.weight',
 '[["module", "table", "module", "\\2"]]', NULL);
