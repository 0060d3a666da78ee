-- maxtext_unscan.sql - MaxText's scanned layers as one tensor per layer; other tensors do not
-- change.
--
-- Axis 1 (param_scan_axis) of parameters and Adam's moments is the layer. DeepSeek has
-- dense_layers and moe_layers, each counted from 0. Models that scan blocks of several layers
-- (layers/layers_0, as Gemma 3, GPT-OSS and Llama 4 do) count differently, and are refused.
INSERT INTO ruleset(name, dialect, options) VALUES ('maxtext_unscan', 'convert', '{
  "unmatched": "keep",
  "tables": {"blocks": {}}
}');

INSERT INTO rule(ruleset, ord, pattern, replacement, compute, ops) VALUES
('maxtext_unscan', 1, '(.*/decoder/(?:dense_|moe_)?layers)/(?!layers_\d)(.+)',
 '\1_\g<n>/\2', '[["n", "part"]]', '[["unstack", 1]]'),
('maxtext_unscan', 2, '.*/decoder/(layers/layers_\d+|scanned_blocks|\w+_layers)/.+', '\g<n>',
 '[["n", "table", "blocks", "\\1: blocks of several layers, which cannot be counted"]]', NULL);
