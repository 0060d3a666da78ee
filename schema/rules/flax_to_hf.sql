-- flax_to_hf.sql - the Flax models of Hugging Face's transformers (flax_model.msgpack) under the
-- names of its PyTorch models.
--
-- A kernel is (in, out), of a convolution (height, width, in, out); a weight is (out, in), and (out,
-- in, height, width). This holds for GPT-2 too, whose kernels are turned in both. Which kernels are
-- those of convolutions over images is told by their names. There is no set back: whether a weight is
-- a kernel, an embedding or a scale follows from its module's class.
INSERT INTO ruleset(name, dialect, options) VALUES ('flax_to_hf', 'convert', '{
  "tables": {
    "statistic": {"mean": "running_mean", "var": "running_var"}
  }
}');

INSERT INTO rule(ruleset, ord, pattern, replacement, compute, ops) VALUES
('flax_to_hf', 1,
 '(?:params/)?((?:.*/)?(?:patch_embeddings?(?:/projection)?|patch_embed/proj|convolution))/kernel',
 '\g<module>.weight',
 '[["module", "sub", "/", ".", "\\1"]]', '[["permute", [3, 2, 0, 1]]]'),
('flax_to_hf', 2, '(?:params/)?(.+)/kernel', '\g<module>.weight',
 '[["module", "sub", "/", ".", "\\1"]]', '[["transpose"]]'),
('flax_to_hf', 3, '(?:params/)?(.+)/(?:embedding|scale)', '\g<module>.weight',
 '[["module", "sub", "/", ".", "\\1"]]', NULL),
('flax_to_hf', 4, 'batch_stats/(.+)/(mean|var)', '\g<module>.\g<statistic>',
 '[["module", "sub", "/", ".", "\\1"],
   ["statistic", "table", "statistic", "\\2"]]', NULL),
('flax_to_hf', 5, '(?:params/)?((?:.+/)?(?:weight|bias|cls_token|mask_token|distillation_token|position_embeddings|class_embedding|logit_scale|masked_spec_embed|lambda_[12]|final_logits_bias))',
 '\g<name>',
 '[["name", "sub", "/", ".", "\\1"]]', NULL);
