-- adafactor_argument.sql - the arguments of T5X's Adafactor.
WITH row(name) AS (VALUES
    ('learning_rate'), ('factored'), ('multiply_by_parameter_scale'), ('beta1'), ('decay_rate'),
    ('step_offset'), ('clipping_threshold'), ('weight_decay_rate'), ('min_dim_size_to_factor'),
    ('epsilon1'), ('epsilon2'), ('dtype_momentum'), ('factor_map'), ('logical_factor_rules'),
    ('weight_decay_rate_lr_exponent'), ('global_norm_clip_threshold'), ('max_parameter_scale'),
    ('skip_nan_updates')
)
SELECT * FROM row
