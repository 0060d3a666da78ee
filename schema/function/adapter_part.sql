-- adapter_part.sql - adapter_part(of): the changes that an adapter would make to its base, as far as its names and its
-- configuration tell: a row for each tensor of the base. `key` is the tensor's name without the prefix of its
-- `component` (unet, te1; '': none); `folded`: with underscores in place of dots (kohya). `problem`: why it
-- cannot be merged.
-- `turns`: the matrices are an embedding's, or the tensor that takes
-- the place was the base's own, under an adapter, and keeps its ties.
-- columns: component, folded, key, kind, rank, alpha, scale, a, b, magnitude, alpha_id, shape_a, shape_b, turns, problem
-- parameters: :of
WITH
  fact AS MATERIALIZED (SELECT row_number() OVER () AS ord, * FROM adapter_fact(:of)),
  peft(type) AS (SELECT (SELECT value FROM fact WHERE key = 'peft_type' AND component IS NULL)),
  refused(problem) AS ( -- what changes more than two matrices say
    SELECT min(CASE WHEN key = 'peft_type' AND value <> 'LORA' THEN 'adapters of type ' || value || ' cannot be merged'
                    WHEN key = 'init_lora_weights' AND value NOT IN ('true', 'false', 'gaussian', 'eva', 'orthogonal')
                      THEN 'init_lora_weights ' || value || ' changes the base: convert the adapter first'
                    WHEN value NOT IN ('false', '{}', '[]') AND regexp_match('(use_qalora|use_bdlora|arrow_config|kasa_config|monteclora_config|alora_invocation_tokens|layer_replication|target_parameters|trainable_token_indices)\b', key, 'match')
                      THEN regexp_capture('\w+', key, 0) || ' cannot be merged' END)
    FROM fact
  ),
  placed AS (
    SELECT *, CASE WHEN (SELECT type FROM peft) IS NOT NULL THEN json_array('', target)
                   WHEN instr(target, '.') = instr(target, '.weight') AND target GLOB 'lora_*'
                     THEN coalesce(regexp_groups('^lora_(unet|te\d?|transformer|prior|clip_[lg]|t5xxl)_(.*)$', target), json_array('', target))
                   ELSE coalesce(regexp_groups('^(unet|transformer|prior|text_encoder(?:_\d)?)\.(.*)$', target), json_array('', target)) END AS g
    FROM adapter_change(:of)
  ),
  part AS (
    SELECT p.*, g ->> 0 AS component, g ->> 1 <> target AND target GLOB 'lora_*' AS folded, g ->> 1 AS name,
           CAST(iif(p.part = 'bias', (SELECT c.shape_a FROM placed c WHERE NOT c.whole AND c.target = substr(p.target, 1, length(p.target) - 5) || '.weight'), shape_a) ->> 0 AS INTEGER) AS rank
    FROM placed p
  ),
  scaled AS (
    SELECT p.*, iif(alpha_id IS NULL AND p.part <> 'replace', coalesce((
             SELECT f.value FROM fact f WHERE f.key GLOB 'alpha_pattern.*' AND coalesce(f.component, p.component) = p.component
             AND iif(regexp_error(substr(f.key, 15)) IS NULL, regexp_match('(.*\.)?(' || substr(f.key, 15) || ')\.(weight|bias)$', p.name, 'match'), 0) ORDER BY f.ord LIMIT 1),
             (SELECT f.value FROM fact f WHERE f.key = 'lora_alpha' AND coalesce(f.component, p.component) = p.component), rank), NULL) AS alpha,
           EXISTS (SELECT 1 FROM fact f WHERE f.key = 'use_rslora' AND f.value = 'true' AND coalesce(f.component, p.component) = p.component) AS rslora,
           EXISTS (SELECT 1 FROM fact f WHERE f.key = 'use_dora' AND f.value = 'true' AND coalesce(f.component, p.component) = p.component) AS dora
    FROM part p
  )
SELECT component, folded, iif(folded, replace(name, '.', '_'), name) AS key,
       coalesce((SELECT lower(type) FROM peft WHERE type <> 'LORA'), iif(part IN ('replace', 'bias'), part, iif(magnitude, 'dora', 'lora'))) AS kind,
       rank, alpha, alpha / iif(rslora, sqrt(rank), CAST(rank AS REAL)) AS scale, a, b, magnitude, alpha_id, shape_a, shape_b, turns,
       coalesce((SELECT problem FROM refused), odd || ' cannot be merged',
                CASE WHEN whole THEN iif(parts > 1, 'it has several tensors of this name', NULL)
                     WHEN a IS NULL OR b IS NULL THEN iif(a IS NULL, 'a matrix A', 'a matrix B') || ' is missing'
                     WHEN parts <> 2 + (magnitude IS NOT NULL) + (alpha_id IS NOT NULL) THEN 'it has several tensors of one name'
                     WHEN dora AND magnitude IS NULL THEN 'use_dora, but a magnitude is missing'
                     WHEN alpha IS NULL AND alpha_id IS NULL OR rank = 0 THEN 'its scale is not known' END) AS problem
FROM scaled
