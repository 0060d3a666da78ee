-- quicker.sql - quicker(plan, statement): how to ask what a statement asks without listing all
-- tensors of the catalog, or what maps make of them, where its plan (lines as of EXPLAIN QUERY PLAN)
-- says that it does. The shell says so after statements that took long. No row: nothing is known.
WITH
  -- What lists all tensors is a scan inside the view, before what an IN (SELECT ...) looks up;
  -- `statement` is what it may be asked for.
  advice(ord, plan, statement, advice) AS (VALUES
    (1, '(?s)MATERIALIZE .*SCAN [ctn]\b.*(LEFT|RIGHT)-JOIN', '(?is)\bJOIN\b',
     'an outer join lists all tensors of the catalog first; tensors_of() is asked for each checkpoint: '
     || 'FROM checkpoint c LEFT JOIN tensors_of(c.id) t, FROM tensors_of(1) a FULL JOIN tensors_of(2) b USING (name)'),
    (2, '\bSCAN [ctn]\b', '(?is)\bfile\s*(=|IN\b|LIKE\b|GLOB\b)',
     'a file is found through its checkpoint: '
     || 'WHERE checkpoint_id IN (SELECT checkpoint_id FROM file WHERE path = ...) AND file = ...'),
    (3, '\bSCAN [ctn]\b', '(?is)\b(?<!checkpoint_)id\s*(=|IN\b)(?!.*\bGROUP\b)',
     'an id is found through its two halves: '
     || 'WHERE checkpoint_id = tensor_checkpoint(ID) AND name = tensor_name(ID)'),
    (4, '\bSCAN [ctn]\b', '(?is)\bpath\s*(NOT\s*)?(LIKE|GLOB|REGEXP)\b',
     'the checkpoints are found first by: '
     || 'WHERE checkpoint_id IN (SELECT id FROM checkpoint WHERE path LIKE ...)'),
    (5, '\bSCAN [ctn]\b', '(?is)\bGROUP\s+BY\s+[\w.]*(checkpoint(_id)?|path|id|run|step)\b(?!.*\bname\b)',
     'sums of each checkpoint are kept: SELECT id, tensors, parameters, nbytes FROM checkpoint'),
    (6, '\bSCAN [ctn]\b', '(?is)\b(GROUP\s+BY\s+[\w.]*|DISTINCT\s+)dtype\b',
     'sums of each dtype are kept: SELECT dtype, sum(tensors), sum(nbytes) FROM by_dtype GROUP BY dtype'),
    (7, '\bSCAN [ctn]\b', '(?is)\b(GROUP\s+BY\b|DISTINCT\b|WHERE\b)',
     'by_name has what checkpoints share once: '
     || 'SELECT shape, sum(checkpoints), sum(nbytes * checkpoints) FROM by_name GROUP BY shape'),
    (8, '\bSCAN [ctn]\b', '(?is)\b(count|sum|avg|total)\s*\(',
     'sums of each checkpoint are kept: SELECT sum(tensors), sum(nbytes) FROM checkpoint'),
    (9, '\bSCAN x VIRTUAL TABLE',
     '(?is)^(?!.*\b(new_name|old_name|tensor_id|dtype|shape|rule|ops|part|note|error|wins)\b)'
     || '.*\bcount\s*\(.*\bFROM\s+(translation|assignment|conversion)\b',
     'what maps make is counted without making it, by checkpoint_id (source_id, target_id) and status: SELECT '
     || 'sum(rows) FROM ruleset r JOIN conversion_counts(r.name), assignment_counts(RULESET, SOURCE)')
  )
SELECT advice FROM advice, (SELECT :plan AS whole)
WHERE regexp(plan, substr(whole, 1, instr(whole || 'LIST SUBQUERY', 'LIST SUBQUERY'))) AND regexp(statement, :statement)
  AND (ord = 9 OR regexp('(?i)\btensor\b', :statement))
ORDER BY ord LIMIT 1
