-- shape: the shape is not the model's
-- severity: error
-- advice: look for a transposed, fused or stacked tensor, or another configuration
SELECT r.rule, r.place, r.new_name AS name,
       'from ' || r.old_name || ' ' || r.shape || ', the model has ' || m.shape AS detail
FROM result r JOIN model m ON m.name = r.new_name WHERE m.shape <> r.shape
