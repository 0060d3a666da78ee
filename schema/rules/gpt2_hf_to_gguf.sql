-- gpt2_hf_to_gguf.sql - GPT-2 of Hugging Face under the names of llama.cpp.
--
-- Its Conv1D modules keep their weights as (in, out), so they are transposed. Norms, biases and
-- positions become float32, as in llama.cpp's conversion. lm_head is tied: where a file has it
-- nevertheless, it is output.weight.
INSERT INTO ruleset(name, dialect, options) VALUES ('gpt2_hf_to_gguf', 'convert', '{
  "tables": {
    "norm": {"ln_1": "attn_norm", "ln_2": "ffn_norm"},
    "module": {"attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output",
               "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"}
  }
}');

INSERT INTO rule(ruleset, ord, pattern, replacement, compute, ops) VALUES
('gpt2_hf_to_gguf', 1, '(?:transformer\.)?wte\.weight', 'token_embd.weight', NULL, NULL),
('gpt2_hf_to_gguf', 2, '(?:transformer\.)?wpe\.weight', 'position_embd.weight', NULL,
 '[["cast", "float32"]]'),
('gpt2_hf_to_gguf', 3, 'lm_head\.weight', 'output.weight', NULL, NULL),
('gpt2_hf_to_gguf', 4, '(?:transformer\.)?ln_f\.(weight|bias)', 'output_norm.\1', NULL,
 '[["cast", "float32"]]'),
-- masks of the attention, which old files have
('gpt2_hf_to_gguf', 5, '(?:transformer\.)?h\.\d+\.attn\.(?:masked_)?bias', NULL, NULL, NULL),
('gpt2_hf_to_gguf', 6, '(?:transformer\.)?h\.(\d+)\.(ln_[12])\.(weight|bias)',
 'blk.\1.\g<norm>.\3',
 '[["norm", "table", "norm", "\\2"]]', '[["cast", "float32"]]'),
('gpt2_hf_to_gguf', 7, '(?:transformer\.)?h\.(\d+)\.((?:attn|mlp)\.c_\w+)\.weight',
 'blk.\1.\g<module>.weight',
 '[["module", "table", "module", "\\2"]]', '[["transpose"]]'),
('gpt2_hf_to_gguf', 8, '(?:transformer\.)?h\.(\d+)\.((?:attn|mlp)\.c_\w+)\.bias',
 'blk.\1.\g<module>.bias',
 '[["module", "table", "module", "\\2"]]', '[["cast", "float32"]]');
