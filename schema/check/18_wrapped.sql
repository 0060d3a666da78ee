-- wrapped: the prefix of a wrapper is still there
-- severity: warning
-- advice: take it off wherever it may be: (?:module\.|_orig_mod\.)*
-- The prefixes that wrappers of torch modules add, at the beginning of a name or inside.
WITH wrapper(name) AS (
  VALUES ('(^module|(^|[./])(_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module'
          || '|_forward_module))[./]')
)
SELECT rule, place, new_name AS name, 'from ' || old_name AS detail
FROM result CROSS JOIN wrapper w
WHERE tensor_id IS NOT NULL AND new_name REGEXP w.name AND old_name REGEXP w.name
  AND new_name NOT IN (SELECT name FROM model)
