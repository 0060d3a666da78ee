-- unturned: nothing is transposed, though "kernel" is usually the other way round than "weight"
-- severity: warning
-- advice: transpose them, or compare values
-- A model whose non-square matrices have the source's shapes confirms that nothing need be transposed.
WITH kept(place, rule, old_name, new_name, shape) AS (
  SELECT place, rule, old_name, new_name, shape FROM result
  WHERE json_array_length(shape) > 1 AND NOT EXISTS (SELECT 1 FROM doing WHERE moves)
    AND (old_name GLOB '*[./]weight' AND new_name GLOB '*[./]kernel'
         OR old_name GLOB '*[./]kernel' AND new_name GLOB '*[./]weight')
)
SELECT rule, place, new_name AS name, 'from ' || old_name AS detail FROM kept
WHERE NOT EXISTS (SELECT 1 FROM kept k JOIN model m ON m.name = k.new_name
                  WHERE m.shape = k.shape AND m.shape <> json_array(m.shape ->> 1, m.shape ->> 0))
