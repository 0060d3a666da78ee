-- assign_kauldron.sql - Kauldron's new_to_old: subtrees of a model replaced by subtrees of a
-- checkpoint.
--
-- Rules are literal paths, new to old. They act in order, those of `opt_state` after all
-- others (the optimizer is made in between); a later one overrides inside an earlier one.
-- The leaves of the model decide what is written back: one that the source lacks is an
-- error, unless ignore_model_keys says to keep the model's; what the source has besides is
-- left out, and once either option is given an error, unless ignore_restored_keys has it.
WITH RECURSIVE
  option(ignores, strict) AS MATERIALIZED (
    SELECT ifnull(json_array_length(options, '$.ignore_restored_keys'), 0)
           + ifnull(json_array_length(options, '$.ignore_model_keys'), 0) > 0,
           ifnull(options ->> 'mode', '') = 'strict'
    FROM ruleset WHERE name = :ruleset
  ),
  ignored(whose, filter, error) AS MATERIALIZED (
    SELECT 'restored', kontext_filter(value), kontext_error(value) FROM ruleset,
      json_each(iif(json_type(options, '$.ignore_restored_keys') = 'array', options, '{}'),
                '$.ignore_restored_keys') WHERE name = :ruleset
    UNION ALL
    SELECT 'model', kontext_filter(value), kontext_error(value) FROM ruleset,
      json_each(iif(json_type(options, '$.ignore_model_keys') = 'array', options, '{}'),
                '$.ignore_model_keys') WHERE name = :ruleset
  ),
  -- Leaves, and what is empty: to the original a null or {} of the model is a leaf as well,
  -- which takes what comes in its place.
  old(name, tensor_id, dtype, shape, kind) AS MATERIALIZED (
    SELECT name, tensor_id, dtype, shape, NULL FROM leaf
    WHERE checkpoint_id = :source_id AND tensor_id IS NOT NULL
    UNION ALL
    SELECT name, NULL, NULL, NULL, kind FROM node WHERE checkpoint_id = :source_id
  ),
  new(place, name, dtype, shape, kind) AS MATERIALIZED (
    SELECT place, name, dtype, shape, NULL FROM leaf
    WHERE checkpoint_id = :target_id AND tensor_id IS NOT NULL
    UNION ALL
    SELECT (1 << 59) + row_number() OVER (), name, NULL, NULL, kind FROM node
    WHERE checkpoint_id = :target_id
  ),
  -- Every node of the trees: what stands before the last separator is a leaf's parent.
  old_node(name, leaf) AS MATERIALIZED (
    SELECT '', 0
    UNION
    SELECT name, 1 FROM old
    UNION
    SELECT substr(name, 1, max(length(name)
             - length(regexp_capture('[^/]*\Z', name, 0)) - 1, 0)), 0
    FROM old_node WHERE name <> ''
  ),
  new_node(name) AS MATERIALIZED (
    SELECT ''
    UNION
    SELECT name FROM new
    UNION
    SELECT substr(name, 1, max(length(name)
             - length(regexp_capture('[^/]*\Z', name, 0)) - 1, 0))
    FROM new_node WHERE name <> ''
  ),
  path(ord, turn, late, new_name, new_parent, old_name, new_error, old_error) AS MATERIALIZED (
    SELECT ord, row_number() OVER (ORDER BY late, ord), late, new,
           substr(new, 1, max(length(new) - length(regexp_capture('[^/]*\Z', new, 0)) - 1, 0)),
           kontext_name(replacement),
           kontext_error(pattern), kontext_error(replacement)
    FROM (SELECT *, kontext_name(pattern) AS new,
                 pattern = 'opt_state' OR substr(pattern, 1, 10) = 'opt_state.' AS late
          FROM rule WHERE ruleset = :ruleset AND replacement IS NOT NULL)
  ),
  -- Leaves below a path, and the rest of their names ('' for the path itself).
  model(ord, place, rest, kind) AS MATERIALIZED (
    SELECT p.ord, n.place, substr(n.name, length(p.new_name) + 1 + (p.new_name <> '')), n.kind
    FROM path p JOIN new n
      ON p.new_name = '' OR n.name = p.new_name
      OR substr(n.name, 1, length(p.new_name) + 1) = p.new_name || '/'
  ),
  restored(ord, rest, name) AS MATERIALIZED (
    SELECT p.ord, substr(o.name, length(p.old_name) + 1 + (p.old_name <> '')), o.name
    FROM path p JOIN old o
      ON p.old_name = '' OR o.name = p.old_name
      OR substr(o.name, 1, length(p.old_name) + 1) = p.old_name || '/'
    WHERE o.kind IS NULL
  ),
  -- What an earlier rule of the same phase has put where a path leads through.
  entered(ord, name, turn) AS MATERIALIZED (
    SELECT p.ord,
           q.old_name || substr(p.new_parent, length(q.new_name) + 1 + (q.old_name = '')),
           max(q.turn)
    FROM path p JOIN path q ON q.late = p.late AND q.turn < p.turn AND p.new_name <> ''
      AND (q.new_name = p.new_parent
           OR substr(p.new_parent, 1, length(q.new_name) + 1) = q.new_name || '/')
    GROUP BY p.ord
  ),
  -- Errors of a whole rule, the first that the original meets; and its step: it looks all new
  -- paths up, then old path by old path with what is below it, then writes.
  fault(ord, step, error) AS MATERIALIZED (
    SELECT ord,
           CASE WHEN new_error IS NOT NULL OR new_name NOT IN (SELECT name FROM new_node) THEN 1
                WHEN old_error IS NOT NULL OR old_name NOT IN (SELECT name FROM old_node)
                  OR (new_name <> '' AND ignores) THEN 2
                ELSE 3 END,
           CASE
             WHEN new_error IS NOT NULL THEN new_error
             WHEN new_name NOT IN (SELECT name FROM new_node)
               THEN 'KeyError: Could not find path ''' || kontext_path(new_name)
                 || ''' in the dict object.'
             WHEN old_error IS NOT NULL THEN old_error
             WHEN old_name NOT IN (SELECT name FROM old_node)
               THEN 'KeyError: Could not find path ''' || kontext_path(old_name)
                 || ''' in the dict object.'
             WHEN ignores AND EXISTS (SELECT 1 FROM restored r WHERE r.ord = p.ord)
                  AND EXISTS (SELECT 1 FROM ignored WHERE whose = 'restored' AND filter IS NULL)
               THEN (SELECT error FROM ignored WHERE whose = 'restored' AND filter IS NULL)
             WHEN new_name = ''
               THEN 'ValueError: Error trying to mutate path : Path is empty'
             WHEN e.name IS NULL OR ignores
                  OR e.name IN (SELECT name FROM old_node WHERE NOT leaf)
                  OR e.name IN (SELECT name FROM old WHERE kind = 'dict') THEN NULL
             WHEN e.name IN (SELECT name FROM old WHERE kind IS NULL)
               THEN 'ValueError: Error trying to mutate path ' || kontext_path(new_name)
                 || ': Cannot mutate leaf <class ''int''>. Tried to overwrite key '
                 || python_repr(regexp_capture('[^/]*\Z', new_name, 0))
                 || '. Only dict, list can be recursed into.'
             ELSE 'KeyError: Error trying to mutate path ' || kontext_path(new_name)
               || ': an earlier entry has put a subtree without '
               || python_repr(kontext_path(new_parent)) || ' there'
           END
    FROM path p LEFT JOIN entered e USING (ord) CROSS JOIN option
  ),
  -- What of a restored subtree the model lacks, or is to keep its own of.
  unexpected(ord, name, key, is_ignored) AS MATERIALIZED (
    SELECT ord, name, key, is_ignored
    FROM (SELECT r.ord, r.name, r.rest, kontext_path(r.rest) AS key,
                 EXISTS (SELECT 1 FROM ignored WHERE whose = 'restored'
                         AND regexp_match(filter, kontext_path(r.rest), 'match')) AS is_ignored
          FROM option CROSS JOIN restored r WHERE ignores) r
    WHERE is_ignored OR NOT EXISTS (SELECT 1 FROM model m WHERE m.ord = r.ord
                                    AND m.rest = r.rest AND m.kind IS NULL)
  ),
  -- What a rule does to a leaf of the model, `name` being that of the source. Once keys may be
  -- ignored only leaves are keys; else any node of the source is put there.
  tried(place, ord, turn, step, name, rest, status, error) AS MATERIALIZED (
    SELECT place, ord, turn, (late << 2) + step, name, rest, status,
           CASE
             WHEN error IS NOT NULL THEN error
             WHEN status = 'root'
               THEN 'ValueError: Error trying to mutate path : Path is empty'
             WHEN status = 'absent' AND ignores
                  AND EXISTS (SELECT 1 FROM ignored WHERE whose = 'model' AND filter IS NULL)
               THEN (SELECT error FROM ignored WHERE whose = 'model' AND filter IS NULL)
             WHEN status = 'absent' AND ignores
               THEN 'ValueError: Missing key in restored checkpoint: ' || kontext_path(rest)
                 || '. If you don''t want to load this key, please use a matching pattern '
                 || 'in the `ignore_model_keys` argument.'
           END
    FROM (
      SELECT m.*, f.error, f.step, ignores,
             CASE
               WHEN f.error IS NOT NULL THEN 'fault'
               WHEN u.is_ignored OR (ignores AND m.kind IS NOT NULL) THEN 'own'
               WHEN o.tensor_id IS NOT NULL AND ignores AND m.rest = '' THEN 'root'
               WHEN o.name IS NOT NULL AND NOT (ignores AND o.kind IS NOT NULL) THEN 'mapped'
               WHEN ignores AND EXISTS (
                      SELECT 1 FROM ignored WHERE whose = 'model'
                      AND regexp_match(filter, kontext_path(m.rest), 'match'))
                    AND NOT EXISTS (SELECT 1 FROM ignored WHERE whose = 'model'
                                    AND filter IS NULL) THEN 'own'
               WHEN NOT ignores AND m.name IN (SELECT name FROM old_node) THEN 'grown'
               ELSE 'absent'
             END AS status
      FROM (SELECT m.*, p.turn, p.late,
                   p.old_name || iif(p.old_name = '' OR m.rest = '', '', '/') || m.rest AS name
            FROM model m JOIN path p ON p.ord = m.ord) m
      JOIN fault f ON f.ord = m.ord
      CROSS JOIN option
      LEFT JOIN old o ON o.name = m.name
      LEFT JOIN unexpected u ON u.ord = m.ord AND u.name = m.name)
  ),
  -- The first error, else the rule that comes last. That the source lacks a leaf (without
  -- `error` so far) shows when a phase is over, if no later rule of it has put one there.
  last(place, ord, name, status, error) AS MATERIALIZED (
    SELECT place, ord, name, status, error
    FROM (
      SELECT *, row_number() OVER (PARTITION BY place ORDER BY NOT fails,
                  iif(fails, (step << 32) + turn, -turn)) AS n
      FROM (SELECT *, error IS NOT NULL OR (status = 'absent' AND turn = max(turn)
                        OVER (PARTITION BY place, step >> 2)) AS fails FROM tried))
    WHERE n = 1
  ),
  -- Where the source lacks a leaf: up to what it has.
  climb(place, path, part) AS (
    SELECT place, name, NULL FROM last WHERE status = 'absent' AND error IS NULL
    UNION ALL
    SELECT place,
           substr(path, 1, max(length(path) - length(regexp_capture('[^/]*\Z', path, 0)) - 1, 0)),
           regexp_capture('[^/]*\Z', path, 0)
    FROM climb WHERE path NOT IN (SELECT name FROM old_node)
  ),
  absent(place, error) AS MATERIALIZED (
    SELECT place,
           CASE WHEN path IN (SELECT name FROM old WHERE kind IS NULL)
                  THEN 'TypeError: ''int'' object is not subscriptable'
                WHEN path IN (SELECT name FROM old WHERE kind = 'null')
                  THEN 'TypeError: ''NoneType'' object is not subscriptable'
                ELSE 'KeyError: ' || python_repr(part) END
    FROM climb WHERE path IN (SELECT name FROM old_node)
  ),
  entry(place, part, name, old_name, tensor_id, dtype, shape, rule, status, error, note)
  AS MATERIALIZED (
    SELECT n.place, 0, n.name, iif(t.status = 'mapped', t.name, NULL), o.tensor_id, o.dtype,
           o.shape, t.ord,
           CASE WHEN t.status = 'own' THEN 'missing'
                WHEN t.status <> 'mapped' OR n.shape <> o.shape THEN 'error'
                ELSE 'mapped' END,
           CASE WHEN n.shape <> o.shape THEN
             'ValueError: Requested shape: ' || python_shape(n.shape)
             || ' is not compatible with the stored shape: ' || python_shape(o.shape)
             || '. Truncating/padding is disabled.'
             ELSE ifnull(t.error, a.error) END,
           CASE WHEN t.status = 'own' THEN 'ignored: the model keeps its own'
                WHEN n.kind IS NOT NULL OR o.kind IS NOT NULL
                  THEN 'of model and source one is empty here: the structure changes'
                WHEN n.dtype <> o.dtype THEN 'cast to ' || n.dtype END
    FROM new n JOIN last t ON t.place = n.place
    LEFT JOIN old o ON o.name = t.name AND t.status = 'mapped'
    LEFT JOIN absent a ON a.place = n.place
    WHERE t.status <> 'grown'
      AND (n.kind IS NULL OR t.status NOT IN ('own', 'mapped') OR o.tensor_id IS NOT NULL)
    UNION ALL
    -- A subtree of the source where the model has a leaf.
    SELECT n.place, 1,
           n.name || '/' || substr(o.name, length(t.name) + 1 + (t.name <> '')), o.name,
           o.tensor_id, o.dtype, o.shape, t.ord, 'mapped', NULL,
           'the model has a leaf here: its structure changes'
    FROM last t JOIN new n ON n.place = t.place
    JOIN old o ON o.kind IS NULL
      AND (t.name = '' OR substr(o.name, 1, length(t.name) + 1) = t.name || '/')
    WHERE t.status = 'grown'
    UNION ALL
    SELECT place, 0, name, NULL, NULL, NULL, NULL, NULL, 'missing', NULL, NULL
    FROM new WHERE kind IS NULL AND place NOT IN (SELECT place FROM last)
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
