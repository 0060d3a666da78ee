-- adapter_base.sql - adapter_base(of): which checkpoint an adapter belongs to, a row for each component. It is
-- found by the name or path that the adapter states (a Hugging Face cache's `org/repo`, a folder, or the end
-- of its path), or else by the names of its tensors. `base` NULL: none, or several; `why` says which.
-- columns: component, base, base_name, why
-- parameters: :of
WITH
  stated(name, revision) AS MATERIALIZED (
    SELECT regexp_replace('^\./|/+$', (SELECT value FROM adapter_fact(:of) WHERE key = 'base_model_name_or_path' AND component IS NULL AND value <> ''), ''),
           (SELECT value FROM adapter_fact(:of) WHERE key = 'revision' AND component IS NULL)
  ),
  part AS MATERIALIZED (SELECT component, folded, coalesce(min(key) FILTER (WHERE kind NOT IN ('replace', 'bias') AND key NOT LIKE '%lm_head%'), min(key)) AS key FROM adapter_part(:of) GROUP BY component),
  place(id, layout, name, path, folder, file) AS (
    SELECT c.id, c.layout, l.name, c.path, rtrim(rtrim(c.path, replace(c.path, '/', '')), '/'), substr(c.path, 1 + length(rtrim(c.path, replace(c.path, '/', ''))))
    FROM _checkpoints c JOIN _labels l ON l.id = c.id WHERE c.id <> :of
  ),
  called(id, preference) AS ( -- by the name that is stated
    SELECT p.id, CASE WHEN p.path = s.name OR p.name = s.name THEN 0 WHEN instr(p.path, '/snapshots/' || s.revision) THEN 1 ELSE 2 END * 3
                 + CASE WHEN p.file GLOB 'model.safetensors*' THEN 0 WHEN p.file GLOB 'pytorch_model.bin*' THEN 1 ELSE 2 END
    FROM stated s CROSS JOIN place p
    WHERE p.file NOT GLOB 'adapter_model.*'
      AND (s.name IN (p.path, p.folder, p.name) OR substr(p.path, -1 - length(s.name)) = '/' || s.name OR substr(p.folder, -1 - length(s.name)) = '/' || s.name
           OR substr(p.name, 1, length(s.name) + 1) = s.name || '@' OR instr(p.path, '/models--' || replace(s.name, '/', '--') || '/snapshots/'))
  ),
  named(component, id) AS ( -- by the names of its tensors
    SELECT DISTINCT x.component, c.id
    FROM (SELECT p.component, ID_OWNER(t.id) AS layout
          FROM stated s CROSS JOIN part p CROSS JOIN _layout_tensors t
          WHERE s.name IS NULL AND substr(iif(p.folded, replace(t.name, '.', '_'), t.name), -length(p.key)) = p.key
            AND (length(t.name) = length(p.key) OR substr(iif(p.folded, replace(t.name, '.', '_'), t.name), -length(p.key) - 1, 1) = iif(p.folded, '_', '.'))) x
    CROSS JOIN _checkpoints c ON c.layout = x.layout AND c.id <> :of
  ),
  found(component, id) AS (
    SELECT p.component, c.id FROM part p CROSS JOIN called c WHERE c.preference = (SELECT min(preference) FROM called)
    UNION ALL SELECT component, id FROM named
  ),
  counted AS (
    SELECT p.component, count(f.id) AS n, max(f.id) AS id, s.name
    FROM stated s CROSS JOIN part p LEFT JOIN found f ON f.component = p.component GROUP BY p.component
  )
SELECT component, iif(n = 1, id, NULL) AS base, coalesce(name, iif(n = 1, (SELECT l.name FROM _labels l WHERE l.id = c.id), NULL)) AS base_name,
       CASE WHEN n > 1 THEN 'its base is ambiguous: ' || n || coalesce(' checkpoints are called ' || name, ' checkpoints have its names')
            WHEN n = 0 THEN coalesce('its base, ' || name || ', is not in the catalog', 'it states no base, and no checkpoint has its names') END AS why
FROM counted c
WHERE EXISTS (SELECT 1 FROM adapter_part(:of) WHERE kind <> 'replace') -- an optimizer or a full model beside an adapter is none
