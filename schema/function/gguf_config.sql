-- gguf_config.sql - gguf_config(checkpoint): llama.cpp's keys from config.json (facts of the checkpoint), in the order in
-- which they are written. `value` NULL: llama.cpp needs it, but config.json does not state it.
-- columns: ord, key, type, value
-- parameters: :checkpoint
WITH
  config(key, value) AS MATERIALIZED (
    SELECT substr(key, 13), value FROM metadata WHERE checkpoint_id = known_checkpoint(:checkpoint) AND key GLOB 'config.json:*'),
  model(arch) AS MATERIALIZED (SELECT arch FROM gguf_architecture(:checkpoint)),

  -- The facts of config.json. The first of several keys that it has counts; `needed` 0: llama.cpp does without.
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

  -- Stretched positions. For Llama 3 llama.cpp has a tensor: these are its parameters (gguf_model.c).
  stretched(kind, factor, original) AS (
    SELECT kind, (SELECT value FROM said WHERE key IN ('rope_scaling.factor', 'rope_parameters.factor')),
           (SELECT value FROM said WHERE key IN ('rope_scaling.original_max_position_embeddings',
                                                'rope_parameters.original_max_position_embeddings'))
    FROM (SELECT coalesce((SELECT value FROM said WHERE key = 'rope_scaling.rope_type'),
                          (SELECT value FROM said WHERE key = 'rope_scaling.type'),
                          (SELECT value FROM said WHERE key = 'rope_parameters.rope_type'), 'default') AS kind)
    WHERE kind <> 'default')

SELECT 1 AS ord, 'general.architecture' AS key, 'str' AS type, arch AS value FROM model
UNION ALL SELECT 2, 'general.type', 'str', 'model' FROM model
UNION ALL
SELECT 3, 'general.name', 'str',
       coalesce(regexp_capture('([^/]+)/?$', (SELECT value FROM said WHERE key = '_name_or_path'), 1),
                regexp_capture('/models--(?:[^/]*--)?([^/]+)/snapshots/', path, 1), regexp_capture('([^/]+)/[^/]*$', path, 1), 'model')
FROM model, checkpoint WHERE id = known_checkpoint(:checkpoint)
UNION ALL
SELECT a.ord, arch || '.' || a.key, a.type, (SELECT s.value FROM json_each(a.sources) w CROSS JOIN said s ON s.key = w.value LIMIT 1) AS found
FROM asked a, model WHERE instr(' ' || family || ' ', ' ' || arch || ' ') AND (needed OR found IS NOT NULL)
UNION ALL
SELECT 23, arch || '.rope.scaling.type', 'str', iif(kind IN ('linear', 'yarn'), kind, NULL) FROM stretched, model WHERE kind <> 'llama3'
UNION ALL
SELECT 23, 'rope_freqs.weight', 'f32[]',
       json_array(coalesce((SELECT value FROM said WHERE key = 'head_dim'), (SELECT value FROM said WHERE key = 'head size')),
                  coalesce((SELECT value FROM said WHERE key = 'rope_theta'), (SELECT value FROM said WHERE key = 'rope_parameters.rope_theta'), 10000),
                  coalesce(factor, 8),
                  coalesce((SELECT value FROM said WHERE key IN ('rope_scaling.low_freq_factor', 'rope_parameters.low_freq_factor')), 1),
                  coalesce((SELECT value FROM said WHERE key IN ('rope_scaling.high_freq_factor', 'rope_parameters.high_freq_factor')), 4),
                  coalesce(original, 8192))
FROM stretched, model WHERE kind = 'llama3'
UNION ALL SELECT 24, arch || '.rope.scaling.factor', 'f32', factor FROM stretched, model WHERE kind IN ('linear', 'yarn')
UNION ALL
SELECT 25, arch || '.rope.scaling.original_context_length', 'u32', original FROM stretched, model WHERE kind = 'yarn' AND original IS NOT NULL
UNION ALL
SELECT 30, 'tokenizer.ggml.token_type_count', 'u32', (SELECT value FROM said WHERE key = 'type_vocab_size') FROM model WHERE arch = 'bert'
UNION ALL
-- llama.cpp adds a blank before Llama's texts, and so before Gemma's, but not before T5's.
SELECT 31, 'tokenizer.ggml.add_space_prefix', 'bool', iif(arch = 't5', 'true', 'false') FROM model WHERE arch = 't5' OR arch GLOB 'gemma*'
UNION ALL SELECT 32, 'tokenizer.ggml.remove_extra_whitespaces', 'bool', 'true' FROM model WHERE arch = 't5'
ORDER BY 1
