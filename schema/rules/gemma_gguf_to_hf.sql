-- gemma_gguf_to_hf.sql - Gemma, Gemma 2 and Gemma 3 (text) of llama.cpp under the names of Hugging
-- Face; the inverse of gemma_hf_to_gguf.
--
-- 1 is taken from the norms, which are float32. They are what they were before it was added if they
-- were bfloat16 and not as small as 2^-16; of float32 the last bits are lost. Which model it is
-- tells a GGUF file's metadata (general.architecture). If the checkpoint has neither that nor a
-- config.json next to it:
--   --set model_type=gemma2
INSERT INTO ruleset(name, dialect, options) VALUES ('gemma_gguf_to_hf', 'convert', '{
  "settings": {"model_type": {"from": ["config.json:model_type", "general.architecture"]}},
  "tables": {
    "ffn_norm": {"gemma": "post_attention_layernorm", "gemma2": "pre_feedforward_layernorm",
                 "gemma3": "pre_feedforward_layernorm",
                 "gemma3_text": "pre_feedforward_layernorm"},
    "norm": {"attn": "input_layernorm", "post_attention": "post_attention_layernorm",
             "post_ffw": "post_feedforward_layernorm",
             "attn_q": "self_attn.q_norm", "attn_k": "self_attn.k_norm"},
    "module": {
      "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
      "attn_output": "self_attn.o_proj",
      "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"
    }
  }
}');

INSERT INTO rule(ruleset, ord, pattern, replacement, compute, ops) VALUES
('gemma_gguf_to_hf', 1, 'token_embd\.weight', 'model.embed_tokens.weight', NULL, NULL),
('gemma_gguf_to_hf', 2, 'rope_freqs\.weight', NULL, NULL, NULL),
('gemma_gguf_to_hf', 3, 'output_norm\.weight', 'model.norm.weight', NULL,
 '[["add", -1], ["cast", "float32"]]'),
('gemma_gguf_to_hf', 4, 'blk\.(\d+)\.ffn_norm\.weight', 'model.layers.\1.\g<norm>.weight',
 '[["model", "setting", "model_type"],
   ["norm", "table", "ffn_norm", "\\g<model>"]]', '[["add", -1], ["cast", "float32"]]'),
('gemma_gguf_to_hf', 5, 'blk\.(\d+)\.(\w+)_norm\.weight', 'model.layers.\1.\g<norm>.weight',
 '[["norm", "table", "norm", "\\2"]]', '[["add", -1], ["cast", "float32"]]'),
('gemma_gguf_to_hf', 6, 'blk\.(\d+)\.(\w+)\.weight', 'model.layers.\1.\g<module>.weight',
 '[["module", "table", "module", "\\2"]]', NULL);
