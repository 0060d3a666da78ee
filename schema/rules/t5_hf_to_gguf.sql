-- t5_hf_to_gguf.sql - T5, mT5, UMT5 and Flan-T5 of Hugging Face under the names of llama.cpp.
--
-- Norms become float32, as in llama.cpp's conversion. The copies of shared.weight that some files
-- have are dropped.
INSERT INTO ruleset(name, dialect, options) VALUES ('t5_hf_to_gguf', 'convert', '{
  "tables": {
    "tower": {"encoder": "enc", "decoder": "dec"},
    "attention": {"SelfAttention": "attn", "EncDecAttention": "cross_attn"},
    "matrix": {"wi": "up", "wi_0": "gate", "wi_1": "up", "wo": "down"},
    "norm": {"encoder.0": "attn_norm", "encoder.1": "ffn_norm",
             "decoder.0": "attn_norm", "decoder.1": "cross_attn_norm", "decoder.2": "ffn_norm"}
  }
}');

INSERT INTO rule(ruleset, ord, pattern, replacement, compute, ops) VALUES
('t5_hf_to_gguf', 1, 'shared\.weight', 'token_embd.weight', NULL, NULL),
('t5_hf_to_gguf', 2, '(?:encoder|decoder)\.embed_tokens\.weight', NULL, NULL, NULL),
('t5_hf_to_gguf', 3, 'lm_head\.weight', 'output.weight', NULL, NULL),
('t5_hf_to_gguf', 4, '(encoder|decoder)\.final_layer_norm\.weight',
 '\g<tower>.output_norm.weight',
 '[["tower", "table", "tower", "\\1"]]', '[["cast", "float32"]]'),
('t5_hf_to_gguf', 5,
 '(encoder|decoder)\.block\.(\d+)\.layer\.\d\.(\w+Attention)\.relative_attention_bias\.weight',
 '\g<tower>.blk.\2.\g<attention>_rel_b.weight',
 '[["tower", "table", "tower", "\\1"],
   ["attention", "table", "attention", "\\3"]]', NULL),
('t5_hf_to_gguf', 6,
 '(encoder|decoder)\.block\.(\d+)\.layer\.\d\.(\w+Attention)\.([qkvo])\.weight',
 '\g<tower>.blk.\2.\g<attention>_\4.weight',
 '[["tower", "table", "tower", "\\1"],
   ["attention", "table", "attention", "\\3"]]', NULL),
('t5_hf_to_gguf', 7,
 '(encoder|decoder)\.block\.(\d+)\.layer\.\d\.DenseReluDense\.(w\w+)\.weight',
 '\g<tower>.blk.\2.ffn_\g<matrix>.weight',
 '[["tower", "table", "tower", "\\1"],
   ["matrix", "table", "matrix", "\\3"]]', NULL),
('t5_hf_to_gguf', 8, '(encoder|decoder)\.block\.(\d+)\.layer\.(\d)\.layer_norm\.weight',
 '\g<tower>.blk.\2.\g<norm>.weight',
 '[["tower", "table", "tower", "\\1"],
   ["norm", "table", "norm", "\\1.\\3"]]', '[["cast", "float32"]]');
