-- state_adafactor.sql - the state of T5X's Adafactor, alone or as the parts of a
-- MultiOptimizer: names, shapes and dtypes as they are stored. What the original raises is a
-- row with `error`, in the order in which it would come to it.
WITH
  given(spec, checkpoint) AS MATERIALIZED (SELECT :spec, :checkpoint),
  param(name, shape, dtype, turn) AS MATERIALIZED (
    SELECT name, shape, dtype, turn FROM optimizer_params((SELECT checkpoint FROM given))
  ),
  -- The parts of a MultiOptimizer, or the one optimizer there is.
  part(part, filter, args, axes, form) AS MATERIALIZED (
    SELECT m.key, m.value -> 'filter', m.value -> 'optimizer' -> 'adafactor',
           ifnull(m.value -> 'optimizer' -> 'axes', spec -> 'axes'),
           (SELECT group_concat(key, ', ') FROM json_each(m.value, '$.optimizer')
            WHERE key <> 'axes')
    FROM given JOIN json_each(spec, '$.multi') m
    UNION ALL
    SELECT 0, NULL, spec -> 'adafactor', spec -> 'axes', 'adafactor'
    FROM given WHERE spec -> 'multi' IS NULL
  ),
  selected(part, name, error) AS MATERIALIZED (
    SELECT filter, name, error
    FROM optimizer_filter((SELECT json_group_array(json(ifnull(filter, 'null')))
                           FROM (SELECT filter FROM part ORDER BY part)),
                          (SELECT checkpoint FROM given))
    WHERE EXISTS (SELECT 1 FROM part WHERE filter IS NOT NULL)
  ),
  owner(name, part) AS MATERIALIZED (
    SELECT name, part FROM selected WHERE error IS NULL
    UNION ALL
    SELECT p.name, o.part FROM param p CROSS JOIN part o
    WHERE o.filter IS NULL AND (SELECT spec -> 'multi' FROM given) IS NULL
  ),
  argument(name) AS (
    VALUES ('learning_rate'), ('factored'), ('multiply_by_parameter_scale'), ('beta1'),
           ('decay_rate'), ('step_offset'), ('clipping_threshold'), ('weight_decay_rate'),
           ('min_dim_size_to_factor'), ('epsilon1'), ('epsilon2'), ('dtype_momentum'),
           ('factor_map'), ('logical_factor_rules'), ('weight_decay_rate_lr_exponent'),
           ('global_norm_clip_threshold'), ('max_parameter_scale'), ('skip_nan_updates')
  ),
  word(text, word, enum) AS (
    VALUES ('row', 'ROW', '<FactorDim.ROW: 2>'),
           ('column', 'COLUMN', '<FactorDim.COLUMN: 3>'), ('col', 'COLUMN', ''),
           ('batch', 'BATCH', '<FactorDim.BATCH: 1>'),
           ('none', 'NONE', '<FactorDim.NONE: None>'), ('unfactorized', 'NONE', '')
  ),

  -- What is wrong before there is a parameter to look at.
  fault(turn, error) AS MATERIALIZED (
    SELECT part, error FROM selected WHERE error IS NOT NULL
    UNION ALL
    SELECT part, 'a part of "multi" has no "filter"' FROM part
    WHERE filter IS NULL AND (SELECT spec -> 'multi' FROM given) IS NOT NULL
    UNION ALL
    SELECT part, CASE WHEN form = 'optax'
      THEN 'AssertionError: expected (frozen)dict; got <class ''tuple''>'
      ELSE 'a part of "multi" has the optimizer ' || ifnull(python_repr(form), 'null')
        || ', which is not adafactor' END
    FROM part WHERE form IS NOT 'adafactor'
    UNION ALL
    SELECT part, 'TypeError: Adafactor.__init__() got an unexpected keyword argument '
      || python_repr(x.key)
    FROM part JOIN json_each(args) x WHERE x.key NOT IN (SELECT name FROM argument)
    UNION ALL
    SELECT part, 'ValueError: Adafactor factored is False but factorization rules have '
      || 'been provided.' FROM part
    WHERE NOT ifnull(args ->> 'factored', 1) AND args ->> 'factor_map' IS NOT NULL
    UNION ALL
    SELECT part, 'KeyError: ' || python_repr(lower(x.value))
    FROM part JOIN json_each(args, '$.logical_factor_rules') x
    WHERE json_type(args, '$.logical_factor_rules') = 'object'
      AND lower(x.value) NOT IN (SELECT text FROM word)
    UNION ALL
    SELECT part, 'logical_factor_rules ' || (args -> 'logical_factor_rules')
      || ' is neither "standard" nor {axis: word}'
    FROM part WHERE json_type(args, '$.logical_factor_rules') NOT IN ('object', 'null')
      AND args ->> 'logical_factor_rules' <> 'standard'
    UNION ALL
    SELECT part, 'factor_map has ' || x.value || ', which is no [regex, rule]: a rule is '
      || 'null, "heuristic" or a list of "ROW", "COLUMN", "BATCH" and "NONE"'
    FROM part JOIN json_each(args, '$.factor_map') x
    WHERE x.type <> 'array' OR json_type(x.value, '$[0]') IS NOT 'text'
       OR json_array_length(x.value) <> 2
       OR NOT CASE json_type(x.value, '$[1]') WHEN 'null' THEN 1
            WHEN 'text' THEN lower(x.value ->> 1) = 'heuristic'
            WHEN 'array' THEN NOT EXISTS (SELECT 1 FROM json_each(x.value, '$[1]') w
                   WHERE ifnull(lower(w.value), '') NOT IN (SELECT text FROM word))
            ELSE 0 END
  ),

  -- A parameter that several parts select: the error shows the parts of all, as a tree.
  piece(turn, k, path, text, last) AS MATERIALIZED (
    SELECT p.turn, x.key,
           group_concat(x.value, '/') OVER (PARTITION BY p.turn ORDER BY x.key), x.value,
           x.key = max(x.key) OVER (PARTITION BY p.turn)
    FROM param p
    JOIN json_each('[' || replace(json_quote(p.name), '/', '","') || ']') x
    WHERE (SELECT count(*) FROM owner) > (SELECT count(DISTINCT name) FROM owner)
  ),
  branch(turn, k, text, opens, closes) AS MATERIALIZED (
    SELECT a.turn, a.k, a.text,
           NOT EXISTS (SELECT 1 FROM piece b WHERE b.turn = a.turn - 1 AND b.k = a.k
                       AND b.path = a.path),
           NOT EXISTS (SELECT 1 FROM piece b WHERE b.turn = a.turn + 1 AND b.k = a.k
                       AND b.path = a.path)
    FROM piece a WHERE NOT last
  ),
  overlap(error) AS MATERIALIZED (
    SELECT 'ValueError: Multiple optimizers match the same leaves : {'
           || group_concat(line, ', ') || '}'
    FROM (
      SELECT (SELECT ifnull(group_concat(text, ''), '') FROM (
                SELECT python_repr(text) || ': {' AS text FROM branch b
                WHERE b.turn = p.turn AND opens ORDER BY k))
             || python_repr(l.text) || ': ['
             || (SELECT ifnull(group_concat(part, ', '), '') FROM (
                  SELECT part FROM owner o WHERE o.name = p.name ORDER BY part))
             || ']' || (SELECT ifnull(group_concat('}', ''), '') FROM branch b
                        WHERE b.turn = p.turn AND closes) AS line
      FROM param p JOIN piece l ON l.turn = p.turn AND l.last
      ORDER BY p.turn)
    HAVING count(*) > 0
  ),

  -- Where axes are given the rules on them take the factor_map's place, and each axis is looked
  -- up before a parameter is.
  standard(axis, word) AS (
    VALUES ('vocab', 'COLUMN'), ('mlp', 'COLUMN'), ('heads', 'COLUMN'), ('kv', 'COLUMN'),
           ('joined_kv', 'COLUMN'), ('q_wi_fused', 'COLUMN'), ('o_wo_fused', 'COLUMN'),
           ('multiquery_heads', 'COLUMN'), ('kv_fused', 'COLUMN'),
           ('mlp_activations', 'COLUMN'), ('embed', 'ROW'), ('relpos_buckets', 'NONE'),
           ('layer_norm_scale', 'NONE'), ('layers', 'BATCH'), ('stack', 'BATCH')
  ),
  owned(name, shape, turn, part, args, axes, rules) AS MATERIALIZED (
    SELECT p.name, p.shape, p.turn, t.part, t.args,
           (SELECT x.value FROM json_each(t.axes) x WHERE x.key = p.name),
           iif(t.axes <> '{}' AND t.args ->> 'logical_factor_rules' IS NOT NULL,
               t.args -> 'logical_factor_rules', NULL)
    FROM param p LEFT JOIN owner o ON o.name = p.name LEFT JOIN part t ON t.part = o.part
  ),
  axis(name, turn, axes, words) AS MATERIALIZED (
    SELECT name, turn, axes,
           (SELECT json_group_array(
              iif(rules = '"standard"', (SELECT word FROM standard WHERE axis = x.value),
                  (SELECT w.word FROM json_each(rules) y JOIN word w ON w.text = lower(y.value)
                   WHERE y.key = x.value)))
            FROM json_each(axes) x)
    FROM owned WHERE rules IS NOT NULL AND axes IS NOT NULL
  ),
  trouble(turn, error) AS MATERIALIZED (
    SELECT turn, error FROM fault
    UNION ALL
    SELECT 1 << 30, error FROM overlap
    UNION ALL
    SELECT (1 << 31) + turn,
           iif(instr(words, 'null'),
               (SELECT 'KeyError: ' || python_repr(axes ->> x.key) FROM json_each(words) x
                WHERE x.value IS NULL ORDER BY x.key LIMIT 1),
               (SELECT 'ValueError: Incomplete adafactor spec ('
                  || group_concat(w.enum, ', ') || ') for P('
                  || group_concat(python_repr(axes ->> x.key), ', ') || ')!'
                FROM json_each(words) x JOIN word w ON w.word = x.value AND w.enum <> ''))
    FROM axis
    WHERE instr(words, 'null')
       OR (instr(words, 'ROW') AND instr(words, 'COLUMN') AND instr(words, 'NONE'))
    ORDER BY 1
  ),

  -- Each parameter with what decides how it is factored, step by step. (A CTE is expanded
  -- wherever it is named: each of these names the one before it, once.)
  -- A word for each axis, or for each dimension of the first rule whose regex hits; a text
  -- is a rule for all dimensions.
  worded AS MATERIALIZED (
    SELECT o.*,
           CASE
             WHEN NOT ifnull(args ->> 'factored', 1) THEN '"none"'
             WHEN rules IS NOT NULL THEN a.words
             WHEN args ->> 'factor_map' IS NULL THEN '"heuristic"'
             ELSE (SELECT CASE json_type(m.value, '$[1]') WHEN 'null' THEN '"none"'
                     WHEN 'text' THEN '"heuristic"'
                     ELSE (SELECT json_group_array(w.word) FROM json_each(m.value, '$[1]') x
                           JOIN word w ON w.text = lower(x.value)) END
                   FROM json_each(args, '$.factor_map') m
                   WHERE regexp(m.value ->> 0, o.name) ORDER BY m.key LIMIT 1)
           END AS words
    FROM owned o LEFT JOIN axis a ON a.name = o.name
    WHERE NOT EXISTS (SELECT 1 FROM trouble)
  ),
  -- Parameters share shapes: how they factor is worked out once for each.
  factor(shape, rank, largest, second) AS MATERIALIZED (
    SELECT shape, json_array_length(shape),
           (SELECT key FROM json_each(p.shape) ORDER BY value DESC, key DESC LIMIT 1),
           (SELECT key FROM json_each(p.shape) ORDER BY value DESC, key DESC
            LIMIT 1 OFFSET 1)
    FROM (SELECT DISTINCT shape FROM param) p
  ),
  listed AS MATERIALIZED (
    SELECT w.*,
           CASE
             WHEN part IS NULL THEN NULL
             WHEN rules IS NULL OR words = '"none"' THEN
               iif(words IS NULL, 'KeyError: ' || python_repr('No factor rule found for '
                 || 'parameter: ' || name), NULL)
             WHEN axes IS NULL THEN 'KeyError: ' || python_repr(name)
           END AS error,
           -- Half a rule is none.
           iif(rules IS NOT NULL AND (instr(words, 'ROW') = 0 OR instr(words, 'COLUMN') = 0),
               replace(replace(words, 'ROW', 'NONE'), 'COLUMN', 'NONE'), words) AS rule,
           f.rank, f.largest, f.second
    FROM worded w LEFT JOIN factor f ON f.shape = w.shape
  ),
  way AS MATERIALIZED (
    SELECT *,
           CASE
             WHEN shape IS NULL THEN 'unknown'
             WHEN rule = '"none"' THEN 'none'
             WHEN rule = '"heuristic"' OR (rank <= 2 AND instr(rule, 'BATCH') = 0)
               THEN iif(rank < 2 OR shape ->> second
                                    < ifnull(args ->> 'min_dim_size_to_factor', 128),
                        'none', 'heuristic')
             WHEN instr(rule, 'ROW') = 0 AND instr(rule, 'COLUMN') = 0 THEN 'none'
             ELSE 'words'
           END AS way,
           CASE
             WHEN error IS NOT NULL OR part IS NULL THEN error
             WHEN rule = '"heuristic"' AND rank > 2
               THEN 'ValueError: A parameter with rank strictly higher than 2 must have an '
                 || 'explicit factorization rule: ' || name || ', ' || python_shape(shape)
             WHEN json_type(rule) = 'array' AND json_array_length(rule) <> rank
               THEN 'ValueError: Factorization rule ('
                 || (SELECT ifnull(group_concat(w.enum, ', '), '') FROM json_each(rule) x
                     JOIN word w ON w.word = x.value AND w.enum <> '')
                 || iif(json_array_length(rule) = 1, ',)', ')')
                 || ' has incorrect rank for param of rank ' || rank || ': ' || name
                 || ', ' || python_shape(shape)
           END AS fault
    FROM listed
  ),
  slot(slot, drops, beside) AS ( -- the dimension and the word that a factor leaves out
    VALUES ('v_row', 'largest', 'COLUMN'), ('v_col', 'second', 'ROW'), ('v', NULL, NULL),
           ('m', NULL, NULL)
  ),
  state AS MATERIALIZED (
    SELECT w.name || ifnull('/' || s.slot, '') AS name,
           CASE
             WHEN s.slot IS NULL THEN NULL
             WHEN s.slot = 'm' THEN iif(w.args ->> 'beta1' IS NULL, '[1]', w.shape)
             WHEN w.way = 'unknown' THEN NULL
             WHEN s.slot = 'v' THEN iif(w.way = 'none', w.shape, '[1]')
             WHEN w.way = 'none' THEN '[1]'
             ELSE (SELECT json_group_array(x.value) FROM json_each(w.shape) x
                   WHERE iif(w.way = 'words', w.rule ->> x.key <> s.beside,
                             x.key <> iif(s.drops = 'largest', w.largest, w.second)))
           END AS shape,
           CASE WHEN s.slot = 'm' AND w.args ->> 'beta1' IS NOT NULL
                  THEN replace(ifnull(w.args ->> 'dtype_momentum', 'float32'), 'float64', 'float32')
                WHEN s.slot IS NOT NULL THEN 'float32' END AS dtype,
           CASE s.slot WHEN 'v' THEN iif(w.way = 'none' AND w.shape <> '[1]', w.axes, NULL)
                       WHEN 'm' THEN iif(w.args ->> 'beta1' <> 0, w.axes, NULL) END AS axes,
           w.fault AS error, ifnull(w.part, 1 << 30) AS part, w.turn
    FROM way w LEFT JOIN slot s ON w.fault IS NULL AND w.part IS NOT NULL
  )
SELECT name, shape, dtype, axes, error
FROM (
  SELECT NULL AS name, NULL AS shape, NULL AS dtype, NULL AS axes, error, -1 AS part, turn
  FROM trouble
  UNION ALL
  SELECT 'state/step', '[]', 'int32', NULL, NULL, -1, 0
  WHERE NOT EXISTS (SELECT 1 FROM trouble)
  UNION ALL
  -- What no part owns has null as its state: a name, and nothing else.
  SELECT 'state/param_states/' || name, shape, dtype, axes, error, part, turn FROM state
)
ORDER BY part, turn
