-- views_rules.sql - more tables for the checks, built on views.sql: rules that decide nothing, and
-- what the operations of rules do to tensors. Up to 1,000 of the names on which patterns are
-- tried.
asked(name) AS MATERIALIZED (
  SELECT name FROM (
    SELECT old_name AS name FROM mapping CROSS JOIN option
    WHERE renames
    UNION ALL
    SELECT name FROM model CROSS JOIN option WHERE NOT renames)
  LIMIT 1000
),
-- Rules that decide no name; `detail` says which rule takes a name that they would match.
idle(rule, pattern, detail) AS MATERIALIZED (
  SELECT u.ord, u.pattern,
         (SELECT iif(last,
                     'rule ' || (SELECT rule FROM mapping WHERE new_name = name AND rule IS NOT NULL)
                       || ' overrules it for ' || name,
                     'rule ' || rule_first(g.bound, name) || ' matches ' || name || ' first')
          FROM asked WHERE rule_status(g.bound, name, u.ord) <> 'unmatched' LIMIT 1)
  FROM given g CROSS JOIN option CROSS JOIN rule u
  WHERE u.ruleset = g.ruleset AND NOT dialect_is(dialect, 'path') AND u.ord NOT IN (SELECT rule FROM used)
),
-- What rules do to tensors: move axes, transpose (turns), join or split in an order. A rule that
-- transposes a matrix, reshapes its rows and transposes it back (the heads of Llama) does not
-- count as transposing.
doing(rule, moves, turns, joins, changes) AS MATERIALIZED (
  SELECT ord, max(o.value ->> 0 IN ('transpose', 'permute')),
         max(o.value ->> 0 IN ('transpose', 'permute'))
           AND (NOT max(o.value ->> 0 IN ('reshape', 'flatten'))
             OR sum(o.value ->> 0 = 'transpose' AND json_array_length(o.value) = 1) % 2),
         max(o.value ->> 0 IN ('concat', 'split')), max(o.value ->> 0 <> 'cast')
  FROM rule JOIN json_each(ops) o
  WHERE ruleset = (SELECT ruleset FROM given) AND o.type = 'array' GROUP BY ord
),
-- Matrices whose axes were moved, and square ones; with the last components of their names.
matrix(place, rule, old_name, new_name, shape, moved, turned, old_word, new_word)
AS MATERIALIZED (
  SELECT place, r.rule, old_name, new_name, shape, ifnull(d.moves, 0) AS moved, ifnull(d.turns, 0),
         substr(old_name, 1 + length(rtrim(old_name,
           replace(replace(old_name, '/', ''), '.', '')))),
         substr(new_name, 1 + length(rtrim(new_name,
           replace(replace(new_name, '/', ''), '.', ''))))
  FROM result r LEFT JOIN doing d ON d.rule = r.rule
  WHERE (moved OR shape = json_array(shape ->> 0, shape ->> 0)) AND shape <> '[1,1]'
    AND new_name <> old_name
),
square(place, rule, old_name, new_name, moved, turned, old_word, new_word) AS MATERIALIZED (
  SELECT place, rule, old_name, new_name, moved, turned, old_word, new_word FROM matrix
  WHERE shape = json_array(shape ->> 0, shape ->> 0)
),
turned(old_word, new_word, example) AS MATERIALIZED (
  SELECT old_word, new_word, 'rule ' || rule || ' does so with ' || min(old_name)
  FROM matrix WHERE turned GROUP BY old_word, new_word
)
