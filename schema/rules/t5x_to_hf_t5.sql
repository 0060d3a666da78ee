-- t5x_to_hf_t5.sql - the parameters of T5X's T5, mT5 and UMT5 as Hugging Face names them.
--
-- PyTorch's Linear is (out, in), so kernels are transposed. If T5X has the heads as a separate
-- axis, (embed, heads, kv), or (heads, kv, embed) for `out`, they are joined first. Scanned
-- layers, which are axis 1, become one tensor each; the module that holds them is called `layers`
-- in T5X's own models, and like its stack (`encoder/encoder`) in Flaxformer's. shared.weight
-- represents all embeddings that are tied to it, including lm_head of T5 1.0.
INSERT INTO ruleset(name, dialect, options) VALUES ('t5x_to_hf_t5', 'convert', '{
  "tables": {
    "module": {
      "encoder/attention": "layer.0.SelfAttention",
      "encoder/mlp": "layer.1.DenseReluDense",
      "decoder/self_attention": "layer.0.SelfAttention",
      "decoder/encoder_decoder_attention": "layer.1.EncDecAttention",
      "decoder/mlp": "layer.2.DenseReluDense"
    },
    "matrix": {"query": "q", "key": "k", "value": "v",
               "wi": "wi", "wi_0": "wi_0", "wi_1": "wi_1", "wo": "wo"},
    "norm": {
      "encoder/attention": "layer.0", "encoder/mlp": "layer.1",
      "decoder/self_attention": "layer.0", "decoder/cross_attention": "layer.1",
      "decoder/mlp": "layer.2"
    }
  }
}');

INSERT INTO rule(ruleset, ord, pattern, replacement, compute, ops) VALUES
('t5x_to_hf_t5', 1, '(?:state|flax_mutables)/.*', NULL, NULL, NULL),
('t5x_to_hf_t5', 2, '(?:target/)?token_embedder/embedding', 'shared.weight', NULL, NULL),
('t5x_to_hf_t5', 3, '(?:target/)?(encoder|decoder)/token_embedder/embedding',
 '\1.embed_tokens.weight', NULL, NULL),
('t5x_to_hf_t5', 4, '(?:target/)?decoder/logits_dense/kernel',
 'lm_head.weight', NULL, '[["transpose"]]'),
('t5x_to_hf_t5', 5, '(?:target/)?(encoder|decoder)/\1_norm/scale',
 '\1.final_layer_norm.weight', NULL, NULL),

-- One bias for all layers, or one each (`relative_posemb` in T5X's scalable models).
('t5x_to_hf_t5', 6, '(?:target/)?(encoder|decoder)/relpos_bias/rel_embedding',
 '\1.block.0.layer.0.SelfAttention.relative_attention_bias.weight', NULL, '[["transpose"]]'),
('t5x_to_hf_t5', 7,
 '(?:target/)?(encoder|decoder)/layers_(\d+)/(?:relpos_bias|relative_posemb)/rel_embedding',
 '\1.block.\2.layer.0.SelfAttention.relative_attention_bias.weight', NULL, '[["transpose"]]'),
('t5x_to_hf_t5', 8,
 '(?:target/)?(encoder|decoder)/(?:layers|\1)/(?:relpos_bias|relative_posemb)/rel_embedding',
 '\1.block.\g<n>.layer.0.SelfAttention.relative_attention_bias.weight',
 '[["n", "part"]]', '[["unstack", 1], ["transpose"]]'),

('t5x_to_hf_t5', 9,
 '(?:target/)?(encoder|decoder)/layers_(\d+)/(\w+)/(query|key|value|w[io]\w*)/kernel',
 '\1.block.\2.\g<module>.\g<matrix>.weight',
 '[["module", "table", "module", "\\1/\\3"],
   ["matrix", "table", "matrix", "\\4"]]',
 '[["flatten", 1, -1], ["transpose"]]'),
('t5x_to_hf_t5', 10,
 '(?:target/)?(encoder|decoder)/(?:layers|\1)/(\w+)/(query|key|value|w[io]\w*)/kernel',
 '\1.block.\g<n>.\g<module>.\g<matrix>.weight',
 '[["n", "part"],
   ["module", "table", "module", "\\1/\\2"],
   ["matrix", "table", "matrix", "\\3"]]',
 '[["unstack", 1], ["flatten", 1, -1], ["transpose"]]'),

('t5x_to_hf_t5', 11, '(?:target/)?(encoder|decoder)/layers_(\d+)/(\w+)/out/kernel',
 '\1.block.\2.\g<module>.o.weight',
 '[["module", "table", "module", "\\1/\\3"]]',
 '[["flatten", 0, -2], ["transpose"]]'),
('t5x_to_hf_t5', 12, '(?:target/)?(encoder|decoder)/(?:layers|\1)/(\w+)/out/kernel',
 '\1.block.\g<n>.\g<module>.o.weight',
 '[["n", "part"],
   ["module", "table", "module", "\\1/\\2"]]',
 '[["unstack", 1], ["flatten", 0, -2], ["transpose"]]'),

('t5x_to_hf_t5', 13, '(?:target/)?(encoder|decoder)/layers_(\d+)/pre_(\w+)_layer_norm/scale',
 '\1.block.\2.\g<layer>.layer_norm.weight',
 '[["layer", "table", "norm", "\\1/\\3"]]', NULL),
('t5x_to_hf_t5', 14, '(?:target/)?(encoder|decoder)/(?:layers|\1)/pre_(\w+)_layer_norm/scale',
 '\1.block.\g<n>.\g<layer>.layer_norm.weight',
 '[["n", "part"],
   ["layer", "table", "norm", "\\1/\\2"]]', '[["unstack", 1]]');
