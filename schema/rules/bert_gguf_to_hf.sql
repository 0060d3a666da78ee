-- bert_gguf_to_hf.sql - BERT of llama.cpp under the names of Hugging Face; the inverse of
-- bert_hf_to_gguf.
--
-- Names begin with bert, as in a saved model with a head; in a BertModel they do not:
--   --set prefix=
-- dtypes do not change: norms, biases, positions and token types are float32, and quantised blocks
-- stay as they are.
INSERT INTO ruleset(name, dialect, options) VALUES ('bert_gguf_to_hf', 'convert', '{
  "settings": {"prefix": {"else": "bert."}},
  "tables": {
    "outer": {
      "token_embd": "embeddings.word_embeddings", "position_embd": "embeddings.position_embeddings",
      "token_types": "embeddings.token_type_embeddings", "token_embd_norm": "embeddings.LayerNorm",
      "cls": "pooler.dense"
    },
    "module": {
      "attn_q": "attention.self.query", "attn_k": "attention.self.key",
      "attn_v": "attention.self.value", "attn_output": "attention.output.dense",
      "attn_output_norm": "attention.output.LayerNorm", "layer_output_norm": "output.LayerNorm",
      "ffn_up": "intermediate.dense", "ffn_down": "output.dense"
    }
  }
}');

INSERT INTO rule(ruleset, ord, pattern, replacement, compute, ops) VALUES
('bert_gguf_to_hf', 1, 'cls\.output\.(weight|bias)', 'classifier.\1', NULL, NULL),
('bert_gguf_to_hf', 2, '(token_embd|position_embd|token_types|token_embd_norm|cls)\.(weight|bias)',
 '\g<prefix>\g<name>.\2',
 '[["prefix", "setting", "prefix"],
   ["name", "table", "outer", "\\1"]]', NULL),
('bert_gguf_to_hf', 3, 'blk\.(\d+)\.(\w+)\.(weight|bias)',
 '\g<prefix>encoder.layer.\1.\g<module>.\3',
 '[["prefix", "setting", "prefix"],
   ["module", "table", "module", "\\2"]]', NULL);
