-- gpt2_gguf_to_hf.sql - GPT-2 of llama.cpp under the names of Hugging Face; the inverse of
-- gpt2_hf_to_gguf.
--
-- Names begin with transformer, as in a saved GPT2LMHeadModel; in the published gpt2 they do not:
--   --set prefix=
-- dtypes do not change, except that quantised weights of Conv1D, which are transposed, become
-- float32.
INSERT INTO ruleset(name, dialect, options) VALUES ('gpt2_gguf_to_hf', 'convert', '{
  "settings": {"prefix": {"else": "transformer."}},
  "tables": {
    "outer": {"token_embd": "wte", "position_embd": "wpe", "output_norm": "ln_f"},
    "module": {"attn_norm": "ln_1", "ffn_norm": "ln_2",
               "attn_qkv": "attn.c_attn", "attn_output": "attn.c_proj",
               "ffn_up": "mlp.c_fc", "ffn_down": "mlp.c_proj"}
  }
}');

INSERT INTO rule(ruleset, ord, pattern, replacement, compute, ops) VALUES
('gpt2_gguf_to_hf', 1, 'output\.weight', 'lm_head.weight', NULL, NULL),
('gpt2_gguf_to_hf', 2, '(token_embd|position_embd|output_norm)\.(weight|bias)',
 '\g<prefix>\g<name>.\2',
 '[["prefix", "setting", "prefix"],
   ["name", "table", "outer", "\\1"]]', NULL),
('gpt2_gguf_to_hf', 3, 'blk\.(\d+)\.(attn_qkv|attn_output|ffn_up|ffn_down)\.weight',
 '\g<prefix>h.\1.\g<module>.weight',
 '[["prefix", "setting", "prefix"],
   ["module", "table", "module", "\\2"]]', '[["transpose"]]'),
('gpt2_gguf_to_hf', 4, 'blk\.(\d+)\.(\w+)\.(weight|bias)', '\g<prefix>h.\1.\g<module>.\3',
 '[["prefix", "setting", "prefix"],
   ["module", "table", "module", "\\2"]]', NULL);
