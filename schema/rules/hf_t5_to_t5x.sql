-- hf_t5_to_t5x.sql - Hugging Face's T5, mT5 and UMT5 as T5X's unscanned models; the inverse of
-- t5x_to_hf_t5.
--
-- Kernels have joined heads, (embed, heads * kv), as in T5X's minimal models. Two settings do not
-- follow from the names; they are taken from config.json next to the checkpoint:
--   model_type            umt5 has a bias in each layer, others have one in block 0 for all
--   tie_word_embeddings   true: lm_head only repeats shared.weight, and is dropped
INSERT INTO ruleset(name, dialect, options) VALUES ('hf_t5_to_t5x', 'convert', '{
  "settings": {
    "model_type": {"from": ["config.json:model_type"], "else": "t5"},
    "tie_word_embeddings": {"from": ["config.json:tie_word_embeddings"], "else": "false"}
  },
  "tables": {
    "repeats": {"true": "yes", "false": ""},
    "layered_relpos": {"umt5": "yes"},
    "shared_relpos": {"0": "relpos_bias"},
    "attention": {
      "encoder.SelfAttention": "attention",
      "decoder.SelfAttention": "self_attention",
      "decoder.EncDecAttention": "encoder_decoder_attention"
    },
    "matrix": {"q": "query", "k": "key", "v": "value", "o": "out"},
    "norm": {
      "encoder.0": "pre_attention_layer_norm", "encoder.1": "pre_mlp_layer_norm",
      "decoder.0": "pre_self_attention_layer_norm",
      "decoder.1": "pre_cross_attention_layer_norm", "decoder.2": "pre_mlp_layer_norm"
    }
  }
}');

INSERT INTO rule(ruleset, ord, pattern, replacement, compute, ops) VALUES
('hf_t5_to_t5x', 1, 'shared\.weight', 'target/token_embedder/embedding', NULL, NULL),
('hf_t5_to_t5x', 2, '(?:encoder|decoder)\.embed_tokens\.weight', NULL, NULL, NULL),
('hf_t5_to_t5x', 3, 'lm_head\.weight',
 'target/decoder/logits_dense/kernel',
 '[["tied", "setting", "tie_word_embeddings"],
   ["repeats", "table", "repeats", "\\g<tied>"],
   ["dropped", "drop", "\\g<repeats>"]]', '[["transpose"]]'),
('hf_t5_to_t5x', 4, '(encoder|decoder)\.final_layer_norm\.weight',
 'target/\1/\1_norm/scale', NULL, NULL),

-- Old files also have a bias for the attention to the encoder, which no model uses.
('hf_t5_to_t5x', 5, 'decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight',
 NULL, NULL, NULL),
('hf_t5_to_t5x', 6,
 '(encoder|decoder)\.block\.(\d+)\.layer\.0\.SelfAttention\.relative_attention_bias\.weight',
 'target/\1/\g<relpos>/rel_embedding',
 '[["model", "setting", "model_type"],
   ["layered", "table", "layered_relpos", "\\g<model>", ""],
   ["block", "if", "\\g<layered>", "0", "\\2"],
   ["known", "table", "shared_relpos", "\\g<block>", ""],
   ["ask", "if", "\\g<known>", "0", "block \\2 has a bias, as in UMT5 alone; --set model_type=umt5 says that it is one"],
   ["shared", "table", "shared_relpos", "\\g<ask>"],
   ["relpos", "if", "\\g<layered>", "layers_\\2/relpos_bias", "\\g<shared>"]]',
 '[["transpose"]]'),

('hf_t5_to_t5x', 7, '(encoder|decoder)\.block\.(\d+)\.layer\.\d\.(\w+Attention)\.([qkvo])\.weight',
 'target/\1/layers_\2/\g<attention>/\g<matrix>/kernel',
 '[["attention", "table", "attention", "\\1.\\3"],
   ["matrix", "table", "matrix", "\\4"]]', '[["transpose"]]'),
('hf_t5_to_t5x', 8,
 '(encoder|decoder)\.block\.(\d+)\.layer\.\d\.DenseReluDense\.(wi|wi_0|wi_1|wo)\.weight',
 'target/\1/layers_\2/mlp/\3/kernel', NULL, '[["transpose"]]'),
('hf_t5_to_t5x', 9, '(encoder|decoder)\.block\.(\d+)\.layer\.(\d)\.layer_norm\.weight',
 'target/\1/layers_\2/\g<norm>/scale',
 '[["norm", "table", "norm", "\\1.\\3"]]', NULL);
