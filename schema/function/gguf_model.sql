-- gguf_model.sql - gguf_model(checkpoint, tokenizer, tokenizer_config): what llama.cpp wants to be told of a model of
-- Hugging Face, from config.json (facts of the checkpoint) and the texts of tokenizer.json and tokenizer_config.json
-- beside it ('{}': not there), in the order in which it is written. `value` NULL: llama.cpp needs it, and they do not say it. No rows: no
-- architecture to which a shipped map leads; `map` is that map. Names, types and defaults are those of llama.cpp's conversion.
-- columns: ord, key, type, value, map
-- parameters: :checkpoint, :tokenizer, :tokenizer_config
WITH RECURSIVE
  config(key, value) AS MATERIALIZED (
    SELECT substr(key, 13), value FROM metadata WHERE checkpoint_id = known_checkpoint(:checkpoint) AND key GLOB 'config.json:*'),
  known(model_type, arch, map) AS (
    VALUES ('llama', 'llama', 'llama_hf_to_gguf'), ('mistral', 'llama', 'llama_hf_to_gguf'), ('mixtral', 'llama', 'llama_hf_to_gguf'),
           ('qwen2', 'qwen2', 'qwen2_hf_to_gguf'), ('gemma', 'gemma', 'gemma_hf_to_gguf'),
           ('gemma2', 'gemma2', 'gemma_hf_to_gguf'), ('gemma3_text', 'gemma3', 'gemma_hf_to_gguf'), ('gpt2', 'gpt2', 'gpt2_hf_to_gguf'),
           ('bert', 'bert', 'bert_hf_to_gguf'), ('t5', 't5', 't5_hf_to_gguf'), ('mt5', 't5', 't5_hf_to_gguf'), ('umt5', 't5', 't5_hf_to_gguf')),
  model(arch, map) AS (SELECT arch, map FROM known JOIN config ON key = 'model_type' AND value = model_type),

  -- What config.json says. Of several keys the first that it has counts; `needed` 0: llama.cpp does without.
  asked(ord, family, key, type, sources, needed) AS (
    VALUES (10, 'llama qwen2 gemma gemma2 gemma3', 'vocab_size', 'u32', '["vocab_size"]', 0),
           (11, 'llama qwen2 gemma gemma2 gemma3 bert', 'context_length', 'u32', '["max_position_embeddings"]', 1),
           (11, 'gpt2', 'context_length', 'u32', '["n_ctx", "n_positions"]', 1),
           (11, 't5', 'context_length', 'u32', '["n_positions", "512"]', 1),
           (12, 't5', 'embedding_length', 'u32', '["d_model"]', 1),
           (12, 'llama qwen2 gemma gemma2 gemma3 bert', 'embedding_length', 'u32', '["hidden_size"]', 1),
           (12, 'gpt2', 'embedding_length', 'u32', '["n_embd"]', 1),
           (13, 'llama qwen2 gemma gemma2 gemma3 bert', 'block_count', 'u32', '["num_hidden_layers"]', 1),
           (13, 'gpt2', 'block_count', 'u32', '["n_layer"]', 1),
           (13, 't5', 'block_count', 'u32', '["num_layers"]', 1),
           (13, 't5', 'decoder_block_count', 'u32', '["num_decoder_layers"]', 0),
           (14, 't5', 'feed_forward_length', 'u32', '["d_ff"]', 1),
           (14, 'llama qwen2 gemma gemma2 gemma3 bert', 'feed_forward_length', 'u32', '["intermediate_size"]', 1),
           (14, 'gpt2', 'feed_forward_length', 'u32', '["n_inner", "4 n_embd"]', 1),
           (15, 'llama qwen2 gemma gemma2 gemma3 bert', 'attention.head_count', 'u32', '["num_attention_heads"]', 1),
           (15, 'gpt2', 'attention.head_count', 'u32', '["n_head"]', 1),
           (15, 't5', 'attention.head_count', 'u32', '["num_heads"]', 1),
           (16, 'llama qwen2 gemma gemma2 gemma3', 'attention.head_count_kv', 'u32', '["num_key_value_heads", "num_attention_heads"]', 1),
           (17, 'llama qwen2 gemma gemma2 gemma3', 'attention.layer_norm_rms_epsilon', 'f32', '["rms_norm_eps"]', 1),
           (17, 't5', 'attention.layer_norm_rms_epsilon', 'f32', '["layer_norm_epsilon"]', 1),
           (17, 't5', 'attention.layer_norm_epsilon', 'f32', '["layer_norm_epsilon"]', 1),
           (17, 'bert', 'attention.layer_norm_epsilon', 'f32', '["layer_norm_eps"]', 1),
           (17, 'gpt2', 'attention.layer_norm_epsilon', 'f32', '["layer_norm_epsilon"]', 1),
           (18, 'bert', 'attention.causal', 'bool', '["false"]', 1),
           (19, 'llama qwen2 gemma gemma2 gemma3', 'attention.key_length', 'u32', '["head_dim"]', 0),
           (20, 'llama qwen2 gemma gemma2 gemma3', 'attention.value_length', 'u32', '["head_dim"]', 0),
           (19, 't5', 'attention.key_length', 'u32', '["d_kv"]', 1),
           (20, 't5', 'attention.value_length', 'u32', '["d_kv"]', 1),
           (21, 't5', 'attention.relative_buckets_count', 'u32', '["relative_attention_num_buckets"]', 1),
           (22, 't5', 'decoder_start_token_id', 'u32', '["decoder_start_token_id"]', 1),
           (21, 'llama', 'rope.dimension_count', 'u32', '["head_dim", "head size"]', 1),
           (22, 'llama qwen2 gemma gemma2 gemma3', 'rope.freq_base', 'f32', '["rope_theta", "rope_parameters.rope_theta"]', 0),
           (26, 'gemma2', 'attn_logit_softcapping', 'f32', '["attn_logit_softcapping"]', 0),
           (26, 'gemma2', 'final_logit_softcapping', 'f32', '["final_logit_softcapping"]', 0),
           (27, 'gemma2 gemma3', 'attention.sliding_window', 'u32', '["sliding_window"]', 0),
           (26, 'llama', 'expert_count', 'u32', '["num_local_experts"]', 0),
           (27, 'llama', 'expert_used_count', 'u32', '["num_experts_per_tok"]', 0)),
  said(key, value) AS MATERIALIZED (
    SELECT key, value FROM config WHERE value IS NOT NULL
    UNION ALL VALUES ('false', 'false'), ('512', 512)
    UNION ALL SELECT '4 n_embd', 4 * value FROM config WHERE key = 'n_embd'
    UNION ALL SELECT 'head size', (SELECT value FROM config WHERE key = 'hidden_size') / value
    FROM config WHERE key = 'num_attention_heads' AND value > 0),

  -- Positions that are stretched. Llama 3's way is a tensor in llama.cpp.
  stretched(kind, factor, original) AS (
    SELECT kind, (SELECT value FROM said WHERE key IN ('rope_scaling.factor', 'rope_parameters.factor')),
           (SELECT value FROM said WHERE key IN ('rope_scaling.original_max_position_embeddings',
                                                'rope_parameters.original_max_position_embeddings'))
    FROM (SELECT coalesce((SELECT value FROM said WHERE key = 'rope_scaling.rope_type'),
                          (SELECT value FROM said WHERE key = 'rope_scaling.type'),
                          (SELECT value FROM said WHERE key = 'rope_parameters.rope_type'), 'default') AS kind)
    WHERE kind <> 'default'),

  -- The tokenizer. `kind` is llama.cpp's name of it.
  text(doc, settings) AS MATERIALIZED (
    SELECT iif(json_valid(:tokenizer), :tokenizer, '{}'), iif(json_valid(:tokenizer_config), :tokenizer_config, '{}')),
  tokenizer(kind, fallback, unknown, regex) AS MATERIALIZED (
    SELECT CASE WHEN json_extract(doc, '$.model.type') = 'WordPiece' THEN 'bert'
                WHEN json_extract(doc, '$.model.type') = 'Unigram' THEN 't5'
                WHEN coalesce(json_extract(doc, '$.model.type'), 'BPE') <> 'BPE' OR json_type(doc, '$.model.merges') IS NULL THEN NULL
                WHEN json_extract(doc, '$.model.byte_fallback') THEN 'llama'
                WHEN EXISTS (SELECT 1 FROM json_tree(doc, '$.pre_tokenizer') WHERE atom = 'ByteLevel') THEN 'gpt2' END,
           json_extract(doc, '$.model.byte_fallback'),
           coalesce(json_extract(doc, '$.model.unk_token'),
                    json_extract(doc, '$.model.vocab[' || json_extract(doc, '$.model.unk_id') || '][0]')),
           coalesce((SELECT atom FROM json_tree(doc, '$.pre_tokenizer') WHERE key = 'Regex'),
                    (SELECT 'none' FROM json_tree(doc, '$.pre_tokenizer') WHERE key = 'use_regex' AND type = 'false'))
    FROM text),
  added(id, token, special) AS MATERIALIZED (
    SELECT json_extract(value, '$.id'), json_extract(value, '$.content'), json_extract(value, '$.special')
    FROM text, json_each(doc, '$.added_tokens') WHERE type = 'object'),
  -- Unigram's is a list of pieces and their scores.
  piece(id, token, score) AS MATERIALIZED (
    SELECT key, json_extract(value, '$[0]'), json_extract(value, '$[1]')
    FROM text, json_each(doc, '$.model.vocab') WHERE type = 'array' AND json_type(doc, '$.model.vocab') = 'array'),
  vocabulary(id, token, special) AS MATERIALIZED (
    SELECT id, token, special FROM added
    UNION ALL
    SELECT value, key, NULL FROM text, json_each(doc, '$.model.vocab')
    WHERE json_type(doc, '$.model.vocab') = 'object' AND type IN ('integer', 'real')
      AND value NOT IN (SELECT id FROM added WHERE id IS NOT NULL)
    UNION ALL
    SELECT id, token, NULL FROM piece WHERE id NOT IN (SELECT id FROM added WHERE id IS NOT NULL)),
  -- As many as the embedding has; those that the tokenizer lacks are told as unused. (More is no vocabulary.)
  size(n) AS MATERIALIZED (
    SELECT max(most, coalesce((SELECT value FROM said WHERE key = 'vocab_size' AND typeof(value) = 'integer' AND value < 4194304), 0))
    FROM (SELECT max(id) + 1 AS most FROM vocabulary WHERE typeof(id) = 'integer')
    WHERE most BETWEEN 1 AND 4194304 AND (SELECT kind FROM tokenizer) IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM vocabulary WHERE typeof(id) <> 'integer' OR id < 0 OR typeof(token) <> 'text')),
  number(id) AS (SELECT 0 FROM size UNION ALL SELECT id + 1 FROM number WHERE id + 1 < (SELECT n FROM size)),
  tokens(id, token, type) AS MATERIALIZED (
    SELECT number.id,
           CASE WHEN kind <> 'bert' OR token GLOB '[[]*]' THEN coalesce(token, '[PAD' || number.id || ']')
                WHEN token IS NULL THEN '[PAD' || number.id || ']'
                WHEN token GLOB '##*' THEN substr(token, 3) ELSE char(9601) || token END,
           CASE WHEN token IS NULL THEN 5
                WHEN kind IN ('llama', 't5') AND token = unknown THEN 2
                WHEN special IS NOT NULL THEN iif(special, 3, 4)
                WHEN fallback AND token GLOB '<0x[0-9A-F][0-9A-F]>' THEN 6 ELSE 1 END
    FROM number CROSS JOIN tokenizer LEFT JOIN vocabulary ON vocabulary.id = number.id
    GROUP BY number.id ORDER BY number.id),
  -- A pair may hold blanks, which stand between the two in llama.cpp's merges.
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
       FROM config WHERE config.key = name || '_token_id'))
    FROM role)

SELECT 1 AS ord, 'general.architecture' AS key, 'str' AS type, arch AS value, map FROM model
UNION ALL SELECT 2, 'general.type', 'str', 'model', map FROM model
UNION ALL
SELECT 3, 'general.name', 'str',
       coalesce(regexp_capture('([^/]+)/?$', (SELECT value FROM said WHERE key = '_name_or_path'), 1),
                regexp_capture('/models--(?:[^/]*--)?([^/]+)/snapshots/', path, 1), regexp_capture('([^/]+)/[^/]*$', path, 1), 'model'), map
FROM model, checkpoint WHERE id = known_checkpoint(:checkpoint)
UNION ALL
SELECT a.ord, arch || '.' || a.key, a.type, (SELECT s.value FROM json_each(a.sources) w CROSS JOIN said s ON s.key = w.value LIMIT 1) AS found, map
FROM asked a, model WHERE instr(' ' || family || ' ', ' ' || arch || ' ') AND (needed OR found IS NOT NULL)
UNION ALL
SELECT 23, arch || '.rope.scaling.type', 'str', iif(kind IN ('linear', 'yarn'), kind, NULL), map FROM stretched, model WHERE kind <> 'llama3'
UNION ALL SELECT 23, 'rope_freqs.weight (a tensor)', 'str', NULL, map FROM stretched, model WHERE kind = 'llama3'
UNION ALL SELECT 24, arch || '.rope.scaling.factor', 'f32', factor, map FROM stretched, model WHERE kind IN ('linear', 'yarn')
UNION ALL
SELECT 25, arch || '.rope.scaling.original_context_length', 'u32', original, map FROM stretched, model WHERE kind = 'yarn' AND original IS NOT NULL
UNION ALL
SELECT 30, 'tokenizer.ggml.token_type_count', 'u32', (SELECT value FROM said WHERE key = 'type_vocab_size'), map FROM model WHERE arch = 'bert'
UNION ALL SELECT 40, 'tokenizer.ggml.model', 'str', (SELECT kind FROM tokenizer, size), map FROM model
UNION ALL
SELECT 41, 'tokenizer.ggml.pre', 'str',
       iif(kind IN ('llama', 't5'), 'default', (SELECT pre FROM split WHERE split.regex = coalesce(tokenizer.regex, '''(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+'))), map
FROM tokenizer, model WHERE kind IN ('llama', 'gpt2', 't5')
UNION ALL
SELECT 42, 'tokenizer.ggml.tokens', 'str[]', (SELECT json_group_array(token) FROM tokens HAVING count(*)), map FROM model
UNION ALL SELECT 43, 'tokenizer.ggml.scores', 'f32[]', NULL, map FROM model, tokenizer WHERE kind = 'llama'
UNION ALL
SELECT 43, 'tokenizer.ggml.scores', 'f32[]',
       (SELECT json_group_array(coalesce(score, -10000.0)) FROM (SELECT score FROM tokens LEFT JOIN piece USING (id) ORDER BY id) HAVING count(*)), map
FROM model, tokenizer WHERE kind = 't5'
UNION ALL SELECT 44, 'tokenizer.ggml.token_type', 'i32[]', (SELECT json_group_array(type) FROM tokens HAVING count(*)), map FROM model
UNION ALL
SELECT 45, 'tokenizer.ggml.merges', 'str[]',
       (SELECT iif(sum(typeof(merge) <> 'text'), NULL, json_group_array(merge)) FROM merges HAVING count(*)), map
FROM model, tokenizer WHERE kind = 'gpt2'
UNION ALL SELECT ord, 'tokenizer.ggml.' || key, 'u32', id, map FROM roles, model WHERE typeof(id) = 'integer' AND id BETWEEN 0 AND 4294967295
UNION ALL
SELECT 80, 'tokenizer.ggml.' || key, 'bool', iif(value, 'true', 'false'), map
FROM text, json_each(settings), model WHERE key IN ('add_bos_token', 'add_eos_token') AND type IN ('true', 'false')
UNION ALL
SELECT 90, 'tokenizer.chat_template', 'str', json_extract(settings, '$.chat_template'), map
FROM text, model WHERE json_type(settings, '$.chat_template') = 'text'
ORDER BY 1
