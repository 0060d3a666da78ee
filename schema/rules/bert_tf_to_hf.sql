-- bert_tf_to_hf.sql - BERT as Google published it (TensorFlow) under the names of Hugging Face.
--
-- Kernels are transposed, except for the output_weights of the heads, which are (out, in) already.
-- The optimizer's slots and counters are dropped. cls.predictions.decoder.weight is tied to the
-- word embeddings, so it has no tensor of its own.
INSERT INTO ruleset(name, dialect, options) VALUES ('bert_tf_to_hf', 'convert', '{
  "tables": {
    "suffix": {"kernel": "weight", "bias": "bias", "gamma": "weight", "beta": "bias"},
    "head": {
      "cls/predictions/output_bias": "cls.predictions.bias",
      "cls/seq_relationship/output_weights": "cls.seq_relationship.weight",
      "cls/seq_relationship/output_bias": "cls.seq_relationship.bias",
      "cls/squad/output_weights": "qa_outputs.weight",
      "cls/squad/output_bias": "qa_outputs.bias",
      "output_weights": "classifier.weight",
      "output_bias": "classifier.bias"
    }
  }
}');

INSERT INTO rule(ruleset, ord, pattern, replacement, compute, ops) VALUES
('bert_tf_to_hf', 1,
 '(?:.*/)?(?:adam_[mv]|AdamWeightDecayOptimizer(?:_1)?|global_step|good_steps|loss_scale)(?:/.*)?',
 NULL, NULL, NULL),
('bert_tf_to_hf', 2, '(?:.*/)?output_(?:weights|bias)', '\g<head>',
 '[["head", "table", "head", "\\g<0>"]]', NULL),
('bert_tf_to_hf', 3, 'bert/embeddings/(\w+_embeddings)', 'bert.embeddings.\1.weight', NULL, NULL),

-- layer_11 is an entry of a list: layer.11
('bert_tf_to_hf', 4, '((?:bert|cls)/.*)/kernel', '\g<module>.weight',
 '[["list", "sub", "/layer_(?=\\d)", "/layer/", "\\1"],
   ["module", "sub", "/", ".", "\\g<list>"]]', '[["transpose"]]'),
('bert_tf_to_hf', 5, '((?:bert|cls)/.*)/(bias|gamma|beta)', '\g<module>.\g<suffix>',
 '[["list", "sub", "/layer_(?=\\d)", "/layer/", "\\1"],
   ["module", "sub", "/", ".", "\\g<list>"],
   ["suffix", "table", "suffix", "\\2"]]', NULL);
