-- assign_t5x.sql - T5X's apply_assignment_map: what the leaves of a target get from a source.
--
-- The original makes three passes over a dict R, and so do these CTEs:
--   1  each name of the target, in order: the first rule that matches decides. A rule without
--      replacement skips the name; another takes the old name it expands to out of U, a copy
--      of the source, and puts the old value into R.
--   2  what is left in U goes into R under its own name, unless that is skipped, and
--      replaces what pass 1 put there.
--   3  names of the target that R lacks are taken from the source where it has them.
-- Then it refuses rules that decided nothing, and makes a tree of R, in which a later leaf
-- `a` replaces an earlier `a/b`, and a later `a/b` cannot enter an earlier leaf `a`.
-- Errors are looked for in this order, and only the first kind is told.
WITH
  option(required, resuming, strict) AS MATERIALIZED (
    SELECT ifnull(options ->> 'require_all', 1), ifnull(options ->> 'is_resuming', 0),
           ifnull(options ->> 'mode', '') = 'strict'
    FROM ruleset WHERE name = :ruleset
  ),
  old(place, name, tensor_id, dtype, shape) AS MATERIALIZED (
    SELECT place, name, tensor_id, dtype, shape FROM leaf WHERE checkpoint_id = :source_id
  ),
  -- Pass 1.
  asked(place, name, status, rule, old_name, error, dtype) AS MATERIALIZED (
    SELECT n.place, n.name, rule_status(:ruleset, n.name), rule_match(:ruleset, n.name),
           rule_replace(:ruleset, n.name), rule_error(:ruleset, n.name),
           rule_cast(:ruleset, n.name)
    FROM option CROSS JOIN leaf n
    WHERE NOT resuming AND n.checkpoint_id = :target_id
  ),
  tried(place, name, status, rule, old_name, error, tensor_id, dtype, shape)
  AS MATERIALIZED (
    SELECT a.place, a.name, iif(a.status = 'ok' AND o.name IS NULL, 'absent', a.status),
           a.rule, a.old_name, a.error, o.tensor_id, ifnull(a.dtype, o.dtype), o.shape
    FROM asked a LEFT JOIN old o ON o.name = a.old_name
  ),
  unused(pattern) AS MATERIALIZED (
    SELECT DISTINCT pattern FROM rule WHERE ruleset = :ruleset
    EXCEPT
    SELECT pattern FROM rule
    WHERE ruleset = :ruleset AND ord IN (SELECT rule FROM tried)
  ),
  first_error(kind) AS MATERIALIZED (
    SELECT CASE
      WHEN resuming THEN 'none' -- not even a tree is made
      WHEN EXISTS (SELECT 1 FROM tried WHERE status IN ('error', 'absent')) THEN 'name'
      WHEN required AND
           (SELECT count(*) FROM rule WHERE ruleset = :ruleset) <>
           (SELECT count(DISTINCT pattern) FROM rule
            WHERE ruleset = :ruleset AND ord IN (SELECT rule FROM tried)) THEN 'rules'
      END
    FROM option
  ),
  -- Pass 2.
  remains(place, name, tensor_id, dtype, shape) AS MATERIALIZED (
    SELECT place, name, tensor_id, dtype, shape FROM old
    WHERE name NOT IN (SELECT old_name FROM tried WHERE old_name IS NOT NULL)
      AND name NOT IN (SELECT name FROM tried WHERE status = 'dropped')
  ),
  -- Rows; (pass, turn) is when the name entered R, (place, part) their order here.
  entry(place, part, name, old_name, tensor_id, dtype, shape, rule, status, error, note,
        pass, turn) AS MATERIALIZED (
    SELECT place, 0, name, old_name, tensor_id, dtype, shape, rule,
           CASE WHEN status = 'ok' AND name IN (SELECT name FROM remains) THEN 'undone'
                WHEN status = 'ok' THEN 'mapped' ELSE status END,
           error,
           CASE WHEN status = 'dropped' AND name IN (SELECT name FROM old)
                THEN 'the source''s own value of this name is left out too' END,
           1, place
    FROM tried
    WHERE status <> 'unmatched'
    UNION ALL
    SELECT ifnull(t.place, (1 << 60) + u.place), 1, u.name, u.name, u.tensor_id, u.dtype,
           u.shape, NULL, 'kept', NULL,
           CASE WHEN t.name IS NULL AND NOT resuming
                THEN 'the target has no such name' END,
           iif(t.status = 'ok', 1, 2), iif(t.status = 'ok', t.place, u.place)
    FROM remains u LEFT JOIN tried t ON t.name = u.name CROSS JOIN option
    WHERE ifnull(t.status, '') NOT IN ('error', 'absent')
    UNION ALL
    -- Pass 3.
    SELECT t.place, 1, t.name, o.name, o.tensor_id, o.dtype, o.shape, NULL,
           iif(o.name IS NULL, 'missing', 'kept'), NULL,
           CASE WHEN o.name IS NOT NULL THEN 'a rule takes it for another name too' END,
           3, t.place
    FROM tried t LEFT JOIN old o ON o.name = t.name
    WHERE t.status = 'unmatched' AND t.name NOT IN (SELECT name FROM remains)
  ),
  -- The tree. Below a name, in the order of name || '/', come first the names under it.
  key(name, turn, tensor_id, shape) AS MATERIALIZED (
    SELECT name, row_number() OVER (ORDER BY pass, turn), tensor_id, shape
    FROM entry WHERE status IN ('mapped', 'kept')
  ),
  above(name, turn, leaf) AS MATERIALIZED (
    SELECT name, turn,
           CASE WHEN tensor_id IS NULL THEN 'NoneType'
                WHEN ifnull(shape, '[]') = '[]' THEN 'int' ELSE 'LazyArray' END
    FROM (SELECT *, lead(name) OVER (ORDER BY name || '/') AS following FROM key)
    WHERE substr(following, 1, length(name) + 1) = name || '/'
  ),
  -- (min() picks the row that the other columns are of.)
  collision(name, len, above, leaf, later) AS MATERIALIZED (
    SELECT k.name, min(l.len + iif(a.turn > k.turn, 1 << 32, 0)), a.name, a.leaf,
           a.turn > k.turn
    FROM (SELECT DISTINCT length(name) AS len FROM above) l
    CROSS JOIN key k ON substr(k.name, l.len + 1, 1) = '/'
    CROSS JOIN above a ON a.name = substr(k.name, 1, l.len)
    GROUP BY k.name
  ),
  -- (Without LIMIT SQLite leaves the ORDER BY of a subquery out. Sorted here, the rows
  -- below need not be kept with their long texts.)
  ordered AS MATERIALIZED (SELECT * FROM entry ORDER BY place, part LIMIT -1),
  names_of_source(list, count) AS MATERIALIZED (
    SELECT group_concat(python_repr(name), ', '), count(*)
    FROM (SELECT name FROM old ORDER BY name)
  )
SELECT e.name AS new_name,
       e.old_name,
       e.tensor_id,
       e.dtype,
       e.shape,
       e.rule,
       CASE
         WHEN e.status = 'absent' THEN 'error'
         WHEN e.status = 'undone' THEN iif(strict, 'error', 'dropped')
         WHEN x.later AND f.kind IS NULL AND e.status IN ('mapped', 'kept')
           THEN iif(strict, 'error', 'dropped')
         WHEN x.name IS NOT NULL AND f.kind IS NULL AND e.status IN ('mapped', 'kept')
           THEN 'error'
         ELSE e.status
       END AS status,
       CASE
         -- The list of a large source stands in the first such row alone.
         WHEN e.status = 'absent' THEN 'ValueError: Parameter ''' || e.old_name
           || ''' does not exist in restore checkpoint.'
           || iif((SELECT count FROM names_of_source) <= 1000
                  OR e.place = (SELECT min(place) FROM tried WHERE status = 'absent'),
                  ' Must be one of: ['
                  || ifnull((SELECT list FROM names_of_source), '') || ']', '')
         WHEN e.status = 'undone' THEN
           iif(strict, 'ValueError: the source''s own value of this name replaces it', NULL)
         WHEN x.name IS NOT NULL AND f.kind IS NULL AND e.status IN ('mapped', 'kept') THEN
           CASE
             WHEN x.later AND strict
               THEN 'ValueError: hidden by the later leaf ' || python_repr(x.above)
             WHEN x.later THEN NULL
             WHEN instr(substr(e.name, x.len + 2), '/')
               THEN 'TypeError: argument of type ''' || x.leaf || ''' is not iterable'
             ELSE 'TypeError: ''' || x.leaf || ''' object does not support item assignment'
           END
         ELSE e.error
       END AS error,
       CASE
         WHEN e.status = 'undone'
           THEN 'undone: no rule takes the source''s own value of this name, which replaces it'
         WHEN x.later AND f.kind IS NULL AND e.status IN ('mapped', 'kept')
           THEN 'hidden by the later leaf ' || python_repr(x.above)
         ELSE e.note
       END AS note
FROM option CROSS JOIN first_error f CROSS JOIN ordered e LEFT JOIN collision x ON x.name = e.name
UNION ALL
SELECT NULL, NULL, NULL, NULL, NULL, NULL, 'error',
       'ValueError: Unused patterns in `assignment_map`: {'
       || ifnull((SELECT group_concat('''' || pattern || '''', ', ') FROM unused), '') || '}',
       NULL
FROM first_error WHERE kind = 'rules'
