-- gguf_model.sql - gguf_model(checkpoint, tokenizer, tokenizer_config, pieces, charsmap): the keys that llama.cpp needs for a model of
-- Hugging Face: from config.json (gguf_config), and for the tokenizer, from the texts of tokenizer.json and
-- tokenizer_config.json beside the checkpoint ('{}': not there) and tokenizer.model's pieces ([[TEXT, SCORE, TYPE], ...])
-- and charsmap (a blob; empty: not there), in the order in which they are written. `value` NULL: llama.cpp
-- needs it, but they do not state it. No rows: no shipped map leads to its architecture. Names, types and defaults are
-- as in llama.cpp's conversion.
-- columns: ord, key, type, value
-- parameters: :checkpoint, :tokenizer, :tokenizer_config, :pieces, :charsmap
WITH
  model(arch) AS MATERIALIZED (SELECT arch FROM gguf_architecture(:checkpoint)),
  config(key, value) AS (SELECT key, value FROM metadata WHERE checkpoint_id = known_checkpoint(:checkpoint)),
  embedding(n) AS (
    SELECT coalesce((SELECT value FROM config WHERE key = 'config.json:vocab_size' AND typeof(value) = 'integer'), 0)),
  text(doc, settings) AS MATERIALIZED (
    SELECT iif(json_valid(:tokenizer), :tokenizer, '{}'), iif(json_valid(:tokenizer_config), :tokenizer_config, '{}')),
  tokenizer AS MATERIALIZED (SELECT kind, unknown, regex, charsmap FROM gguf_tokenizer(:tokenizer)),
  vocabulary AS MATERIALIZED (SELECT id, token FROM gguf_vocabulary(:tokenizer)),
  tokens AS MATERIALIZED (
    SELECT id, token, type, score FROM gguf_tokens(:tokenizer, (SELECT n FROM embedding))),
  sentence(scores, types) AS MATERIALIZED (SELECT scores, types FROM gguf_sentence(:tokenizer, :pieces, (SELECT n FROM embedding))),
  -- A pair may hold blanks, which separate the two in llama.cpp's merges.
  merges(merge) AS (
    SELECT iif(m.type = 'array', replace(json_extract(m.value, '$[0]'), ' ', char(288)) || ' ' || replace(json_extract(m.value, '$[1]'), ' ', char(288)),
               m.value)
    FROM text, json_each(doc, '$.model.merges') m),
  split(regex, pre) AS (
    VALUES ('(?i:''s|''t|''re|''ve|''m|''ll|''d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+', 'llama-bpe'),
           ('(?i:''s|''t|''re|''ve|''m|''ll|''d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+', 'qwen2'),
           ('''(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+', 'gpt-2')),
  -- (The spelling is llama.cpp's.) A text begins with BERT's cls and ends with its sep.
  role(ord, key, name, instead) AS (
    VALUES (70, 'bos_token_id', 'bos', 'cls'), (71, 'eos_token_id', 'eos', 'sep'), (72, 'unknown_token_id', 'unk', NULL),
           (73, 'seperator_token_id', 'sep', NULL), (74, 'padding_token_id', 'pad', NULL), (75, 'mask_token_id', 'mask', NULL)),
  -- By the token that tokenizer_config.json names, else the number in config.json.
  roles(ord, key, id) AS (
    SELECT ord, key, coalesce(
      (SELECT v.id FROM text JOIN vocabulary v ON v.token = coalesce(json_extract(settings, '$.' || name || '_token.content'),
                                                                     json_extract(settings, '$.' || name || '_token'),
                                                                     json_extract(settings, '$.' || instead || '_token.content'),
                                                                     json_extract(settings, '$.' || instead || '_token'))),
      (SELECT v.id FROM tokenizer JOIN vocabulary v ON v.token = unknown AND name = 'unk'),
      (SELECT CASE WHEN typeof(value) = 'integer' THEN value WHEN json_valid(value) THEN json_extract(value, '$[0]') END
       FROM config WHERE config.key = 'config.json:' || name || '_token_id'))
    FROM role)

SELECT ord, key, type, value FROM gguf_config(:checkpoint)
UNION ALL SELECT 40, 'tokenizer.ggml.model', 'str', (SELECT kind FROM tokenizer WHERE EXISTS (SELECT 1 FROM tokens)) FROM model
UNION ALL
SELECT 41, 'tokenizer.ggml.pre', 'str',
       iif(kind IN ('llama', 't5'), 'default', (SELECT pre FROM split WHERE split.regex = coalesce(tokenizer.regex, '''(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+')))
FROM tokenizer, model WHERE kind IN ('llama', 'gpt2', 't5')
UNION ALL
SELECT 42, 'tokenizer.ggml.tokens', 'str[]', (SELECT json_group_array(token) FROM tokens HAVING count(*)) FROM model
UNION ALL SELECT 43, 'tokenizer.ggml.scores', 'f32[]', (SELECT scores FROM sentence) FROM model, tokenizer WHERE kind = 'llama'
UNION ALL
SELECT 43, 'tokenizer.ggml.scores', 'f32[]', (SELECT json_group_array(coalesce(score, iif(type IN (3, 4), -1000.0, -10000.0))) FROM tokens HAVING count(*))
FROM model, tokenizer WHERE kind = 't5'
UNION ALL SELECT 44, 'tokenizer.ggml.token_type', 'i32[]', coalesce((SELECT types FROM sentence), (SELECT json_group_array(type) FROM tokens HAVING count(*))) FROM model
UNION ALL
SELECT 45, 'tokenizer.ggml.merges', 'str[]',
       (SELECT iif(sum(typeof(merge) <> 'text'), NULL, json_group_array(merge)) FROM merges HAVING count(*))
FROM model, tokenizer WHERE kind = 'gpt2'
UNION ALL
SELECT 46, 'tokenizer.ggml.precompiled_charsmap', 'u8[]', charsmap
FROM (SELECT iif(length(:charsmap), :charsmap, charsmap) AS charsmap FROM tokenizer, model WHERE kind = 't5') WHERE charsmap IS NOT NULL
UNION ALL SELECT ord, 'tokenizer.ggml.' || key, 'u32', id FROM roles, model WHERE typeof(id) = 'integer' AND id BETWEEN 0 AND 4294967295
UNION ALL
SELECT 80, 'tokenizer.ggml.' || iif(key = 'add_prefix_space', 'add_space_prefix', key), 'bool', type
FROM text, json_each(settings), model
WHERE (key IN ('add_bos_token', 'add_eos_token') OR key = 'add_prefix_space' AND arch = 'llama') AND type IN ('true', 'false')
UNION ALL
SELECT 90, 'tokenizer.chat_template', 'str', json_extract(settings, '$.chat_template')
FROM text, model WHERE json_type(settings, '$.chat_template') = 'text'
ORDER BY 1
