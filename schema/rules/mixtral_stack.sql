-- mixtral_stack.sql - Mixtral with a tensor for each expert, as it is published, with stacked experts,
-- as transformers 5 holds it; the inverse of mixtral_unstack.
--
-- How many experts there are tells a config.json next to the checkpoint; without one:
--   --set num_local_experts=8
-- At most 16; other tensors do not change.
INSERT INTO ruleset(name, dialect, options) VALUES ('mixtral_stack', 'convert', '{
  "unmatched": "keep",
  "settings": {
    "num_local_experts": {"number": true,
      "from": ["config.json:num_local_experts", "llama.expert_count"]}
  },
  "tables": {
    "place": {
      "w1": ["0", "2", "4", "6", "8", "10", "12", "14", "16", "18", "20", "22", "24", "26",
             "28", "30"],
      "w3": ["1", "3", "5", "7", "9", "11", "13", "15", "17", "19", "21", "23", "25", "27",
             "29", "31"]}
  }
}');

-- w1 and w3 of all experts are stacked in turns; each pair is then one row of the result.
INSERT INTO rule(ruleset, ord, pattern, replacement, compute, ops) VALUES
('mixtral_stack', 1, '(.*\.)?block_sparse_moe\.gate\.weight', '\1mlp.gate.weight', NULL, NULL),
('mixtral_stack', 2, '(.*\.)?block_sparse_moe\.experts\.(\d+)\.(w[13])\.weight',
 '\1mlp.experts.gate_up_proj',
 '[["place", "index", "place", "\\3", "\\2"],
   ["experts", "setting", "num_local_experts"]]',
 '[["stack", 0, "\\g<place>"], ["reshape", ["\\g<experts>", -1, 0]]]'),
('mixtral_stack', 3, '(.*\.)?block_sparse_moe\.experts\.(\d+)\.w2\.weight',
 '\1mlp.experts.down_proj', NULL, '[["stack", 0, "\\2"]]');
