-- merged.sql - merged(adapters, base): a base after merging adapters, one after the other.
-- `adapters` is a JSON list of [id, factor]. A row for each tensor that changes, with the `steps` that change it
-- (catalog/data/compose/merge.h; without the first element and the brackets); and one for each tensor of an
-- adapter that is not `ok`, without tensor_id: `added`, by the tensor `own`; `elsewhere`; or a reason to refuse.
-- columns: adapter, tensor_id, name, kind, rank, scale, own, steps, status
-- parameters: :adapters, :base
WITH
  given(adapters, base) AS (SELECT :adapters, :base), -- argument order
  each(nth, adapter, factor) AS (SELECT key, value ->> 0, value ->> 1 FROM json_each(:adapters)),
  change AS MATERIALIZED (
    SELECT e.nth, e.adapter, e.factor, x.*, row_number() OVER () AS place,
           EXISTS (SELECT 1 FROM adapter_part(e.adapter) p WHERE p.kind <> 'replace') AS adapts
    FROM each e CROSS JOIN adapter_on x ON x.of = e.adapter AND x.target = known_checkpoint(:base)
  ),
  step AS (
    SELECT *, CASE kind WHEN 'replace' THEN printf('["replace",%!.17g,%d]', factor, b)
                        WHEN 'bias' THEN printf('["add",%!.17g,%d]', scale * factor, b)
                        ELSE printf('["lora",%!.17g,%d,%d,%d,%s,%s]', factor * coalesce(scale, 1.0 / rank), turned, a, b,
                                    coalesce(magnitude, 'null'), iif(scale IS NULL, alpha_id, 'null')) END AS step
    FROM change WHERE status = 'ok' AND adapts ORDER BY nth, place
  )
SELECT min(adapter) AS adapter, tensor_id, name, group_concat(DISTINCT kind) AS kind, max(rank) AS rank, iif(count(scale) = 1, max(scale * factor), NULL) AS scale,
       NULL AS own, group_concat(step) AS steps, 'ok' AS status
FROM step GROUP BY tensor_id, name
UNION ALL
SELECT adapter, NULL, name, kind, NULL, NULL, b, NULL,
       CASE WHEN NOT adapts THEN 'this is not an adapter' WHEN status = 'added' AND factor <> 1 THEN 'the base has no such tensor to which a part could be added' ELSE status END
FROM change WHERE status <> 'ok' OR NOT adapts
