-- t5x_to_t5.sql - names of T5X as in T5 checkpoints (Mesh TensorFlow); the inverse of t5_to_t5x.
--
-- Two settings do not follow from T5X's names:
--   --set norm=rms_norm         the name of both norms in newer checkpoints (1.1, mT5)
--   --set decoder=transformer   the name of the decoder in a decoder-only model
-- T5 has no slot for momentum, so `m` is dropped. The zeros of shape (1,) that T5X keeps for
-- unused slots cannot be recognised by their names: exclude them with
--   export … --map t5x_to_t5 --where "NOT (name GLOB 'state/*' AND shape = '[1]')"
INSERT INTO ruleset(name, dialect, options) VALUES ('t5x_to_t5', 'convert', '{
  "settings": {"norm": {"else": ""}, "decoder": {"else": "decoder"}},
  "tables": {
    "tower":  {"": "shared", "encoder": "encoder"},
    "slot":   {"target": "", "state/param_states/v": "_slot_v",
               "state/param_states/v_row": "_slot_vr", "state/param_states/v_col": "_slot_vc"},
    "matrix": {"query": "q", "key": "k", "value": "v", "out": "o"},
    "attention": {
      "attention": "layer_000/SelfAttention",
      "self_attention": "layer_000/SelfAttention",
      "encoder_decoder_attention": "layer_001/EncDecAttention"
    },
    "layer": {
      "encoder/attention": "layer_000", "encoder/mlp": "layer_001",
      "decoder/self_attention": "layer_000", "decoder/cross_attention": "layer_001",
      "decoder/mlp": "layer_002",
      "transformer/self_attention": "layer_000", "transformer/mlp": "layer_001"
    }
  }
}');

-- A block number has at least three digits: prefix "00", then remove zeros while three digits are
-- left.
INSERT INTO rule(ruleset, ord, pattern, replacement, compute, ops) VALUES
('t5x_to_t5', 1, 'state/step', 'global_step', NULL, '[["cast", "int64"]]'),
('t5x_to_t5', 2, 'state/param_states/.*/m', NULL, NULL, NULL),

('t5x_to_t5', 3,
 '(target|state/param_states)/(?:(encoder|decoder)/)?token_embedder/embedding(/\w+)?',
 '\g<tower>/embedding\g<slot>',
 '[["slot", "table", "slot", "\\1\\3"],
   ["decoder", "setting", "decoder"],
   ["tower", "table", "tower", "\\2", "\\g<decoder>"]]', NULL),

('t5x_to_t5', 4,
 '(target|state/param_states)/(encoder|decoder)/(?:layers_(\d+)/)?relpos_bias/rel_embedding(/\w+)?',
 '\g<tower>/block_\g<n>/layer_000/SelfAttention/relative_attention_bias\g<slot>',
 '[["slot", "table", "slot", "\\1\\4"],
   ["decoder", "setting", "decoder"],
   ["tower", "table", "tower", "\\2", "\\g<decoder>"],
   ["n", "sub", "^0*(?=\\d{3})", "", "000\\3"]]', NULL),

('t5x_to_t5', 5,
 '(target|state/param_states)/(encoder|decoder)/layers_(\d+)/(attention|self_attention|encoder_decoder_attention)/(query|key|value|out)/kernel(/\w+)?',
 '\g<tower>/block_\g<n>/\g<attention>/\g<matrix>\g<slot>',
 '[["slot", "table", "slot", "\\1\\6"],
   ["decoder", "setting", "decoder"],
   ["tower", "table", "tower", "\\2", "\\g<decoder>"],
   ["attention", "table", "attention", "\\4"],
   ["matrix", "table", "matrix", "\\5"],
   ["n", "sub", "^0*(?=\\d{3})", "", "00\\3"]]', NULL),

('t5x_to_t5', 6,
 '(target|state/param_states)/(encoder|decoder)/layers_(\d+)/mlp/(w[io](?:_\d+)?)/kernel(/\w+)?',
 '\g<tower>/block_\g<n>/\g<layer>/DenseReluDense/\4/kernel\g<slot>',
 '[["slot", "table", "slot", "\\1\\5"],
   ["decoder", "setting", "decoder"],
   ["tower", "table", "tower", "\\2", "\\g<decoder>"],
   ["layer", "table", "layer", "\\g<tower>/mlp"],
   ["n", "sub", "^0*(?=\\d{3})", "", "00\\3"]]', NULL),

('t5x_to_t5', 7,
 '(target|state/param_states)/(encoder|decoder)/layers_(\d+)/pre_(\w+)_layer_norm/scale(/\w+)?',
 '\g<tower>/block_\g<n>/\g<layer>/\g<norm>/scale\g<slot>',
 '[["slot", "table", "slot", "\\1\\5"],
   ["decoder", "setting", "decoder"],
   ["tower", "table", "tower", "\\2", "\\g<decoder>"],
   ["layer", "table", "layer", "\\g<tower>/\\4"],
   ["said", "setting", "norm"],
   ["norm", "if", "\\g<said>", "\\g<said>", "layer_norm"],
   ["n", "sub", "^0*(?=\\d{3})", "", "00\\3"]]', NULL),

('t5x_to_t5', 8, '(target|state/param_states)/(encoder|decoder)/\2_norm/scale(/\w+)?',
 '\g<tower>/\g<norm>/scale\g<slot>',
 '[["slot", "table", "slot", "\\1\\3"],
   ["decoder", "setting", "decoder"],
   ["tower", "table", "tower", "\\2", "\\g<decoder>"],
   ["said", "setting", "norm"],
   ["norm", "if", "\\g<said>", "\\g<said>", "final_layer_norm"]]', NULL),

('t5x_to_t5', 9, '(target|state/param_states)/decoder/logits_dense/kernel(/\w+)?',
 '\g<tower>/logits/kernel\g<slot>',
 '[["slot", "table", "slot", "\\1\\2"],
   ["tower", "setting", "decoder"]]', NULL);
