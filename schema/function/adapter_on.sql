-- adapter_on.sql - adapter_on(of[, target]): the rows of the view `adapter` for the adapter `of` and a base, which
-- need not be the one that it states (NULL: none). A tensor for a component that this base lacks
-- is `elsewhere`, unless no component fits it; a tensor that only the adapter has is `added`.
-- The base's names may have or lack a prefix (transformer.h.0 and h.0): one name of a component tells
-- which. If the base ties its embeddings, a change of one changes both.
-- columns: component, tensor_id, name, kind, rank, alpha, scale, a, b, magnitude, alpha_id, turned, status
-- parameters: :of, $target
WITH
  given(of, target) AS (SELECT :of, $target), -- argument order
  part AS MATERIALIZED (SELECT * FROM adapter_part(:of)),
  style(folded) AS (SELECT max(folded) FROM part),
  has(id, name, key, shape, dtype) AS MATERIALIZED (
    SELECT ID_FIRST(c.id) + ID_ORD(t.id), t.name, iif((SELECT folded FROM style), replace(t.name, '.', '_'), t.name), t.shape, t.dtype
    FROM _checkpoints c CROSS JOIN _layout_tensors t ON t.id BETWEEN ID_FIRST(c.layout) AND ID_LAST(c.layout) WHERE c.id = known_checkpoint($target)
  ),
  probe(component, key, mark) AS (
    SELECT component, coalesce(min(key) FILTER (WHERE key IN (SELECT key FROM has)), min(key) FILTER (WHERE kind NOT IN ('replace', 'bias') AND key NOT LIKE '%lm_head%'), min(key)),
           iif(folded, '_', '.') FROM part GROUP BY component
  ),
  shift(component, prefix, cut) AS MATERIALIZED ( -- the base's name is prefix || substr(key, 1 + cut)
    SELECT component, min(prefix), min(cut) FROM (
      SELECT p.component, substr(h.key, 1, max(length(h.key) - length(p.key), 0)) AS prefix, max(length(p.key) - length(h.key), 0) AS cut,
             rank() OVER (PARTITION BY p.component ORDER BY length(h.key) <> length(p.key), length(h.key) > length(p.key), -length(h.key)) AS nth
      FROM probe p CROSS JOIN has h
      WHERE h.key = p.key OR substr(h.key, -length(p.key) - 1) = p.mark || p.key OR substr(p.key, -length(h.key) - 1) = p.mark || h.key)
    WHERE nth = 1 GROUP BY component HAVING count(*) = 1
  ),
  tied(head, embedding) AS MATERIALIZED ( -- ids; a head that is not stored is NULL, and tied unless it is said not to be
    SELECT o.id, min(e.id) FROM has e LEFT JOIN (SELECT min(id) AS id FROM has WHERE regexp_match('(.*\.)?(lm_head|embed_out|output_projection)\.weight$', name, 'match')) o
    LEFT JOIN metadata m ON m.checkpoint_id = $target AND m.key = 'config.json:tie_word_embeddings'
    WHERE regexp_match('(.*\.)?(embed_tokens|wte|word_embeddings|embed_in|shared)\.weight$', e.name, 'match')
      AND coalesce(m.value, iif(o.id IS NULL, 'true', 'false')) = 'true'
    HAVING count(*) = 1
  ),
  met AS (
    SELECT p.*, s.component IS NOT NULL AS fits, coalesce(h.id, iif((p.kind IN ('lora', 'dora') OR p.turns) AND regexp_match('(.*\.)?(lm_head|embed_out|output_projection)\.weight$', p.key, 'match'), (SELECT embedding FROM tied), NULL)) AS id,
           iif(s.component IS NULL, p.key, s.prefix || substr(p.key, 1 + s.cut)) AS called
    FROM part p LEFT JOIN shift s ON s.component = p.component LEFT JOIN has h ON h.key = s.prefix || substr(p.key, 1 + s.cut)
  ),
  whole AS (
    SELECT * FROM met UNION ALL
    SELECT m.component, folded, key, kind, rank, alpha, scale, a, b, magnitude, alpha_id, shape_a, shape_b, turns, problem, fits, iif(m.id = t.head, t.embedding, t.head), called
    FROM met m JOIN tied t ON t.head IS NOT NULL AND m.id IN (t.head, t.embedding) WHERE m.kind IN ('lora', 'dora') OR m.turns
  ),
  fitted AS (
    SELECT w.*, coalesce(h.name, w.called) AS name, h.shape,
           '[' || (shape_b ->> 0) || substr(shape_a, instr(shape_a, ',')) AS straight, '[' || (shape_a ->> 1) || ',' || (shape_b ->> 0) || ']' AS across,
           EXISTS (SELECT 1 FROM adapter_fact(:of) f WHERE f.key = 'fan_in_fan_out' AND f.value = 'true') AS fans
    FROM whole w LEFT JOIN has h ON h.id = w.id
  )
SELECT component, id AS tensor_id, name, kind, rank, alpha, scale, a, b, magnitude, alpha_id,
       turns OR (across = shape AND (fans OR replace(straight, ',1,1]', ']') <> replace(shape, ',1,1]', ']'))) AS turned,
       CASE WHEN $target IS NULL THEN coalesce(problem, 'ok')
            WHEN NOT fits AND EXISTS (SELECT 1 FROM shift) THEN 'elsewhere' WHEN problem IS NOT NULL THEN problem
            WHEN id IS NULL THEN iif(kind = 'replace' AND EXISTS (SELECT 1 FROM shift), 'added', 'the base has no such tensor')
            WHEN kind IN ('replace', 'bias') THEN iif(shape_b = shape, 'ok', 'its shape ' || shape_b || ' is not the base''s, ' || shape)
            WHEN iif(turns, across = shape, replace(straight, ',1,1]', ']') = replace(shape, ',1,1]', ']') OR across = shape)
                 AND shape_b ->> 1 = shape_a ->> 0 THEN 'ok'
            ELSE 'shapes ' || shape_a || ' and ' || shape_b || ' do not make the base''s, ' || shape END AS status
FROM fitted ORDER BY id IS NULL, id, kind IN ('lora', 'dora', 'bias')
