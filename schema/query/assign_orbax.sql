-- assign_orbax.sql - Orbax's apply_transformations: what the leaves of a target get from a source.
--
-- For each leaf of the target every transform that matches is applied, in the order of the
-- sorted patterns, so the last has the last word; and the error of an earlier one
-- surfaces all the same. A rule without replacement is use_fallback: with
-- default_to_original it leaves the leaf as it stands, else it takes the source's own value.
-- A leaf that no transform matches takes the source's value of its name, if there is one and
-- default_to_original is on. The trees are JAX's: null leaves take no part.
WITH
  option(default_to_original, nested, strict) AS MATERIALIZED (
    SELECT ifnull(options ->> 'default_to_original', 1), ifnull(options ->> 'nested', 0),
           ifnull(options ->> 'mode', '') = 'strict'
    FROM ruleset WHERE name = :ruleset
  ),
  old(name, tensor_id, dtype, shape) AS MATERIALIZED (
    SELECT name, tensor_id, dtype, shape FROM leaf
    WHERE checkpoint_id = :source_id AND tensor_id IS NOT NULL
  ),
  new(place, name, dtype, shape) AS MATERIALIZED (
    SELECT place, name, dtype, shape FROM leaf
    WHERE checkpoint_id = :target_id AND tensor_id IS NOT NULL
  ),
  -- The keys of one dict, or of a tree: level by level. (Its separator then sorts before whatever
  -- a component may hold; a `/` is behind `(`, `*` and `.`.)
  transform(turn, ord) AS MATERIALIZED (
    SELECT row_number() OVER (ORDER BY iif(nested, replace(pattern, '/', char(1)), pattern),
                                       ord), ord
    FROM rule CROSS JOIN option WHERE ruleset = :ruleset
  ),
  matched(place, turn, ord, status, old_name, error, dtype) AS MATERIALIZED (
    SELECT n.place, t.turn, t.ord,
           CASE rule_status(:ruleset, n.name, t.ord)
             WHEN 'dropped' THEN iif(default_to_original, 'fallback', 'original')
             WHEN 'ok' THEN 'mapped' ELSE 'error' END,
           ifnull(rule_replace(:ruleset, n.name, t.ord), n.name),
           rule_error(:ruleset, n.name, t.ord), rule_cast(:ruleset, n.name, t.ord)
    FROM option CROSS JOIN new n CROSS JOIN transform t
    WHERE rule_status(:ruleset, n.name, t.ord) <> 'unmatched'
  ),
  tried(place, turn, ord, status, old_name, error, dtype, shape, tensor_id)
  AS MATERIALIZED (
    SELECT m.place, m.turn, m.ord,
           iif(m.status IN ('mapped', 'original') AND o.name IS NULL, 'error', m.status),
           m.old_name,
           CASE WHEN m.status = 'error' THEN m.error
                WHEN o.name IS NOT NULL OR m.status = 'fallback' THEN NULL
                WHEN m.status = 'mapped' THEN 'ValueError: Transformation key "'
                  || m.old_name || '" not found in origin tree.'
                ELSE 'ValueError: ' || m.old_name
                  || ' not found in origin tree (`use_fallback` requested).' END,
           ifnull(m.dtype, o.dtype), o.shape, o.tensor_id
    FROM matched m LEFT JOIN old o ON o.name = m.old_name AND m.status <> 'fallback'
  ),
  -- The error that the original meets first, else the last transform that does something.
  decided(place, turn) AS MATERIALIZED (
    SELECT place,
           coalesce(min(iif(status = 'error', turn, NULL)),
                    max(iif(status <> 'fallback', turn, NULL)), max(turn))
    FROM tried GROUP BY place
  ),
  unused(pattern) AS (
    SELECT pattern FROM rule
    WHERE ruleset = :ruleset AND ord NOT IN (SELECT ord FROM matched)
  ),
  entry(place, name, old_name, tensor_id, dtype, shape, rule, status, error, note)
  AS MATERIALIZED (
    SELECT n.place, n.name, iif(t.status = 'fallback', NULL, t.old_name), t.tensor_id,
           t.dtype, t.shape, t.ord,
           CASE t.status WHEN 'original' THEN 'kept' WHEN 'fallback' THEN 'missing'
                ELSE t.status END,
           t.error,
           CASE WHEN t.status <> 'error' AND (SELECT count(*) FROM matched m
                  WHERE m.place = n.place AND m.turn < t.turn) > 0
                THEN 'another rule that matches it too is overruled' END
    FROM new n JOIN decided d ON d.place = n.place
    JOIN tried t ON t.place = d.place AND t.turn = d.turn
    UNION ALL
    SELECT n.place, n.name, o.name, o.tensor_id, o.dtype, o.shape, NULL,
           iif(o.name IS NULL, 'missing', 'kept'), NULL, NULL
    FROM option CROSS JOIN new n
    LEFT JOIN old o ON o.name = n.name AND default_to_original
    WHERE n.place NOT IN (SELECT place FROM decided)
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
FROM option CROSS JOIN (SELECT * FROM entry ORDER BY place LIMIT -1)
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, 'error',
       'ValueError: no leaf matches ' || python_repr(pattern), NULL
FROM option CROSS JOIN unused WHERE strict
