-- by_module_of.sql - the rows of by_module (11_views.sql) for the module ?13: found by their names,
-- in layouts, not checkpoints. (The conditions of a statement have the numbers before: catalog/sql/vt_view.c.)
SELECT c.id AS checkpoint_id, l.name AS checkpoint, substr(n.name, 1, m.length) AS module,
       m.depth, m.tensors, m.parameters, m.nbytes
FROM (SELECT DISTINCT ID_OWNER(id) AS layout FROM _layout_tensors
      WHERE name >= ?13 AND name < ?13 || CAST(x'FF' AS TEXT)) f
CROSS JOIN _layout_modules m NOT INDEXED ON m.id BETWEEN ID_FIRST(f.layout) AND ID_LAST(f.layout)
CROSS JOIN _layout_tensors n ON n.id = ID_FIRST(ID_OWNER(m.id)) + m.tensor
CROSS JOIN _checkpoints c ON c.layout = ID_OWNER(m.id)
LEFT JOIN _labels l ON l.id = c.id
WHERE m.length = length(?13) AND substr(n.name, 1, m.length) = ?13
UNION ALL
-- What is a tensor's only one ends before the last separator in its name: of most names the index tells
-- that they have another one. (Long names may have more parts than there are modules.)
SELECT c.id, l.name, substr(t.name, 1, t.module),
       CAST(t.module + 1 - length(replace(substr(t.name, 1, t.module),
                                          substr(t.name, t.module + 1, 1), '')) AS INTEGER),
       CAST(1 AS INTEGER),
       CAST(iif(t.dtype IN ('string', 'variant', 'resource'), 0, coalesce(t.elements, 0))
            AS INTEGER),
       CAST(coalesce(t.nbytes, 0) AS INTEGER)
FROM _layout_tensors t
CROSS JOIN _checkpoints c ON c.layout = ID_OWNER(t.id)
LEFT JOIN _labels l ON l.id = c.id
WHERE t.name >= ?13 AND t.name < ?13 || CAST(x'FF' AS TEXT)
  AND (length(t.name) > 64
       OR NOT instr(substr(t.name, length(?13) + 2), substr(t.name, length(?13) + 1, 1)))
  AND t.module = length(?13) AND substr(t.name, 1, t.module) = ?13
