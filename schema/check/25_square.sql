-- square: square matrices are transposed: no shape tells whether they should be
-- severity: note
-- advice: compare values, or try it on a model with others
SELECT s.rule, place, new_name AS name, 'from ' || old_name AS detail FROM square s
WHERE moved AND s.rule NOT IN (
  SELECT r.rule FROM result r JOIN doing d ON d.rule = r.rule
  WHERE d.moves AND r.new_name IN (SELECT name FROM model)
    AND r.new_name NOT IN (SELECT new_name FROM square))
