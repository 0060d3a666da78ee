-- vit_hf_to_gguf.sql - ViT of Hugging Face under the names that llama.cpp gives to vision encoders.
--
-- The class token and the positions lose their axes of length 1. What is not a matrix of a layer
-- becomes float32, as in llama.cpp's conversions. The pooler and the classifier are named as those
-- of BERT; llama.cpp itself has no vision models with heads.
INSERT INTO ruleset(name, dialect, options) VALUES ('vit_hf_to_gguf', 'convert', '{
  "tables": {
    "head": {"vit.pooler.dense": "cls", "pooler.dense": "cls", "classifier": "cls.output"},
    "norm": {"before": "ln1", "after": "ln2"},
    "module": {
      "attention.attention.query": "attn_q", "attention.attention.key": "attn_k",
      "attention.attention.value": "attn_v", "attention.output.dense": "attn_out",
      "intermediate.dense": "ffn_up", "output.dense": "ffn_down"
    }
  }
}');

INSERT INTO rule(ruleset, ord, pattern, replacement, compute, ops) VALUES
('vit_hf_to_gguf', 1, '(?:vit\.)?embeddings\.cls_token', 'v.class_embd', NULL,
 '[["reshape", [-1]], ["cast", "float32"]]'),
('vit_hf_to_gguf', 2, '(?:vit\.)?embeddings\.position_embeddings', 'v.position_embd.weight', NULL,
 '[["take", 0, 0], ["cast", "float32"]]'),
('vit_hf_to_gguf', 3, '(?:vit\.)?embeddings\.patch_embeddings\.projection\.(weight|bias)',
 'v.patch_embd.\1', NULL, '[["cast", "float32"]]'),
('vit_hf_to_gguf', 4, '(?:vit\.)?embeddings\.mask_token', NULL, NULL, NULL),
('vit_hf_to_gguf', 5, '(?:vit\.)?layernorm\.(weight|bias)', 'v.post_ln.\1', NULL,
 '[["cast", "float32"]]'),
('vit_hf_to_gguf', 6, '(?:vit\.)?encoder\.layer\.(\d+)\.layernorm_(before|after)\.(weight|bias)',
 'v.blk.\1.\g<norm>.\3',
 '[["norm", "table", "norm", "\\2"]]', '[["cast", "float32"]]'),
('vit_hf_to_gguf', 7, '(?:vit\.)?encoder\.layer\.(\d+)\.(\w+(?:\.\w+)*)\.weight',
 'v.blk.\1.\g<module>.weight',
 '[["module", "table", "module", "\\2"]]', NULL),
('vit_hf_to_gguf', 8, '(?:vit\.)?encoder\.layer\.(\d+)\.(\w+(?:\.\w+)*)\.bias',
 'v.blk.\1.\g<module>.bias',
 '[["module", "table", "module", "\\2"]]', '[["cast", "float32"]]'),
('vit_hf_to_gguf', 9, '((?:vit\.)?pooler\.dense|classifier)\.weight', '\g<head>.weight',
 '[["head", "table", "head", "\\1"]]', NULL),
('vit_hf_to_gguf', 10, '((?:vit\.)?pooler\.dense|classifier)\.bias', '\g<head>.bias',
 '[["head", "table", "head", "\\1"]]', '[["cast", "float32"]]');
