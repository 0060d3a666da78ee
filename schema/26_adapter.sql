-- 26_adapter.sql - every adapter: which tensors of its base it changes, and how (schema/function/adapter_on.sql).
CREATE VIEW adapter AS
SELECT c.id AS checkpoint_id, l.name AS checkpoint, b.base, b.base_name, x.component, x.kind, x.name,
       x.tensor_id AS base_tensor, x.rank, x.alpha, x.scale, x.a, x.b, x.magnitude, x.alpha_id,
       coalesce(b.why, x.status) AS status
FROM _checkpoints c
JOIN _labels l ON l.id = c.id
CROSS JOIN "adapter_base (of ckptdb.so: load this extension first)" b ON b.of = c.id
CROSS JOIN adapter_on x ON x.of = c.id AND x.target = b.base AND x.component = b.component
WHERE EXISTS (SELECT 1 FROM _layout_tensors t
              WHERE t.id BETWEEN ID_FIRST(c.layout) AND ID_LAST(c.layout) AND t.name GLOB '*lora*')
   OR EXISTS (SELECT 1 FROM _meta_facts m
              WHERE m.id BETWEEN ID_FIRST(c.meta) AND ID_LAST(c.meta) AND m.key = 'adapter_config.json:peft_type');
