-- infer_optimizer.sql - infer_optimizer(checkpoint): which optimizers could have left the state
-- that a checkpoint holds: those of the table, and the usual ones (adam stands for all that keep
-- what it keeps: radam, yogi, adamax, nadam; adamw for nadamw and adamaxw). The best come
-- first; of those that do not fit, how many names differ in what, and the first difference.
WITH
  given(checkpoint) AS MATERIALIZED (SELECT :checkpoint),
  -- What is tried besides: T5X's Adafactor, and Optax's optimizers with what changes rows.
  alias(name) AS (
    VALUES ('sgd'), ('adam'), ('adamw'), ('amsgrad'), ('adabelief'), ('lamb'), ('lion'),
           ('adadelta'), ('adan'), ('novograd'), ('optimistic_gradient_descent'), ('rprop'),
           ('sm3'), ('adagrad'), ('rmsprop'), ('fromage'), ('lars'), ('noisy_sgd'),
           ('adafactor'), ('signum')
  ),
  variant(name, label, args) AS (
    SELECT name, '', '{"learning_rate": 0.1}' FROM alias
    UNION ALL
    SELECT name, ' with a schedule', '{"learning_rate": {"$schedule": 1}}' FROM alias
    WHERE name NOT IN ('rprop', 'sm3')
    UNION ALL
    SELECT column1, column2, column3 FROM (VALUES
      ('sgd', ' with momentum', '{"learning_rate": 0.1, "momentum": 0.9}'),
      ('sgd', ' with momentum, a schedule',
       '{"learning_rate": {"$schedule": 1}, "momentum": 0.9}'),
      ('rmsprop', ' with momentum', '{"learning_rate": 0.1, "momentum": 0.9}'),
      ('rmsprop', ' with momentum, a schedule',
       '{"learning_rate": {"$schedule": 1}, "momentum": 0.9}'),
      ('rmsprop', ', centered', '{"learning_rate": 0.1, "centered": true}'),
      ('rmsprop', ', centered, with momentum',
       '{"learning_rate": 0.1, "centered": true, "momentum": 0.9}'),
      ('adafactor', ' with momentum', '{"learning_rate": 0.1, "momentum": 0.9}'))
  ),
  candidate(optimizer, spec, own) AS (
    SELECT name, spec, 1 FROM optimizer
    UNION ALL
    SELECT column1, column2, 0 FROM (VALUES
      ('adafactor', '{"adafactor": {}}'),
      ('adafactor, beta1', '{"adafactor": {"beta1": 0.9}}'),
      ('adafactor, factored false', '{"adafactor": {"factored": false}}'),
      ('adafactor, factored false, beta1',
       '{"adafactor": {"factored": false, "beta1": 0.9}}'))
    UNION ALL
    SELECT 'optax.' || name || label,
           json_object('optax', json_object('opt', name, 'args', json(args))), 0
    FROM variant
  )
SELECT c.optimizer, d.differences = 0 AS fits, d.differences, ifnull(d.missing, 0) AS missing,
       ifnull(d.unexpected, 0) AS unexpected, ifnull(d.shape, 0) AS shape,
       ifnull(d.dtype, 0) AS dtype, ifnull(d."null", 0) AS "null", ifnull(d.error, 0) AS error,
       d.first, c.spec
FROM given g CROSS JOIN candidate c CROSS JOIN state_score_rows(c.spec, g.checkpoint) d
ORDER BY d.differences, c.own DESC, c.optimizer
