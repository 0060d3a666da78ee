-- t5_gguf_to_hf.sql - T5, mT5, UMT5 and Flan-T5 of llama.cpp under the names of Hugging Face; the
-- inverse of t5_hf_to_gguf.
--
-- ffn_up is wi_1 in models that have gates (T5 1.1 and later), else wi. Without a config.json next to
-- the checkpoint nothing tells which:
--   --set is_gated_act=true
-- dtypes do not change: norms are float32, and quantised blocks stay as they are.
INSERT INTO ruleset(name, dialect, options) VALUES ('t5_gguf_to_hf', 'convert', '{
  "settings": {"is_gated_act": {"from": ["config.json:is_gated_act"]}},
  "tables": {
    "tower": {"enc": "encoder", "dec": "decoder"},
    "up": {"true": "wi_1", "false": "wi"},
    "attention": {"attn": "0.SelfAttention", "cross_attn": "1.EncDecAttention"},
    "ffn": {"enc": "1", "dec": "2"},
    "norm": {"enc.attn": "0", "enc.ffn": "1", "dec.attn": "0", "dec.cross_attn": "1",
             "dec.ffn": "2"}
  }
}');

INSERT INTO rule(ruleset, ord, pattern, replacement, compute, ops) VALUES
('t5_gguf_to_hf', 1, 'token_embd\.weight', 'shared.weight', NULL, NULL),
('t5_gguf_to_hf', 2, 'output\.weight', 'lm_head.weight', NULL, NULL),
('t5_gguf_to_hf', 3, '(enc|dec)\.output_norm\.weight', '\g<tower>.final_layer_norm.weight',
 '[["tower", "table", "tower", "\\1"]]', NULL),
('t5_gguf_to_hf', 4, '(enc|dec)\.blk\.(\d+)\.(\w+)_norm\.weight',
 '\g<tower>.block.\2.layer.\g<n>.layer_norm.weight',
 '[["tower", "table", "tower", "\\1"],
   ["n", "table", "norm", "\\1.\\3"]]', NULL),
('t5_gguf_to_hf', 5, '(enc|dec)\.blk\.(\d+)\.((?:cross_)?attn)_rel_b\.weight',
 '\g<tower>.block.\2.layer.\g<attention>.relative_attention_bias.weight',
 '[["tower", "table", "tower", "\\1"],
   ["attention", "table", "attention", "\\3"]]', NULL),
('t5_gguf_to_hf', 6, '(enc|dec)\.blk\.(\d+)\.((?:cross_)?attn)_([qkvo])\.weight',
 '\g<tower>.block.\2.layer.\g<attention>.\4.weight',
 '[["tower", "table", "tower", "\\1"],
   ["attention", "table", "attention", "\\3"]]', NULL),
('t5_gguf_to_hf', 7, '(enc|dec)\.blk\.(\d+)\.ffn_gate\.weight',
 '\g<tower>.block.\2.layer.\g<n>.DenseReluDense.wi_0.weight',
 '[["tower", "table", "tower", "\\1"],
   ["n", "table", "ffn", "\\1"]]', NULL),
('t5_gguf_to_hf', 8, '(enc|dec)\.blk\.(\d+)\.ffn_down\.weight',
 '\g<tower>.block.\2.layer.\g<n>.DenseReluDense.wo.weight',
 '[["tower", "table", "tower", "\\1"],
   ["n", "table", "ffn", "\\1"]]', NULL),
('t5_gguf_to_hf', 9, '(enc|dec)\.blk\.(\d+)\.ffn_up\.weight',
 '\g<tower>.block.\2.layer.\g<n>.DenseReluDense.\g<wi>.weight',
 '[["tower", "table", "tower", "\\1"],
   ["n", "table", "ffn", "\\1"],
   ["gated", "setting", "is_gated_act"],
   ["wi", "table", "up", "\\g<gated>"]]', NULL);
