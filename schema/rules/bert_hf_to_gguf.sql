-- bert_hf_to_gguf.sql - BERT of Hugging Face under the names of llama.cpp.
--
-- Norms, biases, positions and token types become float32, as in llama.cpp's conversion. That also
-- leaves out the pooler; here it is cls, where llama.cpp looks for what comes before a classifier
-- (cls.output). The heads of the pretraining and of SQuAD have no names there, and are dropped.
INSERT INTO ruleset(name, dialect, options) VALUES ('bert_hf_to_gguf', 'convert', '{
  "tables": {
    "suffix": {"weight": "weight", "bias": "bias", "gamma": "weight", "beta": "bias"},
    "head": {"bert.pooler.dense": "cls", "pooler.dense": "cls", "classifier": "cls.output"},
    "norm": {"attention.output": "attn_output_norm", "output": "layer_output_norm"},
    "module": {
      "attention.self.query": "attn_q", "attention.self.key": "attn_k",
      "attention.self.value": "attn_v", "attention.output.dense": "attn_output",
      "intermediate.dense": "ffn_up", "output.dense": "ffn_down"
    }
  }
}');

INSERT INTO rule(ruleset, ord, pattern, replacement, compute, ops) VALUES
('bert_hf_to_gguf', 1, '(?:bert\.)?embeddings\.word_embeddings\.weight', 'token_embd.weight',
 NULL, NULL),
('bert_hf_to_gguf', 2, '(?:bert\.)?embeddings\.position_embeddings\.weight',
 'position_embd.weight', NULL, '[["cast", "float32"]]'),
('bert_hf_to_gguf', 3, '(?:bert\.)?embeddings\.token_type_embeddings\.weight',
 'token_types.weight', NULL, '[["cast", "float32"]]'),
('bert_hf_to_gguf', 4, '(?:bert\.)?embeddings\.position_ids', NULL, NULL, NULL),
('bert_hf_to_gguf', 5, '(?:cls\.(?:predictions|seq_relationship)|qa_outputs)\..*', NULL, NULL,
 NULL),
('bert_hf_to_gguf', 6, '(?:bert\.)?embeddings\.LayerNorm\.(\w+)', 'token_embd_norm.\g<suffix>',
 '[["suffix", "table", "suffix", "\\1"]]', '[["cast", "float32"]]'),
('bert_hf_to_gguf', 7, '(?:bert\.)?encoder\.layer\.(\d+)\.(attention\.output|output)\.LayerNorm\.(\w+)',
 'blk.\1.\g<norm>.\g<suffix>',
 '[["norm", "table", "norm", "\\2"],
   ["suffix", "table", "suffix", "\\3"]]', '[["cast", "float32"]]'),
('bert_hf_to_gguf', 8, '(?:bert\.)?encoder\.layer\.(\d+)\.(\w+(?:\.\w+)*)\.weight',
 'blk.\1.\g<module>.weight',
 '[["module", "table", "module", "\\2"]]', NULL),
('bert_hf_to_gguf', 9, '(?:bert\.)?encoder\.layer\.(\d+)\.(\w+(?:\.\w+)*)\.bias',
 'blk.\1.\g<module>.bias',
 '[["module", "table", "module", "\\2"]]', '[["cast", "float32"]]'),
('bert_hf_to_gguf', 10, '((?:bert\.)?pooler\.dense|classifier)\.weight', '\g<head>.weight',
 '[["head", "table", "head", "\\1"]]', NULL),
('bert_hf_to_gguf', 11, '((?:bert\.)?pooler\.dense|classifier)\.bias', '\g<head>.bias',
 '[["head", "table", "head", "\\1"]]', '[["cast", "float32"]]');
