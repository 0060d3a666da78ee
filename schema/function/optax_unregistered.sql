-- optax_unregistered.sql - states for which T5X has no axes: the class of the state, and the condition.
WITH row(transformation, state, "when") AS (VALUES
    ('inject_hyperparams', 'InjectStatefulHyperparamsState', NULL),
    ('scale_by_rms', 'ScaleByRmsWithCountState', 'bias_correction true'),
    ('scale_by_stddev', 'ScaleByRStdDevWithCountState', 'bias_correction true'),
    ('scale_by_amsgrad', 'ScaleByAmsgradState', NULL),
    ('scale_by_adadelta', 'ScaleByAdaDeltaState', NULL),
    ('scale_by_adan', 'ScaleByAdanState', NULL),
    ('scale_by_novograd', 'ScaleByNovogradState', NULL),
    ('scale_by_rprop', 'ScaleByRpropState', NULL),
    ('scale_by_optimistic_gradient', 'ScaleByOptimisticGradientState', NULL),
    ('scale_by_factored_rms', 'FactoredState', NULL)
)
SELECT * FROM row
