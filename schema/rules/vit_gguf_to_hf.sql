-- vit_gguf_to_hf.sql - ViT under the names that llama.cpp gives to vision encoders, as Hugging Face
-- names it; the inverse of vit_hf_to_gguf.
--
-- Names begin with vit, as in a saved model with a head; in a ViTModel they do not:
--   --set prefix=
INSERT INTO ruleset(name, dialect, options) VALUES ('vit_gguf_to_hf', 'convert', '{
  "settings": {"prefix": {"else": "vit."}},
  "tables": {
    "outer": {"v.patch_embd": "embeddings.patch_embeddings.projection", "v.post_ln": "layernorm",
              "cls": "pooler.dense"},
    "module": {
      "ln1": "layernorm_before", "ln2": "layernorm_after",
      "attn_q": "attention.attention.query", "attn_k": "attention.attention.key",
      "attn_v": "attention.attention.value", "attn_out": "attention.output.dense",
      "ffn_up": "intermediate.dense", "ffn_down": "output.dense"
    }
  }
}');

INSERT INTO rule(ruleset, ord, pattern, replacement, compute, ops) VALUES
('vit_gguf_to_hf', 1, 'v\.class_embd', '\g<prefix>embeddings.cls_token',
 '[["prefix", "setting", "prefix"]]', '[["reshape", [1, 1, -1]]]'),
('vit_gguf_to_hf', 2, 'v\.position_embd\.weight', '\g<prefix>embeddings.position_embeddings',
 '[["prefix", "setting", "prefix"]]', '[["stack", 0, 0]]'),
('vit_gguf_to_hf', 3, 'cls\.output\.(weight|bias)', 'classifier.\1', NULL, NULL),
('vit_gguf_to_hf', 4, '(v\.patch_embd|v\.post_ln|cls)\.(weight|bias)', '\g<prefix>\g<name>.\2',
 '[["prefix", "setting", "prefix"],
   ["name", "table", "outer", "\\1"]]', NULL),
('vit_gguf_to_hf', 5, 'v\.blk\.(\d+)\.(\w+)\.(weight|bias)',
 '\g<prefix>encoder.layer.\1.\g<module>.\3',
 '[["prefix", "setting", "prefix"],
   ["module", "table", "module", "\\2"]]', NULL);
