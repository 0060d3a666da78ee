-- not-turned: a square matrix is not transposed, as its like are
-- severity: warning
-- advice: no shape will tell: transpose it, or compare values
SELECT s.rule, place, new_name AS name,
       'from ' || s.old_name || '; ' || ifnull(t.example,
         'others keep "kernel" the other way round than "weight"') AS detail
FROM square s LEFT JOIN turned t USING (old_word, new_word)
WHERE NOT turned AND (t.example IS NOT NULL OR old_word || ' ' || new_word
  IN ('weight kernel', 'kernel weight') AND EXISTS (SELECT 1 FROM matrix m WHERE m.turned))
