-- gguf_architecture.sql - gguf_architecture(checkpoint): llama.cpp's name for the architecture of a model of Hugging
-- Face, and the shipped map that leads to it. No rows: no map leads there.
-- columns: arch, map
-- parameters: :checkpoint
WITH
  known(model_type, arch, map) AS (
    VALUES ('llama', 'llama', 'llama_hf_to_gguf'), ('mistral', 'llama', 'llama_hf_to_gguf'), ('mixtral', 'llama', 'llama_hf_to_gguf'),
           ('qwen2', 'qwen2', 'qwen2_hf_to_gguf'), ('gemma', 'gemma', 'gemma_hf_to_gguf'),
           ('gemma2', 'gemma2', 'gemma_hf_to_gguf'), ('gemma3_text', 'gemma3', 'gemma_hf_to_gguf'), ('gpt2', 'gpt2', 'gpt2_hf_to_gguf'),
           ('bert', 'bert', 'bert_hf_to_gguf'), ('t5', 't5', 't5_hf_to_gguf'), ('mt5', 't5', 't5_hf_to_gguf'), ('umt5', 't5', 't5_hf_to_gguf'))
SELECT arch, map
FROM known
JOIN metadata ON checkpoint_id = known_checkpoint(:checkpoint) AND key = 'config.json:model_type' AND value = model_type
