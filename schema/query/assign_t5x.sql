-- assign_t5x.sql - T5X's apply_assignment_map: what the leaves of a target get from a source.
--
-- The original makes three passes over a dict R:
--   1  each name of the target, in order: the first rule that matches decides. A rule without
--      replacement skips the name; another takes the old name it expands to out of U, a copy
--      of the source, and puts the old value into R.
--   2  what is left in U goes into R under its own name, unless that is skipped, and
--      replaces what pass 1 put there.
--   3  names of the target that R lacks are taken from the source where it has them.
-- Then it refuses rules that decided nothing, and makes a tree of R, in which a later leaf
-- `a` replaces an earlier `a/b`, and a later `a/b` cannot enter an earlier leaf `a`.
-- Errors are looked for in this order, and only the first kind is told.
--
-- Names are compared by their ids. A leaf of the source is told by its place: bit 24 is set
-- if it is a tensor, and above it stands the tensor's number; null leaves stand before one.
-- (That is the order of the view `leaf`; +kind: there too.) Texts are for patterns, and for
-- the rows that come out.
WITH
  option(required, resuming, strict) AS MATERIALIZED (
    SELECT ifnull(options ->> 'require_all', 1), ifnull(options ->> 'is_resuming', 0),
           ifnull(options ->> 'mode', '') = 'strict'
    FROM ruleset WHERE name = :ruleset
  ),
  -- Layouts << 24. (A CTE is expanded wherever it is named, so these two name none.)
  source(low) AS MATERIALIZED (
    SELECT layout << 24 FROM checkpoints WHERE id = :source_id
  ),
  target(low) AS MATERIALIZED ( -- to resume, no target is looked at
    SELECT layout << 24 FROM checkpoints
    WHERE id = :target_id AND NOT ifnull((SELECT options ->> 'is_resuming' FROM ruleset
                                          WHERE name = :ruleset), 0)
  ),
  old_null(place, name) AS MATERIALIZED (
    SELECT (x.before << 25) + (x.id & 16777215), x.name FROM layout_nodes x
    WHERE x.id BETWEEN (SELECT low FROM source) AND (SELECT low FROM source) + 16777215
      AND +x.kind = 'null'
  ),
  new_null(id, part, name) AS MATERIALIZED (
    SELECT (SELECT low FROM target) + x.before, x.id & 16777215, x.name FROM layout_nodes x
    WHERE x.id BETWEEN (SELECT low FROM target) AND (SELECT low FROM target) + 16777215
      AND +x.kind = 'null'
  ),
  -- Pass 1: what a rule does with each name of the target, in order; which leaf of the source
  -- it takes, and which one has the name itself. (Joins, where subqueries would open their
  -- cursors anew for each row.)
  asked(place, name, status, rule, old_place, own) AS MATERIALIZED (
    SELECT ((n.id & 16777215) << 25) + n.part, n.name, rule_status(:ruleset, s.name),
           rule_match(:ruleset, s.name),
           ifnull(((o.id & 16777215) << 25) + (1 << 24),
                  (SELECT place FROM old_null WHERE name = x.id)),
           ifnull(((i.id & 16777215) << 25) + (1 << 24),
                  (SELECT place FROM old_null WHERE name = n.name))
    FROM (SELECT t.id, 1 << 24 AS part, t.name FROM layout_tensors t
          WHERE t.id BETWEEN (SELECT low FROM target) AND (SELECT low FROM target) + 16777215
          UNION ALL
          SELECT id, part, name FROM new_null
          ORDER BY 1, 2 LIMIT -1) n
    CROSS JOIN names s ON s.id = n.name
    LEFT JOIN names x ON x.name = rule_replace(:ruleset, s.name)
    LEFT JOIN layout_tensors o ON o.name = x.id
      AND o.id BETWEEN (SELECT low FROM source) AND (SELECT low FROM source) + 16777215
    LEFT JOIN layout_tensors i ON i.name = n.name
      AND i.id BETWEEN (SELECT low FROM source) AND (SELECT low FROM source) + 16777215
  ),
  taken(place) AS MATERIALIZED (
    SELECT old_place FROM asked WHERE old_place IS NOT NULL
  ),
  -- What pass 2 keeps that the target does not have.
  surplus(place, name) AS MATERIALIZED (
    SELECT o.place, o.name
    FROM (SELECT ((t.id & 16777215) << 25) + (1 << 24) AS place, t.name
          FROM layout_tensors t
          WHERE t.id BETWEEN (SELECT low FROM source)
                         AND (SELECT low FROM source) + 16777215
          UNION ALL
          SELECT place + 0, name FROM old_null) o
    LEFT JOIN layout_tensors t ON t.name = o.name
      AND t.id BETWEEN (SELECT low FROM target) AND (SELECT low FROM target) + 16777215
    WHERE t.id IS NULL AND o.name NOT IN (SELECT name FROM new_null)
      AND o.place NOT IN taken
    ORDER BY o.place LIMIT -1
  ),
  -- Rows in their order. Where pass 2 replaces what pass 1 put, there are two of a name.
  entry(place, name, old_place, rule, status, note, copy) AS NOT MATERIALIZED (
    SELECT place + 0, name + 0, iif(copy OR status = 'unmatched', own, old_place),
           iif(copy, NULL, rule),
           CASE WHEN copy THEN 'kept'
                WHEN status = 'unmatched' THEN iif(own IS NULL, 'missing', 'kept')
                WHEN status <> 'ok' THEN status
                WHEN old_place IS NULL THEN 'error'
                WHEN free THEN iif((SELECT strict FROM option), 'error', 'dropped')
                ELSE 'mapped' END,
           CASE WHEN own IS NULL OR copy THEN NULL
                WHEN status = 'dropped'
                  THEN 'the source''s own value of this name is left out too'
                WHEN status = 'unmatched' AND NOT free
                  THEN 'a rule takes it for another name too'
                WHEN status = 'ok' AND old_place IS NOT NULL AND free
                  THEN 'undone: no rule takes the source''s own value of this name, '
                    || 'which replaces it' END,
           copy + 0
    FROM (SELECT *, own NOT IN taken AS free FROM asked LIMIT -1)
    CROSS JOIN (SELECT 0 AS copy UNION ALL SELECT 1)
    WHERE NOT copy OR (free AND status = 'ok' AND old_place IS NOT NULL)
    UNION ALL
    SELECT (1 << 60) + place, name + 0, iif(1, place, NULL), NULL, iif(1, 'kept', NULL),
           iif((SELECT resuming FROM option), NULL, 'the target has no such name'), 0 + 0
    FROM surplus
  ),
  outcome(rule, status) AS MATERIALIZED (
    SELECT DISTINCT rule, iif(status = 'ok' AND old_place IS NULL, 'error', status) FROM asked
  ),
  used(pattern) AS MATERIALIZED (
    SELECT DISTINCT pattern FROM rule
    WHERE ruleset = :ruleset AND ord IN (SELECT rule FROM outcome)
  ),
  first_error(kind) AS MATERIALIZED (
    SELECT CASE
      WHEN resuming THEN 'none' -- not even a tree is made
      WHEN EXISTS (SELECT 1 FROM outcome WHERE status = 'error') THEN 'name'
      WHEN required AND (SELECT count(*) FROM rule WHERE ruleset = :ruleset) <>
                        (SELECT count(*) FROM used) THEN 'rules'
      END
    FROM option
  ),
  -- The tree. The index of all names tells whether a name of R may be a folder of others:
  -- mostly none is, and the search is left out.
  folder(name) AS MATERIALIZED (
    SELECT s.name
    FROM first_error CROSS JOIN
      (SELECT name FROM asked UNION ALL SELECT name FROM surplus) e
    CROSS JOIN names s ON s.id = e.name
    CROSS JOIN names b ON b.name >= s.name || '/' AND b.name < s.name || '0'
    WHERE kind IS NULL LIMIT 1
  ),
  -- (A value of pass 2 enters in the order of the source, one that replaces keeps its turn.)
  key(id, name, turn, old_place) AS MATERIALIZED (
    SELECT e.name, n.name,
           row_number() OVER (
             ORDER BY CASE WHEN copy OR rule IS NOT NULL THEN 1
                           WHEN note = 'a rule takes it for another name too' THEN 3 ELSE 2 END,
                      iif(copy OR rule IS NOT NULL OR
                            note = 'a rule takes it for another name too', place, old_place)),
           old_place
    FROM folder CROSS JOIN entry e CROSS JOIN names n ON n.id = e.name
    WHERE e.status IN ('mapped', 'kept')
  ),
  -- Below a name, in the order of name || '/', come first the names under it.
  above(name, turn, leaf) AS MATERIALIZED (
    SELECT name, turn,
           iif(old_place >> 24 & 1,
               (SELECT iif(ifnull(t.shape, '[]') = '[]', 'int', 'LazyArray')
                FROM layout_tensors t
                WHERE t.id = (SELECT low FROM source) + (old_place >> 25)), 'NoneType')
    FROM (SELECT *, lead(name) OVER (ORDER BY name || '/') AS following FROM key)
    WHERE substr(following, 1, length(name) + 1) = name || '/'
  ),
  -- (min() picks the row that the other columns are of.)
  collision(id, len, above, leaf, later) AS MATERIALIZED (
    SELECT k.id, min(l.len + iif(a.turn > k.turn, 1 << 32, 0)), a.name, a.leaf,
           a.turn > k.turn
    FROM (SELECT DISTINCT length(name) AS len FROM above) l
    CROSS JOIN key k ON substr(k.name, l.len + 1, 1) = '/'
    CROSS JOIN above a ON a.name = substr(k.name, 1, l.len)
    GROUP BY k.id
  ),
  names_of_source(list, count) AS MATERIALIZED (
    SELECT group_concat(python_repr(name), ', '), count(*)
    FROM (SELECT s.name FROM layout_tensors t CROSS JOIN names s ON s.id = t.name
          WHERE t.id BETWEEN (SELECT low FROM source) AND (SELECT low FROM source) + 16777215
          UNION ALL
          SELECT s.name FROM old_null o CROSS JOIN names s ON s.id = o.name
          ORDER BY 1)
  )
SELECT n.name AS new_name,
       iif(e.rule IS NOT NULL, rule_replace(:ruleset, n.name),
           iif(e.old_place IS NULL, NULL, n.name)) AS old_name,
       iif(e.old_place >> 24 & 1, (:source_id << 24) + (e.old_place >> 25), NULL) AS tensor_id,
       ifnull(iif(e.rule IS NULL, NULL, rule_cast(:ruleset, n.name)), t.dtype) AS dtype,
       iif(1, t.shape, NULL) AS shape,
       e.rule + 0 AS rule,
       iif(x.id IS NULL, e.status,
           iif(x.later AND NOT (SELECT strict FROM option), 'dropped', 'error')) AS status,
       CASE
         WHEN x.id IS NOT NULL THEN
           CASE
             WHEN x.later THEN
               iif((SELECT strict FROM option),
                   'ValueError: hidden by the later leaf ' || python_repr(x.above), NULL)
             WHEN instr(substr(n.name, x.len + 2), '/')
               THEN 'TypeError: argument of type ''' || x.leaf || ''' is not iterable'
             ELSE 'TypeError: ''' || x.leaf || ''' object does not support item assignment'
           END
         WHEN e.status <> 'error' THEN NULL
         WHEN rule_status(:ruleset, n.name) = 'error' THEN rule_error(:ruleset, n.name)
         WHEN e.old_place IS NOT NULL
           THEN 'ValueError: the source''s own value of this name replaces it'
         -- The list of a large source stands in the first such row alone.
         ELSE 'ValueError: Parameter ''' || rule_replace(:ruleset, n.name)
           || ''' does not exist in restore checkpoint.'
           || iif((SELECT count FROM names_of_source) <= 1000
                  OR e.place = (SELECT min(place) FROM asked
                                WHERE status = 'ok' AND old_place IS NULL),
                  ' Must be one of: ['
                  || ifnull((SELECT list FROM names_of_source), '') || ']', '')
       END AS error,
       iif(x.later, 'hidden by the later leaf ' || python_repr(x.above), e.note) AS note
FROM entry e CROSS JOIN names n ON n.id = e.name
LEFT JOIN layout_tensors t
  ON t.id = iif(e.old_place >> 24 & 1, (SELECT low FROM source) + (e.old_place >> 25), NULL)
LEFT JOIN collision x ON x.id = e.name AND e.status IN ('mapped', 'kept')
UNION ALL
SELECT CAST(NULL AS TEXT), NULL, NULL, NULL, NULL, NULL, 'error',
       'ValueError: Unused patterns in `assignment_map`: {'
       || ifnull((SELECT group_concat('''' || pattern || '''', ', ') FROM (
            SELECT DISTINCT pattern FROM rule WHERE ruleset = :ruleset
            EXCEPT SELECT pattern FROM used)), '') || '}',
       NULL
FROM first_error WHERE kind = 'rules'
