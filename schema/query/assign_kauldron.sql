-- assign_kauldron.sql - Kauldron's new_to_old: subtrees of a model replaced by subtrees of a
-- checkpoint.
--
-- Rules are literal paths, new to old. They act in order, those of `opt_state` after all
-- others (the optimizer is made in between); a later one overrides inside an earlier one.
-- The leaves of the model decide what is written back: one that the source lacks is an
-- error, unless ignore_model_keys says to keep the model's; what the source has besides is
-- left out, and once either option is given an error, unless ignore_restored_keys has it.
WITH
  option(ignores, strict) AS MATERIALIZED (
    SELECT ifnull(json_array_length(options, '$.ignore_restored_keys'), 0)
           + ifnull(json_array_length(options, '$.ignore_model_keys'), 0) > 0,
           ifnull(options ->> 'mode', '') = 'strict'
    FROM ruleset WHERE name = :ruleset
  ),
  ignored(whose, filter) AS MATERIALIZED (
    SELECT 'restored', kontext_filter(value) FROM ruleset,
      json_each(iif(json_type(options, '$.ignore_restored_keys') = 'array', options, '{}'),
                '$.ignore_restored_keys') WHERE name = :ruleset
    UNION ALL
    SELECT 'model', kontext_filter(value) FROM ruleset,
      json_each(iif(json_type(options, '$.ignore_model_keys') = 'array', options, '{}'),
                '$.ignore_model_keys') WHERE name = :ruleset
  ),
  old(name, tensor_id, dtype, shape) AS MATERIALIZED (
    SELECT name, tensor_id, dtype, shape FROM leaf
    WHERE checkpoint_id = :source_id AND tensor_id IS NOT NULL
  ),
  new(place, name, dtype, shape) AS MATERIALIZED (
    SELECT place, name, dtype, shape FROM leaf
    WHERE checkpoint_id = :target_id AND tensor_id IS NOT NULL
  ),
  path(ord, turn, new_path, old_path, new_name, old_name, error) AS MATERIALIZED (
    SELECT ord,
           row_number() OVER (ORDER BY pattern = 'opt_state' OR
                                       substr(pattern, 1, 10) = 'opt_state.', ord),
           pattern, replacement, kontext_name(pattern), kontext_name(replacement),
           ifnull(kontext_error(pattern), kontext_error(replacement))
    FROM rule WHERE ruleset = :ruleset AND replacement IS NOT NULL
  ),
  -- Leaves below a path, and the rest of their names ('' for the path itself).
  model(ord, place, rest) AS MATERIALIZED (
    SELECT p.ord, n.place, substr(n.name, length(p.new_name) + 1 + (p.new_name <> ''))
    FROM path p JOIN new n
      ON p.new_name = '' OR n.name = p.new_name
      OR substr(n.name, 1, length(p.new_name) + 1) = p.new_name || '/'
  ),
  restored(ord, rest, name, tensor_id, dtype, shape) AS MATERIALIZED (
    SELECT p.ord, substr(o.name, length(p.old_name) + 1 + (p.old_name <> '')), o.name,
           o.tensor_id, o.dtype, o.shape
    FROM path p JOIN old o
      ON p.old_name = '' OR o.name = p.old_name
      OR substr(o.name, 1, length(p.old_name) + 1) = p.old_name || '/'
  ),
  -- Errors of a whole rule, the first that the original meets.
  fault(ord, error) AS MATERIALIZED (
    SELECT ord,
           CASE
             WHEN error IS NOT NULL THEN error
             WHEN ord NOT IN (SELECT ord FROM model)
               THEN 'KeyError: Could not find path ' || python_repr(new_path)
                 || ' in the dict object.'
             WHEN ord NOT IN (SELECT ord FROM restored)
               THEN 'KeyError: Could not find path ' || python_repr(old_path)
                 || ' in the dict object.'
             WHEN new_name = '' AND NOT ignores
               THEN 'ValueError: Error trying to mutate path : Path is empty'
             WHEN ignores AND EXISTS (SELECT 1 FROM model m
                                      WHERE m.ord = p.ord AND m.rest = '')
                  AND NOT EXISTS (SELECT 1 FROM ignored WHERE whose = 'restored'
                                  AND regexp_match(filter, '', 'match'))
               THEN 'ValueError: Error trying to mutate path : Path is empty'
           END
    FROM path p CROSS JOIN option
  ),
  -- A key as kontext prints it: numbers are indexes.
  unexpected(ord, name, key, is_ignored) AS MATERIALIZED (
    SELECT r.ord, r.name, r.key,
           EXISTS (SELECT 1 FROM ignored WHERE whose = 'restored'
                   AND regexp_match(filter, r.key, 'match'))
    FROM (SELECT ord, name, rest,
                 replace(regexp_replace('(?:^|/)(-?\d+)(?=/|$)', rest, '[\1]'), '/', '.')
                   AS key FROM restored) r
    CROSS JOIN option
    WHERE ignores
      AND (NOT EXISTS (SELECT 1 FROM model m WHERE m.ord = r.ord AND m.rest = r.rest)
           OR EXISTS (SELECT 1 FROM ignored WHERE whose = 'restored'
                      AND regexp_match(filter, r.key, 'match')))
  ),
  -- What a rule does to a leaf of the model.
  tried(place, ord, turn, rest, key, status, old_name, tensor_id, dtype, shape, error)
  AS MATERIALIZED (
    SELECT m.place, m.ord, p.turn, m.rest, m.key,
           CASE
             WHEN f.error IS NOT NULL THEN 'error'
             WHEN u.is_ignored THEN 'own'
             WHEN r.name IS NOT NULL THEN 'mapped'
             WHEN EXISTS (SELECT 1 FROM ignored WHERE whose = 'model'
                          AND regexp_match(filter, m.key, 'match')) THEN 'own'
             WHEN EXISTS (SELECT 1 FROM restored d WHERE d.ord = m.ord
                          AND substr(d.rest, 1, length(m.rest) + 1) = m.rest || '/')
               THEN 'grown'
             ELSE 'error'
           END,
           r.name, r.tensor_id, r.dtype, r.shape,
           CASE
             WHEN f.error IS NOT NULL THEN f.error
             WHEN r.name IS NOT NULL OR u.is_ignored THEN NULL
             WHEN ignores THEN 'ValueError: Missing key in restored checkpoint: ' || m.key
               || '. If you don''t want to load this key, please use a matching pattern '
               || 'in the `ignore_model_keys` argument.'
             WHEN EXISTS (SELECT 1 FROM restored d WHERE d.ord = m.ord AND
                          (d.rest = '' OR substr(m.rest, 1, length(d.rest) + 1)
                                          = d.rest || '/'))
               THEN 'TypeError: ''int'' object is not subscriptable'
             ELSE 'KeyError: ' || python_repr(regexp_capture('[^/]*$', m.rest, 0))
           END
    FROM (SELECT ord, place, rest,
                 replace(regexp_replace('(?:^|/)(-?\d+)(?=/|$)', rest, '[\1]'), '/', '.')
                   AS key FROM model) m
    JOIN path p ON p.ord = m.ord
    JOIN fault f ON f.ord = m.ord
    CROSS JOIN option
    LEFT JOIN restored r ON r.ord = m.ord AND r.rest = m.rest
    LEFT JOIN unexpected u ON u.ord = m.ord AND u.name = r.name
  ),
  last(place, turn) AS MATERIALIZED (
    SELECT place, coalesce(min(iif(status = 'error', turn, NULL)), max(turn))
    FROM tried GROUP BY place
  ),
  entry(place, part, name, old_name, tensor_id, dtype, shape, rule, status, error, note)
  AS MATERIALIZED (
    SELECT n.place, 0, n.name, iif(t.status = 'mapped', t.old_name, NULL),
           iif(t.status = 'mapped', t.tensor_id, NULL),
           iif(t.status = 'mapped', t.dtype, NULL), iif(t.status = 'mapped', t.shape, NULL),
           t.ord,
           CASE WHEN t.status = 'own' THEN 'missing'
                WHEN t.status = 'mapped' AND n.shape <> t.shape THEN 'error'
                ELSE t.status END,
           CASE WHEN t.status = 'mapped' AND n.shape <> t.shape THEN
             'ValueError: Requested shape: ' || python_shape(n.shape)
             || ' is not compatible with the stored shape: ' || python_shape(t.shape)
             || '. Truncating/padding is disabled.'
             WHEN t.status = 'error' THEN t.error END,
           CASE WHEN t.status = 'own' THEN 'ignored: the model keeps its own'
                WHEN t.status = 'mapped' AND n.dtype <> t.dtype
                  THEN 'cast to ' || n.dtype END
    FROM new n JOIN last l ON l.place = n.place
    JOIN tried t ON t.place = l.place AND t.turn = l.turn
    WHERE t.status <> 'grown'
    UNION ALL
    -- A subtree of the source where the model has a leaf.
    SELECT n.place, 1, n.name || substr(r.rest, length(t.rest) + 1), r.name, r.tensor_id,
           r.dtype, r.shape, t.ord, 'mapped', NULL,
           'the model has a leaf here: its structure changes'
    FROM tried t JOIN last l ON l.place = t.place AND l.turn = t.turn
    JOIN new n ON n.place = t.place
    JOIN restored r ON r.ord = t.ord
      AND substr(r.rest, 1, length(t.rest) + 1) = t.rest || '/'
    WHERE t.status = 'grown'
    UNION ALL
    SELECT place, 0, name, NULL, NULL, NULL, NULL, NULL, 'missing', NULL, NULL
    FROM new WHERE place NOT IN (SELECT place FROM last)
    UNION ALL
    SELECT (1 << 60) + f.ord, 0, p.new_name, p.old_name, NULL, NULL, NULL, f.ord, 'error',
           f.error, NULL
    FROM fault f JOIN path p ON p.ord = f.ord
    WHERE f.error IS NOT NULL AND f.ord NOT IN (SELECT ord FROM model)
    UNION ALL
    SELECT (1 << 60) + (1 << 40) + u.ord, 1, NULL, u.name, NULL, NULL, NULL, u.ord,
           'error', 'ValueError: Unexpected key in restored checkpoint: ' || u.key
           || '. If you don''t want to load this key, please use a matching pattern in '
           || 'the `ignore_restored_keys` argument.', NULL
    FROM unexpected u JOIN fault f ON f.ord = u.ord
    WHERE NOT u.is_ignored AND f.error IS NULL
  )
SELECT name AS new_name,
       old_name,
       tensor_id,
       dtype,
       shape,
       rule,
       iif(strict AND note IS NOT NULL, 'error', status) AS status,
       iif(strict AND note IS NOT NULL, 'ValueError: ' || note, error) AS error,
       note
FROM option CROSS JOIN (SELECT * FROM entry ORDER BY place, part, name LIMIT -1)
