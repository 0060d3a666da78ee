-- mixtral_unstack.sql - Mixtral with stacked experts, as transformers 5 holds it, with a tensor for
-- each expert, as it is published.
--
-- gate_up_proj is (experts, 2 * inner, hidden): w1 of an expert, then its w3. How large inner is tells
-- a config.json next to the checkpoint; without one:
--   --set intermediate_size=14336
-- At most 16 experts; other tensors do not change.
INSERT INTO ruleset(name, dialect, options) VALUES ('mixtral_unstack', 'convert', '{
  "unmatched": "keep",
  "settings": {
    "intermediate_size": {"number": true, "from": ["config.json:intermediate_size"]}
  },
  "tables": {
    "expert": {
      "": "", "0": "0.w1", "1": "0.w3", "2": "1.w1", "3": "1.w3", "4": "2.w1", "5": "2.w3",
      "6": "3.w1", "7": "3.w3", "8": "4.w1", "9": "4.w3", "10": "5.w1", "11": "5.w3",
      "12": "6.w1", "13": "6.w3", "14": "7.w1", "15": "7.w3", "16": "8.w1", "17": "8.w3",
      "18": "9.w1", "19": "9.w3", "20": "10.w1", "21": "10.w3", "22": "11.w1", "23": "11.w3",
      "24": "12.w1", "25": "12.w3", "26": "13.w1", "27": "13.w3", "28": "14.w1", "29": "14.w3",
      "30": "15.w1", "31": "15.w3"}
  }
}');

INSERT INTO rule(ruleset, ord, pattern, replacement, compute, ops) VALUES
('mixtral_unstack', 1, '(.*\.)?mlp\.gate\.weight', '\1block_sparse_moe.gate.weight', NULL, NULL),
('mixtral_unstack', 2, '(.*\.)?mlp\.experts\.gate_up_proj',
 '\1block_sparse_moe.experts.\g<expert>.weight',
 '[["n", "part"],
   ["expert", "table", "expert", "\\g<n>"],
   ["inner", "setting", "intermediate_size"]]',
 '[["reshape", [-1, "\\g<inner>", 0]], ["unstack", 0]]'),
('mixtral_unstack', 3, '(.*\.)?mlp\.experts\.down_proj',
 '\1block_sparse_moe.experts.\g<n>.w2.weight',
 '[["n", "part"]]', '[["unstack", 0]]');
