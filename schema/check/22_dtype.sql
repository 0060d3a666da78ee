-- dtype: the dtype is not the model's
-- severity: note
-- advice: it will be cast when restored
SELECT r.rule, r.place, r.new_name AS name,
       'from ' || r.old_name || ' ' || r.dtype || ', the model has ' || m.dtype AS detail
FROM result r JOIN model m ON m.name = r.new_name WHERE m.dtype <> r.dtype
