-- map_file.sql - map_file(ruleset, form): a rule set as the file that `map load` makes it of, line
-- by line. `sql` and `json` hold any set; `gin` (T5X's assignment_map), `key_mapping` (Hugging
-- Face's), `new_to_old` (Kauldron's) and `transforms` (Orbax's) hold what those programs know.
-- Where a form cannot hold the set there is one row, without a line: `fault` says why.
WITH
  given(ruleset, form) AS (SELECT :ruleset, :form),
  known(form, only, owner) AS (
    VALUES ('sql', NULL, NULL), ('json', NULL, NULL),
           ('gin', 't5x-assignment', 'assignment maps of T5X'),
           ('key_mapping', 't5x-translator', 'key mappings of Hugging Face'),
           ('new_to_old', 'kauldron', 'maps of Kauldron'),
           ('transforms', 'orbax', 'transforms of Orbax')
  ),
  asked(form, only, owner) AS MATERIALIZED (
    SELECT * FROM known WHERE form = (SELECT form FROM given)
  ),
  chosen(name, dialect, options) AS MATERIALIZED (
    SELECT name, dialect, options FROM ruleset WHERE name = (SELECT ruleset FROM given)
  ),
  entry(n, last, ord, pattern, replacement, compute, ops, extras) AS MATERIALIZED (
    SELECT row_number() OVER (ORDER BY ord), ord = max(ord) OVER (), ord, pattern,
           replacement, compute, ops,
           nullif(compute, '[]') IS NOT NULL OR nullif(ops, '[]') IS NOT NULL
    FROM rule WHERE ruleset = (SELECT ruleset FROM given)
  ),

  -- Key mappings: a rule that finds `key` anywhere and substitutes it; behind all, one that
  -- lets names be. (Such rules are made in map_load.c.)
  mapped(n, key, value) AS MATERIALIZED (
    SELECT n, substr(pattern, 12, length(pattern) - 19),
           iif(replacement IS NULL, NULL, compute ->> '$[0][3]')
    FROM entry
    WHERE (SELECT form FROM asked) = 'key_mapping' AND NOT last
      AND length(pattern) >= 19
      AND substr(pattern, 1, 11) = '(?s:.*?)(?:' AND substr(pattern, -8) = ')(?s:.*)'
  ),

  -- Transforms: the patterns, or the tree of their components, in the keys' order.
  leaf(n, ord, turn, parts, value) AS MATERIALIZED (
    SELECT n, ord,
           row_number() OVER (ORDER BY iif(nested, replace(pattern, '/', char(1)), pattern), ord),
           '[' || iif(nested, replace(json_quote(pattern), '/', '","'), json_quote(pattern)) || ']',
           CASE WHEN replacement IS NULL THEN '{"use_fallback": true}'
                ELSE '{"original_key": ' || json_quote(replacement)
                  || ifnull(', "value": ' || ops, '') || '}' END
    FROM entry CROSS JOIN (SELECT ifnull(options ->> 'nested', 0) AS nested FROM chosen)
    WHERE (SELECT form FROM asked) = 'transforms'
  ),
  -- How many components a leaf has, and how many of them are those of the leaf before.
  step(turn, n, ord, parts, value, depth, shared, above) AS MATERIALIZED (
    SELECT turn, n, ord, parts, value, json_array_length(parts),
           ifnull((SELECT min(p.key) FROM json_each(l.parts) p
                   LEFT JOIN json_each(l.before) b ON b.key = p.key
                   WHERE p.value IS NOT b.value), json_array_length(parts)),
           json_array_length(before)
    FROM (SELECT *, lag(parts, 1, '[]') OVER (ORDER BY turn) AS before FROM leaf) l
  ),
  branch(turn, line) AS MATERIALIZED (
    SELECT turn,
           (SELECT group_concat(json_quote(value), ': {')
            FROM (SELECT value FROM json_each(parts) WHERE key >= shared ORDER BY key))
           || ': ' || value
           || replace(hex(zeroblob(depth - 1 - ifnull(following, 0))), '00', '}')
           || iif(following IS NULL, '', ',')
    FROM (SELECT *, lead(shared) OVER (ORDER BY turn) AS following FROM step)
    WHERE shared < depth
  ),

  -- A string as Python writes it: raw where that can be.
  python(n, side, text) AS MATERIALIZED (
    SELECT n, side, CASE
        WHEN text IS NULL THEN 'None'
        WHEN substr(text, -1) <> '\' AND text NOT GLOB '*[' || char(10, 13) || ']*'
             AND NOT (instr(text, '''') AND instr(text, '"'))
          THEN 'r' || quote || text || quote
        ELSE '''' || replace(replace(replace(replace(text, '\', '\\'), '''', '\'''),
                                     char(10), '\n'), char(13), '\r') || '''' END
    FROM (SELECT n, side, text, iif(instr(text, ''''), '"', '''') AS quote
          FROM (SELECT n, 'new' AS side, pattern AS text FROM entry
                UNION ALL SELECT n, 'old', replacement FROM entry)
          WHERE (SELECT form FROM asked) = 'gin')
  ),

  fault(turn, text, advice) AS MATERIALIZED (
    SELECT 1, 'there is no form "' || form || '"; there are sql, json, gin, key_mapping, '
           || 'new_to_old and transforms', NULL
    FROM given WHERE form NOT IN (SELECT form FROM known)
    UNION ALL
    SELECT 2, a.form || ' holds ' || owner || ' alone, and this set is of dialect '
           || r.dialect, 'json'
    FROM asked a JOIN chosen r ON r.dialect <> a.only
    UNION ALL
    SELECT 3, format('rule %d has a NUL character, which no file holds', ord), NULL
    FROM entry WHERE instr(pattern, char(0)) OR instr(replacement, char(0))
    UNION ALL
    SELECT 4, 'its options are no object', 'sql' FROM asked CROSS JOIN chosen
    WHERE form <> 'sql' AND json_type(options) <> 'object'
    UNION ALL
    SELECT 5, form || ' has no place for the option "' || o.key || '"', 'json'
    FROM asked CROSS JOIN chosen r CROSS JOIN json_each(r.options) o
    WHERE json_type(r.options) = 'object' AND CASE form
      WHEN 'gin' THEN NOT (o.key = 'mode' AND o.value IS 'compat'
        OR o.key = 'require_all' AND o.type = 'true' OR o.key = 'is_resuming' AND o.type = 'false')
      WHEN 'key_mapping' THEN NOT (o.key = 'mode' AND o.value IS 'compat')
      WHEN 'new_to_old' THEN o.key IN ('dialect', 'new_to_old') END
    UNION ALL
    SELECT 6, format('"compute" or "ops" of rule %d is no list', ord), 'sql'
    FROM asked CROSS JOIN entry
    WHERE form <> 'sql' AND (ifnull(json_type(compute), 'array') <> 'array'
                             OR ifnull(json_type(ops), 'array') <> 'array')
    UNION ALL
    SELECT 7, form || format(' has no place for what rule %d has beside its names', ord), 'json'
    FROM asked CROSS JOIN entry
    WHERE extras AND (form IN ('gin', 'new_to_old') OR form = 'transforms'
      AND (nullif(compute, '[]') IS NOT NULL OR replacement IS NULL))
    UNION ALL
    SELECT 8, format('rule %d has no old path', ord), 'json' FROM asked CROSS JOIN entry
    WHERE form = 'new_to_old' AND replacement IS NULL
    UNION ALL
    SELECT 8, format('rule %d has the key of an earlier one', ord), 'json'
    FROM (SELECT ord, row_number() OVER (PARTITION BY pattern ORDER BY ord) AS time
          FROM asked CROSS JOIN entry WHERE form IN ('new_to_old', 'key_mapping'))
    WHERE time > 1
    UNION ALL
    SELECT 8, format(CASE WHEN NOT last
        THEN 'rule %d does not substitute, by re.sub, what it finds anywhere in a name'
        WHEN n = 1 THEN 'there is no rule before rule %d'
        ELSE 'rule %d, the last, does not leave all other names as they are' END, ord), 'json'
    FROM asked CROSS JOIN entry e
    WHERE form = 'key_mapping' AND NOT CASE
      WHEN last THEN n > 1 AND pattern = '(?s:(.*))' AND replacement IS '\1' AND NOT extras
      ELSE n IN (SELECT n FROM mapped WHERE key <> 'dialect')
        AND iif(replacement IS NULL, NOT extras,
                replacement = '\g<new>' AND nullif(ops, '[]') IS NULL
                AND json(compute) IS (SELECT json_array(json_array('new', 'sub', key, value,
                                               '\g<0>')) FROM mapped m WHERE m.n = e.n)) END
    UNION ALL
    SELECT 8, 'there is no rule, and an empty object says nothing', 'json'
    FROM asked WHERE form = 'key_mapping' AND NOT EXISTS (SELECT 1 FROM entry)
    UNION ALL
    SELECT 8, format('the pattern of rule %d lies below that of another rule, or is the same',
                     ord), 'json'
    FROM step WHERE shared = depth OR (turn > 1 AND shared = above)
    UNION ALL
    SELECT 8, format('the pattern of rule %d has a component that a tree takes for a '
                     || 'transform''s own key', ord), 'json'
    FROM leaf l JOIN json_each(l.parts) p ON p.key > 0
    WHERE p.value IN ('original_key', 'use_fallback') OR instr(p.value, char(1))
  ),

  line(part, n, text) AS (
    SELECT 1, 0, format('INSERT INTO ruleset(name, dialect, options) VALUES (%Q, %Q, %Q);',
                        name, dialect, options)
    FROM asked CROSS JOIN chosen WHERE form = 'sql'
    UNION ALL
    SELECT 2, 0, 'INSERT INTO rule(ruleset, ord, pattern, replacement, compute, ops) VALUES'
    FROM asked WHERE form = 'sql' AND EXISTS (SELECT 1 FROM entry)
    UNION ALL
    SELECT 3, n, format('(%Q, %d, %Q, %Q, %Q, %Q)%s', (SELECT name FROM chosen), ord, pattern,
                        replacement, compute, ops, iif(last, ';', ','))
    FROM asked CROSS JOIN entry WHERE form = 'sql'

    UNION ALL
    SELECT 1, 0, '{"dialect": ' || json_quote(dialect) || ','
    FROM asked CROSS JOIN chosen WHERE form IN ('json', 'transforms')
    UNION ALL
    SELECT 2, 0, ' "options": ' || options || ','
    FROM asked CROSS JOIN chosen
    WHERE form IN ('json', 'transforms') AND options <> '{}'
    UNION ALL
    SELECT 3, 0, ' "rules": [' FROM asked WHERE form = 'json'
    UNION ALL
    SELECT 4, n, '  [' || json_quote(pattern) || ', ' || json_quote(replacement)
           || ifnull(iif(compute IS NULL, ', {', ',' || char(10) || '   {') || nullif(
                substr(iif(ord = n, '', ', "ord": ' || ord)
                       || ifnull(', "compute": ' || compute, '')
                       || ifnull(', "ops": ' || ops, ''), 3), '') || '}', '')
           || iif(last, ']', '],')
    FROM asked CROSS JOIN entry WHERE form = 'json'
    UNION ALL
    SELECT 5, 0, ']}' FROM asked WHERE form = 'json'

    UNION ALL
    SELECT 3, 0, ' "transforms": {' FROM asked WHERE form = 'transforms'
    UNION ALL
    SELECT 4, turn, '  ' || line FROM branch
    UNION ALL
    SELECT 5, 0, ' }}' FROM asked WHERE form = 'transforms'

    UNION ALL
    SELECT 1, 0, 'utils.RestoreCheckpointConfig.assignment_map = ['
    FROM asked WHERE form = 'gin'
    UNION ALL
    SELECT 2, a.n, '    (' || a.text || ', ' || b.text || '),'
    FROM python a JOIN python b ON b.n = a.n AND b.side = 'old' WHERE a.side = 'new'
    UNION ALL
    SELECT 3, 0, ']' FROM asked WHERE form = 'gin'

    UNION ALL
    SELECT 1, 0, '{' FROM asked WHERE form = 'key_mapping'
    UNION ALL
    SELECT 2, n, '  ' || json_quote(key) || ': ' || json_quote(value)
           || iif(n = max(n) OVER (), '', ',')
    FROM mapped
    UNION ALL
    SELECT 3, 0, '}' FROM asked WHERE form = 'key_mapping'

    UNION ALL
    SELECT 1, 0, '{"new_to_old": {' FROM asked WHERE form = 'new_to_old'
    UNION ALL
    SELECT 2, n, '  ' || json_quote(pattern) || ': ' || json_quote(replacement)
           || iif(last, '', ',')
    FROM asked CROSS JOIN entry WHERE form = 'new_to_old'
    UNION ALL
    SELECT 3, 0, ' }' || iif(EXISTS (SELECT 1 FROM json_each(options)),
                            ', ' || ltrim(substr(trim(options, char(9, 10, 13, 32)), 2)), '}')
    FROM asked CROSS JOIN chosen WHERE form = 'new_to_old'
  )
SELECT NULL AS line,
       text || ifnull('; ' || advice || ' holds it', '') AS fault
FROM (SELECT text, advice FROM fault ORDER BY turn LIMIT 1)
UNION ALL
SELECT text, NULL FROM (SELECT text FROM line WHERE NOT EXISTS (SELECT 1 FROM fault)
                        ORDER BY part, n)
