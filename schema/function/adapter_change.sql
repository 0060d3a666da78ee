-- adapter_change.sql - adapter_change(of): the tensors of an adapter, grouped by what they change according to their
-- names: `target` is a tensor's name in the base (with a longer prefix in kohya's and diffusers' files). Names follow
-- peft, diffusers and kohya. A tensor that is not an adapter's matrix replaces the base's
-- tensor (`whole`): modules_to_save, trained biases. `odd`: a tensor whose meaning is not known here.
-- columns: target, whole, parts, part, a, b, magnitude, alpha_id, shape_a, shape_b, turns, odd
-- parameters: :of
WITH
  named(id, name, shape, g) AS MATERIALIZED (
    SELECT ID_FIRST(:of) + ID_ORD(t.id), t.name, t.shape,
           regexp_groups('^(?:base_model\.model\.)?(.*?)[._](lora_(?:A|B|embedding_A|embedding_B|magnitude_vector|down|up|mid)|lora(?:_linear_layer)?\.(?:down|up)|alpha|dora_scale|(?:hada|lokr|oft|boft|ia3|vera|loha)_\w+)(?:\.(?!weight$|bias$)\w+)?(?:\.(weight|bias))?$', t.name)
    FROM _checkpoints c CROSS JOIN _layout_tensors t ON t.id BETWEEN ID_FIRST(c.layout) AND ID_LAST(c.layout) WHERE c.id = :of
  ),
  item(id, shape, target, part) AS (
    SELECT id, shape,
           iif(g IS NULL, regexp_replace('^base_model\.model\.|\.base_layer(?=\.)|\.modules_to_save(\.default)?(?=\.)', name, ''),
               regexp_replace('\.processor\.to_out$', g ->> 0, '.to_out.0') || iif(g ->> 2 = 'bias', '.bias', '.weight')),
           CASE WHEN g IS NULL THEN iif(instr(name, '.base_layer.'), 'base', 'replace')
                WHEN g ->> 1 IN ('lora_A', 'lora_embedding_A', 'lora_down', 'lora.down', 'lora_linear_layer.down') THEN iif(g ->> 1 = 'lora_embedding_A', 'embedding', 'a')
                WHEN g ->> 1 IN ('lora_B', 'lora_embedding_B', 'lora_up', 'lora.up', 'lora_linear_layer.up') THEN iif(g ->> 2 = 'bias', 'bias', 'b')
                WHEN g ->> 1 = 'lora_magnitude_vector' THEN 'magnitude' WHEN g ->> 1 = 'alpha' THEN 'alpha' ELSE g ->> 1 END
    FROM named
  )
SELECT regexp_replace('\.processor\.', target, '.') AS target, part IN ('replace', 'base', 'bias') AS whole, count(*) AS parts, max(iif(part = 'base', 'replace', part)) AS part,
       max(iif(part IN ('a', 'embedding'), id, NULL)) AS a, max(iif(part IN ('b', 'bias', 'replace', 'base'), id, NULL)) AS b,
       max(iif(part = 'magnitude', id, NULL)) AS magnitude, max(iif(part = 'alpha', id, NULL)) AS alpha_id,
       max(iif(part IN ('a', 'embedding'), shape, NULL)) AS shape_a, max(iif(part IN ('b', 'bias', 'replace', 'base'), shape, NULL)) AS shape_b,
       max(part IN ('embedding', 'base')) AS turns, max(iif(part IN ('a', 'b', 'embedding', 'bias', 'replace', 'base', 'magnitude', 'alpha'), NULL, part)) AS odd
FROM item GROUP BY 1, 2
