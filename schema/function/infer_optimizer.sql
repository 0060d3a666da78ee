-- infer_optimizer.sql - infer_optimizer(checkpoint): which optimizers could have left the state
-- that a checkpoint holds. Tries the table `optimizer` and the usual ones
-- (optimizer_candidate and torch_state), the best first; for those that do not fit, counts the
-- differences of each kind and shows the first. If none fits, tries chains of bare transformations
-- (state_chain_rows). `place` is the folder of a state that is not T5X's; there may be several. No
-- rows: there is no state, or no parameters that it could belong to.
WITH
  given(checkpoint) AS MATERIALIZED (SELECT known_checkpoint(:checkpoint)),
  candidate(optimizer, spec, own) AS (
    SELECT name, spec, 1 FROM optimizer
    UNION ALL
    SELECT optimizer, spec, 0 FROM optimizer_candidate
  ),
  scored AS MATERIALIZED (
    SELECT c.optimizer, c.own, d.*, c.spec
    FROM given g CROSS JOIN candidate c CROSS JOIN state_score_rows(c.spec, g.checkpoint) d
    UNION ALL
    SELECT t.optimizer, 0, t.differences, t.missing, t.unexpected, 0, 0, 0, 0, t.first, NULL, NULL
    FROM given g CROSS JOIN torch_score_rows(g.checkpoint) t
  ),
  hand_made AS (
    SELECT k.optimizer, 0, d.*, k.spec
    FROM given g CROSS JOIN state_chain_rows('', g.checkpoint) k
    CROSS JOIN state_score_rows(k.spec, g.checkpoint) d
    WHERE d.place IS k.place
      AND NOT EXISTS (SELECT 1 FROM scored s WHERE s.place IS k.place AND s.differences = 0)
  )
SELECT optimizer, differences = 0 AS fits, differences, missing, unexpected, shape, dtype, "null",
       error, first, spec, place
FROM (SELECT * FROM scored UNION ALL SELECT * FROM hand_made)
ORDER BY place, differences, own DESC, optimizer
