-- carried.sql - carried(checkpoint): the facts that go with its tensors into a file of another format. Not
-- facts of a file beside it (config.json:KEY), nor facts that only its own format can use: the vocabulary
-- and the architecture of GGUF, the layers of Keras, and whatever describes the file itself, which may
-- also be wrong for a part. Facts that count bytes or parameters (`counted`) have to be counted anew.
WITH
  own(format, pattern) AS (
    VALUES ('*', '*.json:*'), ('*', '*.bin:*'), ('*', '*.pt:*'),
           ('gguf', 'tokenizer.*'), ('gguf', 'general.architecture'), ('gguf', 'general.alignment'),
           ('gguf', 'general.file_type'), ('gguf', 'general.quantization_version'), ('gguf', 'split.*'),
           ('hdf5', 'model_config'), ('hdf5', 'training_config'), ('hdf5', '*layer_names'), ('hdf5', '*weight_names'),
           ('hdf5', '*vars/name'), ('hdf5', '*vars/[0-9]*/dtype'), ('keras*', '*vars/name'), ('keras*', '*vars/[0-9]*/dtype'),
           ('deepspeed', '*param_shapes.*'), ('deepspeed', '*buffer_names')
    UNION ALL -- the parameters of an architecture: llama.block_count
    SELECT 'gguf', value || '.*' FROM metadata WHERE checkpoint_id = :checkpoint AND key = 'general.architecture'
  )
SELECT key, value, CASE key WHEN 'total_size' THEN 'bytes' WHEN 'total_parameters' THEN 'numbers' END AS counted
FROM metadata m JOIN checkpoint c ON c.id = m.checkpoint_id
WHERE m.checkpoint_id = :checkpoint AND m.value IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM own WHERE c.format GLOB own.format AND m.key GLOB own.pattern)
