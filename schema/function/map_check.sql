-- map_check.sql - map_check(ruleset, source[, target]): what may be wrong with a map before a byte
-- moves. A row a finding: its kind, the rule (ord; NULL: the whole map), how many names it
-- concerns and the first 20 of them as JSON, what it means and what to do.
WITH
  given(ruleset, source, target) AS (SELECT :ruleset, :source, $target),
  option(dialect, renames, required, restores, strict) AS MATERIALIZED (
    SELECT dialect, dialect IN ('t5x-translator', 'convert'),
           dialect = 't5x-assignment' AND ifnull(options ->> 'require_all', 1),
           ifnull(options ->> 'restore', 0), options ->> 'mode' IS 'strict'
    FROM ruleset WHERE name = (SELECT ruleset FROM given)
  ),
  -- What the map does, in one form for all dialects.
  mapping(place, old_name, new_name, tensor_id, dtype, shape, rule, status, error, note, wins,
          part) AS MATERIALIZED (
    SELECT ord, old_name, new_name, iif(is_tensor, 1, NULL), dtype, shape, rule, status,
           error, NULL, wins, NULL
    FROM option CROSS JOIN translation_rows((SELECT ruleset FROM given))
    WHERE dialect = 't5x-translator' AND checkpoint_id = (SELECT source FROM given)
    UNION ALL
    SELECT row_number() OVER (), old_name, new_name, tensor_id, dtype, shape, rule, status,
           error, note, 1, NULL
    FROM option CROSS JOIN assignment_rows((SELECT ruleset FROM given),
      (SELECT source FROM given), (SELECT target FROM given))
    WHERE NOT renames
    UNION ALL
    SELECT place, old_name, new_name, tensor_id, dtype, shape, rule, status, error, note, 1,
           part + nth
    FROM option CROSS JOIN conversion_rows((SELECT ruleset FROM given),
      (SELECT source FROM given))
    WHERE dialect = 'convert'
  ),
  result(place, old_name, new_name, tensor_id, dtype, shape, rule, status, wins, part)
  AS MATERIALIZED (
    SELECT place, old_name, new_name, tensor_id, dtype, shape, rule, status, wins, part
    FROM mapping WHERE status IN ('ok', 'mapped', 'kept')
  ),
  tried(place, name) AS ( -- the names that the patterns are for
    SELECT place, iif(renames, old_name, new_name)
    FROM result CROSS JOIN option WHERE dialect <> 'kauldron'
  ),
  model(place, name, tensor_id, dtype, shape) AS MATERIALIZED (
    SELECT place, name, tensor_id, dtype, shape FROM leaf
    WHERE checkpoint_id = (SELECT target FROM given)
  ),
  used(rule) AS MATERIALIZED (
    SELECT DISTINCT rule FROM mapping WHERE rule IS NOT NULL
  ),
  asked(name) AS MATERIALIZED ( -- the names that patterns are tried on, some of them
    SELECT name FROM (
      SELECT old_name AS name FROM mapping CROSS JOIN option
      WHERE renames
      UNION ALL
      SELECT name FROM model CROSS JOIN option WHERE NOT renames)
    LIMIT 1000
  ),
  -- Names in a row: below `a`, in the order of name || '/', come first those under it.
  below(name, following) AS MATERIALIZED (
    SELECT new_name, lead(new_name) OVER (ORDER BY new_name || '/')
    FROM (SELECT DISTINCT new_name FROM result)
  ),
  -- What a torch module's wrappers put before its names, at the beginning and further in.
  wrapped(name) AS (
    VALUES ('(^module|(^|[./])(_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module'
            || '|_forward_module))[./]')
  ),
  twice(twice) AS ( -- up to three components that stand there again
    VALUES ('(?:^|[./])((?=[^./]*[A-Za-z])[^./]+(?:[./][^./]+){0,2})[./]\1(?=[./]|$)')
  ),
  -- Modules of old names (what is before the last separator) that others have left.
  moved(module, example) AS MATERIALIZED (
    SELECT rtrim(old_name, replace(replace(old_name, '/', ''), '.', '')) AS module,
           min(old_name || ' becomes ' || new_name)
    FROM result CROSS JOIN option
    WHERE renames AND new_name <> old_name
      AND module <> rtrim(new_name, replace(replace(new_name, '/', ''), '.', ''))
    GROUP BY module
  ),
  suffix(suffix, names) AS MATERIALIZED ( -- of the names that no rule matches
    SELECT substr(old_name, 1 + length(rtrim(old_name,
             replace(replace(old_name, '/', ''), '.', '')))), count(*)
    FROM mapping WHERE status = 'unmatched' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5
  ),
  -- Rules that would fail if a name came to them. What steps name is no group of the pattern.
  broken(rule, error) AS MATERIALIZED (
    SELECT ord, regexp_error(pattern, ifnull(regexp_replace(
             '(?<!\\)((?:\\\\)*)\\g<(?:' || steps || ')>', replacement, '\1'), replacement))
    FROM (SELECT ord, replacement,
                 pattern || iif(dialect = 't5x-translator', '$', '') AS pattern,
                 (SELECT group_concat(value ->> 0, '|') FROM json_each(compute)
                  WHERE value ->> 0 NOT GLOB '*[^A-Za-z0-9_]*') AS steps
          FROM rule CROSS JOIN option
          WHERE ruleset = (SELECT ruleset FROM given) AND dialect <> 'kauldron')
    WHERE ord NOT IN (SELECT rule FROM mapping WHERE status = 'error' AND rule IS NOT NULL)
  ),
  -- Where names differ in numbers alone, one stands for all.
  folded(old_name, new_name, place, old_example, example) AS MATERIALIZED (
    SELECT regexp_replace('\d+', old_name, '#'), regexp_replace('\d+', new_name, '#'),
           min(place), old_name, new_name
    FROM result WHERE tensor_id IS NOT NULL AND new_name <> old_name
    GROUP BY 1, 2 LIMIT 500
  ),
  word(old_name, new_name, side, word) AS MATERIALIZED (
    SELECT DISTINCT f.old_name, f.new_name, 'old', w.value
    FROM folded f
    JOIN json_each('["' || regexp_replace('[^A-Za-z0-9#]+', f.old_name, '","') || '"]') w
    UNION ALL
    SELECT DISTINCT f.old_name, f.new_name, 'new', w.value
    FROM folded f
    JOIN json_each('["' || regexp_replace('[^A-Za-z0-9#]+', f.new_name, '","') || '"]') w
  ),
  alone(old_name, new_name, side, word) AS MATERIALIZED ( -- on one side of a name
    SELECT old_name, new_name, max(side), word FROM word
    GROUP BY old_name, new_name, word HAVING count(*) = 1
  ),
  -- One word gives way to another, and elsewhere in the same place that one to it.
  crossed(place, name, detail) AS MATERIALIZED (
    SELECT f.place, f.example, 'from ' || f.old_example || ', while ' || b.old_example
           || ' becomes ' || b.example
    FROM folded f
    JOIN alone x ON x.old_name = f.old_name AND x.new_name = f.new_name AND x.side = 'old'
    JOIN alone y ON y.old_name = f.old_name AND y.new_name = f.new_name AND y.side = 'new'
    JOIN folded b
      ON b.old_name = regexp_replace('(?<![A-Za-z0-9])' || x.word || '(?![A-Za-z0-9])',
                                     f.old_name, y.word)
     AND b.new_name = regexp_replace('(?<![A-Za-z0-9])' || y.word || '(?![A-Za-z0-9])',
                                     f.new_name, x.word)
  ),
  -- What rules do to tensors: move their axes, or put several together in an order.
  doing(rule, moves, joins, changes) AS MATERIALIZED (
    SELECT ord, max(o.value ->> 0 IN ('transpose', 'permute')),
           max(o.value ->> 0 IN ('concat', 'split')), max(o.value ->> 0 <> 'cast')
    FROM rule JOIN json_each(ops) o
    WHERE ruleset = (SELECT ruleset FROM given) AND o.type = 'array' GROUP BY ord
  ),
  -- Matrices that were turned, or that look the same turned; the last components of their names.
  matrix(place, rule, old_name, new_name, shape, moved, old_word, new_word)
  AS MATERIALIZED (
    SELECT place, r.rule, old_name, new_name, shape, ifnull(d.moves, 0) AS moved,
           substr(old_name, 1 + length(rtrim(old_name,
             replace(replace(old_name, '/', ''), '.', '')))),
           substr(new_name, 1 + length(rtrim(new_name,
             replace(replace(new_name, '/', ''), '.', ''))))
    FROM result r LEFT JOIN doing d ON d.rule = r.rule
    WHERE (moved OR shape = json_array(shape ->> 0, shape ->> 0)) AND shape <> '[1,1]'
      AND new_name <> old_name
  ),
  square(place, rule, old_name, new_name, moved, old_word, new_word) AS MATERIALIZED (
    SELECT place, rule, old_name, new_name, moved, old_word, new_word FROM matrix
    WHERE shape = json_array(shape ->> 0, shape ->> 0)
  ),
  turned(old_word, new_word, example) AS MATERIALIZED (
    SELECT old_word, new_word, 'rule ' || rule || ' does so with ' || min(old_name)
    FROM matrix WHERE moved GROUP BY old_word, new_word
  ),
  dotted(name, same) AS MATERIALIZED (
    SELECT replace(new_name, '/', '.'), count(DISTINCT new_name) FROM result
    GROUP BY 1 HAVING count(DISTINCT new_name) > 1
  ),
  finding(kind, rule, place, name, detail) AS (
    SELECT 'unmatched', NULL, place, old_name,
           (SELECT 'they end in ' || group_concat(suffix || ' (' || names || ')', ', ')
            FROM suffix)
    FROM mapping WHERE status = 'unmatched'
    UNION ALL
    SELECT 'error', rule, place, ifnull(new_name, old_name), error FROM mapping
    WHERE status = 'error'
    UNION ALL
    SELECT 'collision', r.rule, r.place, r.old_name, w.old_name || ' becomes ' || r.new_name
      || ' too, and is the one that is kept'
    FROM result r JOIN result w ON w.new_name = r.new_name AND w.wins
    WHERE NOT r.wins
    UNION ALL
    SELECT 'prefix', NULL, 0, name, 'for example ' || following FROM below
    WHERE substr(following, 1, length(name) + 1) = name || '/'
    UNION ALL
    SELECT 'undone', rule, place, new_name, note FROM mapping
    WHERE status = 'dropped' AND note GLOB 'undone*'
    UNION ALL
    SELECT 'hidden', rule, place, new_name, note FROM mapping
    WHERE status = 'dropped' AND note GLOB 'hidden*'
    UNION ALL
    SELECT 'one-to-many', NULL, min(place), old_name,
           'for example ' || min(new_name) || ' and ' || max(new_name)
    FROM result WHERE tensor_id IS NOT NULL GROUP BY old_name
    HAVING count(DISTINCT new_name) > 1
    UNION ALL
    -- (One for whatever is left may find nothing left.)
    SELECT iif(detail IS NULL OR pattern IN ('.*', '(.*)', '(?s:.*)', '(?s:(.*))'), 'unused',
               'shadowed'), ord, 0, NULL, detail
    FROM (
      SELECT u.ord, u.pattern,
             (SELECT 'rule ' || rule_match(u.ruleset, name) || ' matches ' || name || ' first'
              FROM asked WHERE rule_status(u.ruleset, name, u.ord) <> 'unmatched' LIMIT 1)
               AS detail
      FROM rule u CROSS JOIN option
      WHERE u.ruleset = (SELECT ruleset FROM given) AND dialect <> 'kauldron'
        AND u.ord NOT IN (SELECT rule FROM used)
    )
    UNION ALL
    SELECT 'broken', rule, 0, NULL, error FROM broken WHERE error IS NOT NULL
    UNION ALL
    SELECT 'dropped', rule, place, old_name, NULL FROM mapping CROSS JOIN option
    WHERE status = 'dropped' AND renames AND tensor_id IS NOT NULL
    UNION ALL
    SELECT 'wrapped', rule, place, new_name, 'from ' || old_name
    FROM result CROSS JOIN wrapped w
    WHERE tensor_id IS NOT NULL AND new_name REGEXP w.name AND old_name REGEXP w.name
      AND new_name NOT IN (SELECT name FROM model)
    UNION ALL
    SELECT 'doubled', rule, place, new_name, 'from ' || old_name
    FROM result CROSS JOIN twice t
    WHERE new_name <> old_name AND new_name REGEXP t.twice AND NOT old_name REGEXP t.twice
      AND new_name NOT IN (SELECT name FROM model)
    UNION ALL
    SELECT 'left-behind', rule, place, old_name, 'for example ' || m.example
    FROM result JOIN moved m
      ON m.module = rtrim(old_name, replace(replace(old_name, '/', ''), '.', ''))
    WHERE new_name = old_name AND tensor_id IS NOT NULL
    UNION ALL
    SELECT 'crossed', NULL, place, name, detail FROM crossed
    UNION ALL
    SELECT 'duplicate-pattern', r.ord, 0, NULL,
           'rule ' || (SELECT min(ord) FROM rule o
                       WHERE o.ruleset = r.ruleset AND o.pattern = r.pattern) || ' has it too'
    FROM rule r
    WHERE r.ruleset = (SELECT ruleset FROM given)
      AND EXISTS (SELECT 1 FROM rule o WHERE o.ruleset = r.ruleset
                  AND o.pattern = r.pattern AND o.ord < r.ord)
    UNION ALL
    SELECT 'missing', NULL, place, new_name, NULL FROM mapping WHERE status = 'missing'
    UNION ALL
    SELECT 'missing', NULL, place, name, NULL FROM model CROSS JOIN option
    WHERE renames AND NOT restores AND tensor_id IS NOT NULL
      AND name NOT IN (SELECT new_name FROM result)
    UNION ALL
    SELECT 'not-in-model', r.rule, r.place, r.new_name, NULL
    FROM result r CROSS JOIN given
    WHERE target IS NOT NULL AND r.new_name NOT IN (SELECT name FROM model)
    UNION ALL
    SELECT 'left-out', NULL, l.place, l.name, NULL
    FROM leaf l CROSS JOIN option
    WHERE l.checkpoint_id = (SELECT source FROM given) AND NOT renames
      AND l.tensor_id IS NOT NULL
      AND l.name NOT IN (SELECT old_name FROM result WHERE old_name IS NOT NULL)
    UNION ALL
    SELECT 'shape', r.rule, r.place, r.new_name, 'from ' || r.old_name || ' ' || r.shape
      || ', the model has ' || m.shape
    FROM result r JOIN model m ON m.name = r.new_name WHERE m.shape <> r.shape
    UNION ALL
    SELECT 'dtype', r.rule, r.place, r.new_name, 'from ' || r.old_name || ' ' || r.dtype
      || ', the model has ' || m.dtype
    FROM result r JOIN model m ON m.name = r.new_name WHERE m.dtype <> r.dtype
    UNION ALL
    SELECT 'ambiguous', NULL, r.place, r.new_name, NULL
    FROM dotted d JOIN result r ON replace(r.new_name, '/', '.') = d.name
    UNION ALL
    SELECT 'again', rule_match(ruleset, r.new_name), r.place, r.new_name,
           'would become ' || rule_replace(ruleset, r.new_name)
    FROM given CROSS JOIN option CROSS JOIN result r
    WHERE renames
      AND rule_status(ruleset, r.new_name) = 'ok'
      AND rule_replace(ruleset, r.new_name) <> r.new_name
    UNION ALL
    -- The rule keeps the name, so that nothing tells what was done already.
    SELECT 'again', r.rule, r.place, r.new_name, 'its axes would be moved again'
    FROM given CROSS JOIN option CROSS JOIN doing d CROSS JOIN result r ON r.rule = d.rule
    WHERE renames AND d.moves AND rule_replace(ruleset, r.new_name) = r.new_name
      AND rule_match(ruleset, r.new_name) = r.rule
    UNION ALL
    SELECT 'not-turned', s.rule, place, new_name,
           'from ' || s.old_name || '; ' || ifnull(t.example,
             'others keep "kernel" the other way round than "weight"')
    FROM square s LEFT JOIN turned t USING (old_word, new_word)
    WHERE NOT moved AND (t.example IS NOT NULL OR old_word || ' ' || new_word
      IN ('weight kernel', 'kernel weight'))
    UNION ALL
    SELECT 'square', s.rule, place, new_name, 'from ' || old_name FROM square s
    WHERE moved AND s.rule NOT IN (
      SELECT r.rule FROM result r JOIN doing d ON d.rule = r.rule
      WHERE d.moves AND r.new_name IN (SELECT name FROM model)
        AND r.new_name NOT IN (SELECT new_name FROM square))
    UNION ALL
    SELECT 'order', NULL, place, name, 'for example ' || parts
    FROM (
      SELECT place, new_name AS name, group_concat(old_name, ', ') AS parts
      FROM (SELECT r.place, r.part, r.new_name, r.old_name, l.shape
            FROM result r JOIN doing d ON d.rule = r.rule
            JOIN leaf l ON l.checkpoint_id = (SELECT source FROM given) AND l.name = r.old_name
            WHERE d.joins AND part IS NOT NULL ORDER BY r.new_name, r.part)
      GROUP BY new_name HAVING count(DISTINCT shape) < count(*)
      UNION ALL
      SELECT place, old_name, group_concat(new_name, ', ')
      FROM (SELECT r.place, r.new_name, r.old_name, r.shape
            FROM result r JOIN doing d ON d.rule = r.rule
            WHERE d.joins AND part IS NOT NULL ORDER BY r.old_name, r.part)
      GROUP BY old_name HAVING count(DISTINCT new_name) > count(DISTINCT shape)
    )
    UNION ALL
    -- A pattern open at its beginning or end that cuts a component in two.
    SELECT 'inside', rule, place, name, 'it matches from the middle of '
             || python_repr(regexp_capture('[^/.]*$', head, 0)
                || regexp_capture('^[^/.]*', substr(name, length(head) + 1), 0))
    FROM (
      SELECT r.place, r.rule, t.name, regexp_capture(u.pattern, t.name, 1, 'match') AS head
      FROM given g CROSS JOIN rule u CROSS JOIN result r
      JOIN tried t ON t.place = r.place
      WHERE u.ruleset = g.ruleset AND u.pattern GLOB '(.[*+])[A-Za-z0-9_]*'
        AND r.rule = u.ord
    )
    WHERE head REGEXP '[^/.]$'
    UNION ALL
    SELECT 'inside', rule, place, name, 'it matches up to the middle of '
             || python_repr(regexp_capture('[^/.]*$',
                  substr(name, 1, length(name) - length(tail)), 0)
                || regexp_capture('^[^/.]*', tail, 0))
    FROM (
      SELECT r.place, r.rule, t.name,
             regexp_groups(u.pattern, t.name, 'match') ->> '$[#-1]' AS tail
      FROM given g CROSS JOIN rule u CROSS JOIN result r
      JOIN tried t ON t.place = r.place
      WHERE u.ruleset = g.ruleset AND u.pattern GLOB '*[A-Za-z0-9_](.[*+])'
        AND r.rule = u.ord
    )
    WHERE tail REGEXP '^[^/.]'
    UNION ALL
    -- A key mapping's word, found inside a longer one.
    SELECT 'inside', rule, place, name,
           'it finds ' || python_repr(found) || ' in ' || python_repr(
             regexp_capture('[^/.]*$', head, 0) || found || regexp_capture('^[^/.]*', tail, 0))
    FROM (
      SELECT rule, place, name, key, tail, found,
             substr(name, 1, length(name) - length(tail) - length(found)) AS head
      FROM (
        SELECT m.rule, m.place, m.old_name AS name, k.key,
               regexp_groups('(?s:.*?)(?:' || key || ')((?s:.*))', m.old_name, 'match')
                 ->> '$[#-1]' AS tail,
               regexp_capture(key, m.old_name, 0) AS found
        FROM (SELECT ord, substr(pattern, 12, length(pattern) - 19) AS key FROM rule
              WHERE ruleset = (SELECT ruleset FROM given)
                AND pattern GLOB '(?s:.[*]?)(?:*)(?s:.[*])') k
        JOIN mapping m ON m.rule = k.ord
        CROSS JOIN option
        WHERE renames AND status IN ('ok', 'dropped')
          AND (key GLOB '[A-Za-z0-9_]*' OR key GLOB '*[^\][A-Za-z0-9_]'))
    )
    WHERE (key GLOB '[A-Za-z0-9_]*' AND head REGEXP '[^/.]$')
       OR (key GLOB '*[^\][A-Za-z0-9_]' AND tail REGEXP '^[^/.]')
    UNION ALL
    SELECT 'inverse', NULL, 0, NULL,
           count(*) || ' names, one to one: map_inverse() is the map back'
    FROM result CROSS JOIN given
    HAVING count(*) > 0 AND total(rule IN (SELECT rule FROM doing WHERE changes)) = 0
       AND count(DISTINCT new_name) = count(*)
       AND count(DISTINCT old_name) = count(*)
       AND NOT EXISTS (SELECT 1 FROM mapping WHERE status IN ('dropped', 'unmatched',
                       'error'))
  ),
  kind(kind, turn, severity, meaning, advice) AS (
    VALUES
    ('error', 1, 'error', 'the original refuses', 'mend the rule, or the names it is for'),
    ('broken', 2, 'error', 'the rule will fail as soon as a name comes to it',
     'mend its pattern, or its replacement'),
    ('unmatched', 3, 'error', 'no rule matches',
     'add a rule for them, or one with NULL that drops them'),
    ('collision', 4, 'error', 'several tensors become one name, and only one is kept',
     'make the patterns tell them apart, or drop those that are not wanted'),
    ('undone', 5, 'error',
     'the source''s own value of the new name replaces the mapped one',
     'give that value a name of its own by another rule'),
    ('prefix', 6, 'error', 'a tensor has the name of a folder of others',
     'rename one of them: no tree can hold both'),
    ('hidden', 7, 'error', 'a later tensor has the name of the folder that holds these',
     'rename one of them: no tree can hold both'),
    ('shape', 8, 'error', 'the shape is not the model''s',
     'look for a transposed, fused or stacked tensor, or another configuration'),
    ('duplicate-pattern', 9, 'warning', 'the pattern of an earlier rule: this one never decides',
     'delete it'),
    ('shadowed', 10, 'warning', 'an earlier rule takes the names of this one',
     'move it up, or delete it'),
    ('unused', 11, 'note', 'the rule decides no name', 'delete it, or mend its pattern'),
    ('missing', 12, 'warning', 'the source has nothing for these names of the model',
     'add a rule for them, if they are not to keep what they have'),
    ('not-in-model', 13, 'warning', 'the model has no such names', 'drop them by a rule'),
    ('crossed', 14, 'warning', 'two tensors change places',
     'if they are not meant to: no shape will tell, only a comparison of values'),
    ('not-turned', 15, 'warning', 'a square matrix is not transposed, as its like are',
     'no shape will tell: transpose it, or compare values'),
    ('again', 16, 'warning', 'the map would change its own results if it were run again',
     'anchor the pattern to the start of the old names'),
    ('doubled', 17, 'warning', 'a part of the name now stands there twice',
     'make the pattern take what is there already'),
    ('wrapped', 18, 'warning', 'the prefix of a wrapper is still there',
     'take it off wherever it may stand: (?:module\.|_orig_mod\.)*'),
    ('left-behind', 19, 'warning', 'these keep their names, while others of their module do not',
     'add a rule for them'),
    ('inside', 20, 'warning', 'the pattern begins or ends inside a component',
     'put the separator into the pattern'),
    ('ambiguous', 21, 'warning', 'these names are one when joined by dots',
     'keep them joined by "/", or rename'),
    ('dtype', 22, 'note', 'the dtype is not the model''s', 'it will be cast when restored'),
    ('one-to-many', 23, 'note', 'one tensor goes to several names', NULL),
    ('left-out', 24, 'note', 'tensors of the source that go nowhere', NULL),
    ('square', 25, 'note', 'square matrices are transposed: no shape tells whether they '
     || 'should be', 'compare values, or try it on a model with others'),
    ('order', 26, 'note', 'parts of one shape follow each other: no shape tells whether in '
     || 'the right order', 'compare values'),
    ('dropped', 27, 'note', 'a rule drops them, and no map back will have them', NULL),
    ('inverse', 28, 'note', 'the map can be undone', NULL)
  ),
  numbered AS (
    SELECT *, row_number() OVER (PARTITION BY kind, rule ORDER BY place, name) AS k,
           count(*) OVER (PARTITION BY kind, rule) AS names
    FROM finding
  )
SELECT CASE WHEN k.kind IN ('unused', 'shadowed', 'duplicate-pattern')
              THEN iif((SELECT required FROM option), 'error', k.severity)
            WHEN k.severity = 'warning'
              THEN iif((SELECT strict FROM option), 'error', k.severity)
            ELSE k.severity END AS severity,
       k.kind AS finding,
       n.rule,
       iif(max(n.name) IS NULL, NULL, n.names) AS count,
       iif(max(n.name) IS NULL, NULL, json_group_array(n.name)) AS names,
       k.meaning || iif(max(n.detail) IS NULL, '', ': '
         || max(iif(n.k = 1, n.detail, NULL))) AS meaning,
       k.advice
FROM numbered n JOIN kind k ON k.kind = n.kind
WHERE n.k <= 20
GROUP BY n.kind, n.rule
ORDER BY k.turn, n.rule
