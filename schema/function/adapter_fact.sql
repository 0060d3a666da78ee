-- adapter_fact.sql - adapter_fact(of): an adapter's configuration: adapter_config.json beside it (peft), or for
-- each component of a pipeline the file's metadata (diffusers). `component` NULL: all. In their order.
-- columns: component, key, value
-- parameters: :of
SELECT NULL AS component, substr(key, 21) AS key, value
FROM metadata WHERE checkpoint_id = known_checkpoint(:of) AND key GLOB 'adapter_config.json:*'
UNION ALL
SELECT substr(j.key, 1, instr(j.key, '.') - 1), substr(j.key, instr(j.key, '.') + 1) || coalesce('.' || k.key, ''),
       iif(j.type = 'object', k.value, iif(j.type IN ('true', 'false'), j.type, j.value))
FROM metadata m
JOIN json_each(iif(json_valid(m.value) AND json_type(m.value) = 'object', m.value, '{}')) j
LEFT JOIN json_each(iif(j.type = 'object', j.value, '{}')) k
WHERE m.checkpoint_id = :of AND m.key = 'lora_adapter_metadata'
