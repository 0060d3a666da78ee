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
  ),
  difference(own, optimizer, spec, problem, first) AS MATERIALIZED (
    SELECT c.own, c.optimizer, c.spec, d.problem,
           iif(row_number() OVER (PARTITION BY c.own, c.optimizer) = 1,
               d.problem || ': ' || ifnull(d.name || ', ', '') || CASE d.problem
                 WHEN 'unexpected' THEN d.found
                 WHEN 'missing' THEN d.expected
                 WHEN 'error' THEN d.expected
                 ELSE d.expected || ' expected, ' || d.found || ' found' END, NULL)
    FROM candidate c LEFT JOIN state_diff_rows(c.spec, (SELECT checkpoint FROM given)) d
  )
SELECT optimizer, count(problem) = 0 AS fits, count(problem) AS differences,
       sum(problem IS 'missing') AS missing, sum(problem IS 'unexpected') AS unexpected,
       sum(problem IS 'shape') AS shape, sum(problem IS 'dtype') AS dtype,
       sum(problem IS 'null') AS "null", sum(problem IS 'error') AS error,
       max(first) AS first, spec
FROM difference
GROUP BY own, optimizer
ORDER BY differences, own DESC, optimizer
