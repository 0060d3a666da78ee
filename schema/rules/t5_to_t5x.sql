-- t5_to_t5x.sql - names of T5 checkpoints (Mesh TensorFlow) as T5X names them.
--
-- The nine rules of T5X's checkpoint_importer.py. As in the original, slot suffixes are looked up
-- first: a name with two errors is reported for its suffix.
INSERT INTO ruleset(name, dialect, options) VALUES ('t5_to_t5x', 't5x-translator', '{
  "mode": "compat",
  "restore": true,
  "tables": {
    "slot":   {"": "", "_slot_v": "/v", "_slot_vr": "/v_row", "_slot_vc": "/v_col"},
    "tower":  {"encoder": "encoder", "decoder": "decoder", "transformer": "decoder"},
    "matrix": {"q": "query", "k": "key", "v": "value", "o": "out"},
    "attention": {
      "encoder/SelfAttention": "attention",
      "encoder/EncDecAttention": "attention",
      "decoder/SelfAttention": "self_attention",
      "decoder/EncDecAttention": "encoder_decoder_attention"
    },
    "layer_norm": {
      "encoder": ["pre_attention_layer_norm", "pre_mlp_layer_norm"],
      "decoder": ["pre_self_attention_layer_norm", "pre_cross_attention_layer_norm",
                  "pre_mlp_layer_norm"],
      "transformer": ["pre_self_attention_layer_norm", "pre_mlp_layer_norm"]
    }
  }
}');

INSERT INTO rule(ruleset, ord, pattern, replacement, compute, ops) VALUES
('t5_to_t5x', 1, 'global_step', 'state/step', NULL, '[["cast", "int32"]]'),

('t5_to_t5x', 2, 'shared/embedding(\w*)',
 '\g<root>/token_embedder/embedding\g<slot>',
 '[["slot", "table", "slot", "\\1"],
   ["root", "if", "\\1", "state/param_states", "target"]]', NULL),

('t5_to_t5x', 3, '(encoder|decoder|transformer)/embedding(\w*)',
 '\g<root>/\g<tower>/token_embedder/embedding\g<slot>',
 '[["slot", "table", "slot", "\\2"],
   ["root", "if", "\\2", "state/param_states", "target"],
   ["tower", "table", "tower", "\\1"]]', NULL),

('t5_to_t5x', 4,
 '(encoder|decoder|transformer)/block_(\d+)/layer_000/SelfAttention/relative_attention_bias(\w*)',
 '\g<root>/\g<tower>/layers_\g<n>/relpos_bias/rel_embedding\g<slot>',
 '[["slot", "table", "slot", "\\3"],
   ["root", "if", "\\3", "state/param_states", "target"],
   ["tower", "table", "tower", "\\1"],
   ["n", "int", "\\2"]]', NULL),

('t5_to_t5x', 5,
 '(encoder|decoder|transformer)/block_(\d+)/layer_\d+/(SelfAttention|EncDecAttention)/(q|k|v|o)(\w*)',
 '\g<root>/\g<tower>/layers_\g<n>/\g<attention>/\g<matrix>/kernel\g<slot>',
 '[["slot", "table", "slot", "\\5"],
   ["root", "if", "\\5", "state/param_states", "target"],
   ["tower", "table", "tower", "\\1"],
   ["attention", "table", "attention", "\\g<tower>/\\3"],
   ["matrix", "table", "matrix", "\\4"],
   ["n", "int", "\\2"]]', NULL),

('t5_to_t5x', 6,
 '(encoder|decoder|transformer)/block_(\d+)/layer_\d+/DenseReluDense/(wi|wo)(?:_(\d+))?/kernel(\w*)',
 '\g<root>/\g<tower>/layers_\g<n>/mlp/\3\g<k>/kernel\g<slot>',
 '[["slot", "table", "slot", "\\5"],
   ["root", "if", "\\5", "state/param_states", "target"],
   ["tower", "table", "tower", "\\1"],
   ["k", "if", "\\4", "_\\4", ""],
   ["n", "int", "\\2"]]', NULL),

('t5_to_t5x', 7,
 '(encoder|decoder|transformer)/block_(\d+)/layer_(\d+)/(?:layer|rms)_norm/scale(\w*)',
 '\g<root>/\g<tower>/layers_\g<n>/\g<norm>/scale\g<slot>',
 '[["slot", "table", "slot", "\\4"],
   ["root", "if", "\\4", "state/param_states", "target"],
   ["tower", "table", "tower", "\\1"],
   ["norm", "index", "layer_norm", "\\1", "\\3"],
   ["n", "int", "\\2"]]', NULL),

('t5_to_t5x', 8, '(encoder|decoder|transformer)/(?:final_layer|rms)_norm/scale(\w*)',
 '\g<root>/\g<tower>/\g<tower>_norm/scale\g<slot>',
 '[["slot", "table", "slot", "\\2"],
   ["root", "if", "\\2", "state/param_states", "target"],
   ["tower", "table", "tower", "\\1"]]', NULL),

('t5_to_t5x', 9, '(?:decoder|transformer)/logits/kernel(\w*)',
 '\g<root>/decoder/logits_dense/kernel\g<slot>',
 '[["slot", "table", "slot", "\\1"],
   ["root", "if", "\\1", "state/param_states", "target"]]', NULL);
