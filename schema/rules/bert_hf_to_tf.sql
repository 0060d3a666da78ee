-- bert_hf_to_tf.sql - BERT of Hugging Face under the names that Google published it with
-- (TensorFlow); the inverse of bert_tf_to_hf.
--
-- Kernels are transposed, except for the output_weights of the heads. What repeats other tensors
-- (position_ids, the decoder of cls.predictions) is dropped.
INSERT INTO ruleset(name, dialect, options) VALUES ('bert_hf_to_tf', 'convert', '{
  "tables": {
    "norm": {"weight": "gamma", "bias": "beta", "gamma": "gamma", "beta": "beta"},
    "head": {
      "cls.predictions.bias": "cls/predictions/output_bias",
      "cls.seq_relationship.weight": "cls/seq_relationship/output_weights",
      "cls.seq_relationship.bias": "cls/seq_relationship/output_bias",
      "qa_outputs.weight": "cls/squad/output_weights",
      "qa_outputs.bias": "cls/squad/output_bias",
      "classifier.weight": "output_weights",
      "classifier.bias": "output_bias"
    }
  }
}');

INSERT INTO rule(ruleset, ord, pattern, replacement, compute, ops) VALUES
('bert_hf_to_tf', 1, 'bert\.embeddings\.position_ids|cls\.predictions\.decoder\.(?:weight|bias)',
 NULL, NULL, NULL),
('bert_hf_to_tf', 2,
 'cls\.predictions\.bias|(?:cls\.seq_relationship|qa_outputs|classifier)\.(?:weight|bias)',
 '\g<head>',
 '[["head", "table", "head", "\\g<0>"]]', NULL),
('bert_hf_to_tf', 3, 'bert\.embeddings\.(\w+_embeddings)\.weight', 'bert/embeddings/\1', NULL, NULL),

-- layer.11, an entry of a list, is layer_11
('bert_hf_to_tf', 4, '((?:bert|cls)\..*\.LayerNorm)\.(\w+)', '\g<module>/\g<suffix>',
 '[["list", "sub", "\\.layer\\.(?=\\d)", ".layer_", "\\1"],
   ["module", "sub", "\\.", "/", "\\g<list>"],
   ["suffix", "table", "norm", "\\2"]]', NULL),
('bert_hf_to_tf', 5, '((?:bert|cls)\..*)\.weight', '\g<module>/kernel',
 '[["list", "sub", "\\.layer\\.(?=\\d)", ".layer_", "\\1"],
   ["module", "sub", "\\.", "/", "\\g<list>"]]', '[["transpose"]]'),
('bert_hf_to_tf', 6, '((?:bert|cls)\..*)\.bias', '\g<module>/bias',
 '[["list", "sub", "\\.layer\\.(?=\\d)", ".layer_", "\\1"],
   ["module", "sub", "\\.", "/", "\\g<list>"]]', NULL);
