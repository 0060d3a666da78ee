-- adapter_likely(of): whether it may be an adapter, without a look at all names: mostly a first or last tensor, or a
-- configuration, tells that it is none. The configuration is also beside an adapter's optimizer, and beside a full model
-- in its folder.
-- columns: likely
-- parameters: :of
SELECT EXISTS (SELECT 1 FROM _meta_facts WHERE id BETWEEN ID_FIRST(c.meta) AND ID_LAST(c.meta)
               AND key = 'adapter_config.json:peft_type')
    OR EXISTS (SELECT 1 FROM _layout_tensors WHERE id IN (ID_FIRST(c.layout), ID_FIRST(c.layout) + l.tensors - 1)
               AND name GLOB '*lora*') AS likely
FROM _checkpoints c JOIN _layouts l ON l.id = c.layout WHERE c.id = :of
