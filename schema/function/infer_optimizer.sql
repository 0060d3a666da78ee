-- infer_optimizer.sql - infer_optimizer(checkpoint): which optimizers could have left the state
-- that a checkpoint holds: those of the table `optimizer`, and the usual ones, optimizer_candidate.
-- The best come first; of those that do not fit, how many names differ in what, and the first
-- difference.
WITH
  given(checkpoint) AS MATERIALIZED (SELECT :checkpoint),
  candidate(optimizer, spec, own) AS (
    SELECT name, spec, 1 FROM optimizer
    UNION ALL
    SELECT optimizer, spec, 0 FROM optimizer_candidate
  )
SELECT c.optimizer, d.differences = 0 AS fits, d.differences, d.missing, d.unexpected, d.shape,
       d.dtype, d."null", d.error, d.first, c.spec
FROM given g CROSS JOIN candidate c CROSS JOIN state_score_rows(c.spec, g.checkpoint) d
ORDER BY d.differences, c.own DESC, c.optimizer
