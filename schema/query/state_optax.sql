-- state_optax.sql - the state of Optax's optimizers as T5X's OptaxWrapper stores it: tuples by
-- their indices, named tuples by their fields, and what is empty not at all. A spec
-- (optimizers.md) is taken apart into its transformations; each of them keeps what the
-- table `slot` says. What the original raises, or nobody knows, is a row with `error`.
WITH RECURSIVE
  given(spec, checkpoint) AS MATERIALIZED (SELECT :spec, :checkpoint),
  -- What Optax exports, whether as an optimizer, and the arguments with their defaults
  -- (one that must be given: 0.0). adabelief has its weight_decay since 0.2.9.
  signature(name, is_optimizer, defaults) AS (
    VALUES
    ('adabelief', 1,
     '{"learning_rate": 0.0, "b1": 0.9, "b2": 0.999, "eps": 1e-16, "eps_root": 1e-16,
      "nesterov": false, "weight_decay": null, "mask": null}'),
    ('adadelta', 1,
     '{"learning_rate": null, "rho": 0.9, "eps": 1e-06, "weight_decay": 0.0,
      "weight_decay_mask": null}'),
    ('adafactor', 1,
     '{"learning_rate": null, "min_dim_size_to_factor": 128, "decay_rate": 0.8,
      "decay_offset": 0, "multiply_by_parameter_scale": true, "clipping_threshold": 1.0,
      "momentum": null, "dtype_momentum": "float32", "weight_decay_rate": null, "eps":
      1e-30, "factored": true, "weight_decay_mask": null}'),
    ('adagrad', 1, '{"learning_rate": 0.0, "initial_accumulator_value": 0.1, "eps": 1e-07}'),
    ('adam', 1,
     '{"learning_rate": 0.0, "b1": 0.9, "b2": 0.999, "eps": 1e-08, "eps_root": 0.0,
      "mu_dtype": null, "nesterov": false}'),
    ('adamw', 1,
     '{"learning_rate": 0.0, "b1": 0.9, "b2": 0.999, "eps": 1e-08, "eps_root": 0.0,
      "mu_dtype": null, "weight_decay": 0.0001, "mask": null, "nesterov": false}'),
    ('adan', 1,
     '{"learning_rate": 0.0, "b1": 0.98, "b2": 0.92, "b3": 0.99, "eps": 1e-08, "eps_root":
      1e-08, "weight_decay": 0.0, "mask": null}'),
    ('lion', 1,
     '{"learning_rate": 0.0, "b1": 0.9, "b2": 0.99, "mu_dtype": null, "weight_decay":
      0.001, "mask": null}'),
    ('amsgrad', 1,
     '{"learning_rate": 0.0, "b1": 0.9, "b2": 0.999, "eps": 1e-08, "eps_root": 0.0,
      "mu_dtype": null, "bias_correction_mu": true, "bias_correction_nu": true}'),
    ('fromage', 1, '{"learning_rate": 0.0, "min_norm": 1e-06}'),
    ('lars', 1,
     '{"learning_rate": 0.0, "weight_decay": 0.0, "weight_decay_mask": true,
      "trust_coefficient": 0.001, "eps": 0.0, "trust_ratio_mask": true, "momentum": 0.9,
      "nesterov": false}'),
    ('lamb', 1,
     '{"learning_rate": 0.0, "b1": 0.9, "b2": 0.999, "eps": 1e-06, "eps_root": 0.0,
      "weight_decay": 0.0, "mask": null}'),
    ('noisy_sgd', 1,
     '{"learning_rate": 0.0, "eta": 0.01, "gamma": 0.55, "key": null, "seed": null}'),
    ('sign_sgd', 1, '{"learning_rate": 0.0}'),
    ('signum', 1, '{"learning_rate": 0.0, "beta": 0.9, "accumulator_dtype": null}'),
    ('novograd', 1,
     '{"learning_rate": 0.0, "b1": 0.9, "b2": 0.25, "eps": 1e-06, "eps_root": 0.0,
      "weight_decay": 0.0}'),
    ('optimistic_gradient_descent', 1, '{"learning_rate": 0.0, "alpha": 1.0, "beta": 1.0}'),
    ('optimistic_adam_v2', 1,
     '{"learning_rate": 0.0, "alpha": 1.0, "beta": 1.0, "b1": 0.9, "b2": 0.999, "eps":
      1e-08, "eps_root": 0.0, "mu_dtype": null, "nesterov": true}'),
    ('radam', 1,
     '{"learning_rate": 0.0, "b1": 0.9, "b2": 0.999, "eps": 1e-08, "eps_root": 0.0,
      "threshold": 5.0, "nesterov": false}'),
    ('rmsprop', 1,
     '{"learning_rate": 0.0, "decay": 0.9, "eps": 1e-08, "initial_scale": 0.0,
      "eps_in_sqrt": true, "centered": false, "momentum": null, "nesterov": false,
      "bias_correction": false}'),
    ('sgd', 1,
     '{"learning_rate": 0.0, "momentum": null, "nesterov": false, "accumulator_dtype":
      null}'),
    ('sm3', 1, '{"learning_rate": 0.0, "momentum": 0.9}'),
    ('yogi', 1, '{"learning_rate": 0.0, "b1": 0.9, "b2": 0.999, "eps": 0.001}'),
    ('adamax', 1, '{"learning_rate": 0.0, "b1": 0.9, "b2": 0.999, "eps": 1e-08}'),
    ('adamaxw', 1,
     '{"learning_rate": 0.0, "b1": 0.9, "b2": 0.999, "eps": 1e-08, "weight_decay": 0.0001,
      "mask": null}'),
    ('nadam', 1,
     '{"learning_rate": 0.0, "b1": 0.9, "b2": 0.999, "eps": 1e-08, "eps_root": 0.0,
      "mu_dtype": null, "nesterov": true}'),
    ('nadamw', 1,
     '{"learning_rate": 0.0, "b1": 0.9, "b2": 0.999, "eps": 1e-08, "eps_root": 0.0,
      "mu_dtype": null, "weight_decay": 0.0001, "mask": null, "nesterov": true}'),
    ('rprop', 1,
     '{"learning_rate": 0.0, "eta_minus": 0.5, "eta_plus": 1.2, "min_step_size": 1e-06,
      "max_step_size": 50.0}'),
    ('polyak_sgd', 1,
     '{"max_learning_rate": 1.0, "scaling": 1.0, "f_min": 0.0, "eps": 0.0, "variant":
      "sps"}'),
    ('identity', 0, '{}'),
    ('set_to_zero', 0, '{}'),
    ('scale', 0, '{"step_size": 0.0}'),
    ('scale_by_adam', 0,
     '{"b1": 0.9, "b2": 0.999, "eps": 1e-08, "eps_root": 0.0, "mu_dtype": null,
      "nesterov": false}'),
    ('scale_by_adamax', 0, '{"b1": 0.9, "b2": 0.999, "eps": 1e-08}'),
    ('scale_by_amsgrad', 0,
     '{"b1": 0.9, "b2": 0.999, "eps": 1e-08, "eps_root": 0.0, "mu_dtype": null,
      "bias_correction_mu": true, "bias_correction_nu": true}'),
    ('scale_by_belief', 0,
     '{"b1": 0.9, "b2": 0.999, "eps": 1e-16, "eps_root": 1e-16, "nesterov": false}'),
    ('scale_by_yogi', 0,
     '{"b1": 0.9, "b2": 0.999, "eps": 0.001, "eps_root": 0.0, "initial_accumulator_value":
      1e-06}'),
    ('scale_by_radam', 0,
     '{"b1": 0.9, "b2": 0.999, "eps": 1e-08, "eps_root": 0.0, "threshold": 5.0,
      "nesterov": false}'),
    ('scale_by_novograd', 0,
     '{"b1": 0.9, "b2": 0.25, "eps": 1e-08, "eps_root": 0.0, "weight_decay": 0.0,
      "mu_dtype": null}'),
    ('scale_by_lion', 0,
     '{"b1": 0.9, "b2": 0.99, "mu_dtype": null, "mode": "hard", "smooth_beta": 1.0}'),
    ('scale_by_adan', 0, '{"b1": 0.98, "b2": 0.92, "b3": 0.99, "eps": 1e-08, "eps_root": 0.0}'),
    ('scale_by_adadelta', 0, '{"rho": 0.9, "eps": 1e-06}'),
    ('scale_by_rss', 0, '{"initial_accumulator_value": 0.1, "eps": 1e-07}'),
    ('scale_by_rms', 0,
     '{"decay": 0.9, "eps": 1e-08, "initial_scale": 0.0, "eps_in_sqrt": true,
      "bias_correction": false}'),
    ('scale_by_stddev', 0,
     '{"decay": 0.9, "eps": 1e-08, "initial_scale": 0.0, "eps_in_sqrt": true,
      "bias_correction": false}'),
    ('scale_by_rprop', 0,
     '{"learning_rate": 0.0, "eta_minus": 0.5, "eta_plus": 1.2, "min_step_size": 1e-06,
      "max_step_size": 50.0}'),
    ('scale_by_sm3', 0, '{"b1": 0.9, "b2": 1.0, "eps": 1e-08}'),
    ('scale_by_sign', 0, '{}'),
    ('scale_by_optimistic_gradient', 0, '{"alpha": 1.0, "beta": 1.0}'),
    ('scale_by_trust_ratio', 0, '{"min_norm": 0.0, "trust_coefficient": 1.0, "eps": 0.0}'),
    ('scale_by_learning_rate', 0, '{"learning_rate": null, "flip_sign": true}'),
    ('scale_by_schedule', 0, '{"step_size_fn": 0.0}'),
    ('scale_by_param_block_norm', 0, '{"min_scale": 0.001}'),
    ('scale_by_param_block_rms', 0, '{"min_scale": 0.001}'),
    ('scale_by_polyak', 0,
     '{"f_min": 0.0, "max_learning_rate": 1.0, "eps": 0.0, "variant": "sps"}'),
    ('scale_by_factored_rms', 0,
     '{"factored": true, "decay_rate": 0.8, "step_offset": 0, "min_dim_size_to_factor":
      128, "epsilon": 1e-30, "decay_rate_fn": null}'),
    ('add_decayed_weights', 0, '{"weight_decay": 0.0, "mask": null}'),
    ('add_noise', 0, '{"eta": 0.0, "gamma": 0.0, "key": null, "seed": null}'),
    ('trace', 0, '{"decay": 0.0, "nesterov": false, "accumulator_dtype": null}'),
    ('ema', 0, '{"decay": 0.0, "debias": true, "accumulator_dtype": null}'),
    ('apply_every', 0, '{"k": 1}'),
    ('centralize', 0, '{}'),
    ('clip', 0, '{"max_delta": 0.0}'),
    ('clip_by_global_norm', 0, '{"max_norm": 0.0}'),
    ('clip_by_block_rms', 0, '{"threshold": 0.0}'),
    ('adaptive_grad_clip', 0, '{"clipping": 0.0, "eps": 0.001, "axis": null}'),
    ('zero_nans', 0, '{}'),
    ('keep_params_nonnegative', 0, '{}'),
    ('normalize_by_update_norm', 0, '{"scale_factor": 1.0, "eps": 1e-06}')
  ),
  -- An optimizer is a chain of links, those whose `condition` on the arguments holds. They get its
  -- arguments, and those of `renames` under other names.
  link(optimizer, place, name, condition, renames) AS (
    VALUES
    ('sgd', 0, 'trace', '{"momentum": "given"}', '{}'),
    ('sgd', 0, 'identity', '{"momentum": "null"}', '{}'),
    ('sgd', 1, 'scale_by_learning_rate', '{}', '{}'),
    ('adam', 0, 'scale_by_adam', '{}', '{}'),
    ('adam', 1, 'scale_by_learning_rate', '{}', '{}'),
    ('nadam', 0, 'scale_by_adam', '{}', '{}'),
    ('nadam', 1, 'scale_by_learning_rate', '{}', '{}'),
    ('radam', 0, 'scale_by_radam', '{}', '{}'),
    ('radam', 1, 'scale_by_learning_rate', '{}', '{}'),
    ('yogi', 0, 'scale_by_yogi', '{}', '{}'),
    ('yogi', 1, 'scale_by_learning_rate', '{}', '{}'),
    ('adamax', 0, 'scale_by_adamax', '{}', '{}'),
    ('adamax', 1, 'scale_by_learning_rate', '{}', '{}'),
    ('amsgrad', 0, 'scale_by_amsgrad', '{}', '{}'),
    ('amsgrad', 1, 'scale_by_learning_rate', '{}', '{}'),
    ('adabelief', 0, 'scale_by_belief', '{}', '{}'),
    ('adabelief', 1, 'add_decayed_weights', '{"weight_decay": "given"}', '{}'),
    ('adabelief', 2, 'scale_by_learning_rate', '{}', '{}'),
    ('adamw', 0, 'scale_by_adam', '{}', '{}'),
    ('adamw', 1, 'add_decayed_weights', '{}', '{}'),
    ('adamw', 2, 'scale_by_learning_rate', '{}', '{}'),
    ('nadamw', 0, 'scale_by_adam', '{}', '{}'),
    ('nadamw', 1, 'add_decayed_weights', '{}', '{}'),
    ('nadamw', 2, 'scale_by_learning_rate', '{}', '{}'),
    ('adamaxw', 0, 'scale_by_adamax', '{}', '{}'),
    ('adamaxw', 1, 'add_decayed_weights', '{}', '{}'),
    ('adamaxw', 2, 'scale_by_learning_rate', '{}', '{}'),
    ('lion', 0, 'scale_by_lion', '{}', '{}'),
    ('lion', 1, 'add_decayed_weights', '{}', '{}'),
    ('lion', 2, 'scale_by_learning_rate', '{}', '{}'),
    ('adan', 0, 'scale_by_adan', '{}', '{}'),
    ('adan', 1, 'add_decayed_weights', '{}', '{}'),
    ('adan', 2, 'scale_by_learning_rate', '{}', '{}'),
    ('lamb', 0, 'scale_by_adam', '{}', '{}'),
    ('lamb', 1, 'add_decayed_weights', '{}', '{}'),
    ('lamb', 2, 'scale_by_trust_ratio', '{}', '{}'),
    ('lamb', 3, 'scale_by_learning_rate', '{}', '{}'),
    ('lars', 0, 'add_decayed_weights', '{}', '{"mask": "weight_decay_mask"}'),
    ('lars', 1, 'scale_by_trust_ratio', '{}', '{}'),
    ('lars', 2, 'scale_by_learning_rate', '{}', '{}'),
    ('lars', 3, 'trace', '{}', '{}'),
    ('adadelta', 0, 'add_decayed_weights', '{}', '{"mask": "weight_decay_mask"}'),
    ('adadelta', 1, 'scale_by_adadelta', '{}', '{}'),
    ('adadelta', 2, 'scale_by_learning_rate', '{}', '{}'),
    ('adagrad', 0, 'scale_by_rss', '{}', '{}'),
    ('adagrad', 1, 'scale_by_learning_rate', '{}', '{}'),
    ('rmsprop', 0, 'scale_by_rms', '{"centered": "false"}', '{}'),
    ('rmsprop', 0, 'scale_by_stddev', '{"centered": "true"}', '{}'),
    ('rmsprop', 1, 'scale_by_learning_rate', '{}', '{}'),
    ('rmsprop', 2, 'trace', '{"momentum": "given"}', '{}'),
    ('fromage', 0, 'scale_by_trust_ratio', '{}', '{}'),
    ('fromage', 1, 'scale_by_learning_rate', '{}', '{}'),
    ('fromage', 2, 'add_decayed_weights', '{}', '{"weight_decay": "learning_rate"}'),
    ('noisy_sgd', 0, 'add_noise', '{}', '{}'),
    ('noisy_sgd', 1, 'scale_by_learning_rate', '{}', '{}'),
    ('sign_sgd', 0, 'scale_by_sign', '{}', '{}'),
    ('sign_sgd', 1, 'scale_by_learning_rate', '{}', '{}'),
    ('signum', 0, 'ema', '{}', '{}'),
    ('signum', 1, 'scale_by_sign', '{}', '{}'),
    ('signum', 2, 'scale_by_learning_rate', '{}', '{}'),
    ('novograd', 0, 'scale_by_novograd', '{}', '{}'),
    ('novograd', 1, 'scale_by_learning_rate', '{}', '{}'),
    ('optimistic_gradient_descent', 0, 'scale_by_optimistic_gradient', '{}', '{}'),
    ('optimistic_gradient_descent', 1, 'scale_by_learning_rate', '{}', '{}'),
    ('optimistic_adam_v2', 0, 'scale_by_adam', '{}', '{}'),
    ('optimistic_adam_v2', 1, 'scale_by_optimistic_gradient', '{}', '{}'),
    ('optimistic_adam_v2', 2, 'scale_by_learning_rate', '{}', '{}'),
    ('sm3', 0, 'scale_by_sm3', '{}', '{}'),
    ('sm3', 1, 'scale', '{}', '{}'),
    ('rprop', 0, 'scale_by_rprop', '{}', '{}'),
    ('rprop', 1, 'scale', '{}', '{}'),
    ('polyak_sgd', 0, 'sgd', '{}', '{"learning_rate": "scaling"}'),
    ('polyak_sgd', 1, 'scale_by_polyak', '{}', '{}'),
    ('adafactor', 0, 'scale_by_factored_rms', '{}', '{}'),
    ('adafactor', 1, 'clip_by_block_rms', '{"clipping_threshold": "given"}', '{}'),
    ('adafactor', 2, 'scale_by_learning_rate', '{"learning_rate": "given"}', '{}'),
    ('adafactor', 3, 'scale_by_param_block_rms', '{"multiply_by_parameter_scale": "true"}',
     '{}'),
    ('adafactor', 4, 'ema', '{"momentum": "given"}',
     '{"accumulator_dtype": "dtype_momentum"}'),
    ('adafactor', 5, 'add_decayed_weights', '{"weight_decay_rate": "given"}',
     '{"weight_decay": "weight_decay_rate", "mask": "weight_decay_mask"}'),
    ('adafactor', 6, 'scale', '{}', '{}')
  ),
  -- What a transformation keeps. `scope` is 'one' for one row, 'param' for a row a parameter;
  -- shape 'same' is the parameter's. A dtype '@argument' is that, or the parameter's.
  slot(name, slot, scope, shape, dtype, condition) AS (
    VALUES
    ('scale_by_adam', 'count', 'one', '[]', 'int32', '{}'),
    ('scale_by_adam', 'mu', 'param', 'same', '@mu_dtype', '{}'),
    ('scale_by_adam', 'nu', 'param', 'same', '@', '{}'),
    ('scale_by_adamax', 'count', 'one', '[]', 'int32', '{}'),
    ('scale_by_adamax', 'mu', 'param', 'same', '@', '{}'),
    ('scale_by_adamax', 'nu', 'param', 'same', '@', '{}'),
    ('scale_by_amsgrad', 'count', 'one', '[]', 'int32', '{}'),
    ('scale_by_amsgrad', 'mu', 'param', 'same', '@mu_dtype', '{}'),
    ('scale_by_amsgrad', 'nu', 'param', 'same', '@', '{}'),
    ('scale_by_amsgrad', 'nu_max', 'param', 'same', '@', '{}'),
    ('scale_by_belief', 'count', 'one', '[]', 'int32', '{}'),
    ('scale_by_belief', 'mu', 'param', 'same', '@', '{}'),
    ('scale_by_belief', 'nu', 'param', 'same', '@', '{}'),
    ('scale_by_yogi', 'count', 'one', '[]', 'int32', '{}'),
    ('scale_by_yogi', 'mu', 'param', 'same', '@', '{}'),
    ('scale_by_yogi', 'nu', 'param', 'same', '@', '{}'),
    ('scale_by_radam', 'count', 'one', '[]', 'int32', '{}'),
    ('scale_by_radam', 'mu', 'param', 'same', '@', '{}'),
    ('scale_by_radam', 'nu', 'param', 'same', '@', '{}'),
    ('scale_by_novograd', 'count', 'one', '[]', 'int32', '{}'),
    ('scale_by_novograd', 'mu', 'param', 'same', '@mu_dtype', '{}'),
    ('scale_by_novograd', 'nu', 'param', '[]', '@', '{}'),
    ('scale_by_lion', 'count', 'one', '[]', 'int32', '{}'),
    ('scale_by_lion', 'mu', 'param', 'same', '@mu_dtype', '{}'),
    ('scale_by_adan', 'm', 'param', 'same', '@', '{}'),
    ('scale_by_adan', 'v', 'param', 'same', '@', '{}'),
    ('scale_by_adan', 'n', 'param', 'same', '@', '{}'),
    ('scale_by_adan', 'g', 'param', 'same', '@', '{}'),
    ('scale_by_adan', 't', 'one', '[]', 'int32', '{}'),
    ('scale_by_adadelta', 'e_g', 'param', 'same', '@', '{}'),
    ('scale_by_adadelta', 'e_x', 'param', 'same', '@', '{}'),
    ('scale_by_rss', 'sum_of_squares', 'param', 'same', '@', '{}'),
    ('scale_by_rms', 'count', 'one', '[]', 'int32', '{"bias_correction": "true"}'),
    ('scale_by_rms', 'nu', 'param', 'same', '@', '{}'),
    ('scale_by_stddev', 'count', 'one', '[]', 'int32', '{"bias_correction": "true"}'),
    ('scale_by_stddev', 'mu', 'param', 'same', '@', '{}'),
    ('scale_by_stddev', 'nu', 'param', 'same', '@', '{}'),
    ('scale_by_rprop', 'step_sizes', 'param', 'same', '@', '{}'),
    ('scale_by_rprop', 'prev_updates', 'param', 'same', '@', '{}'),
    ('scale_by_sm3', 'mu', 'param', 'dimensions', '@', '{}'),
    ('scale_by_sm3', 'nu', 'param', 'same', '@', '{}'),
    ('scale_by_optimistic_gradient', 'is_initial_step', 'one', '[]', 'bool', '{}'),
    ('scale_by_optimistic_gradient', 'previous_gradient', 'param', 'same', '@', '{}'),
    ('scale_by_factored_rms', 'count', 'one', '[]', 'int32', '{}'),
    ('scale_by_factored_rms', 'v_row', 'param', 'rows', '@', '{}'),
    ('scale_by_factored_rms', 'v_col', 'param', 'columns', '@', '{}'),
    ('scale_by_factored_rms', 'v', 'param', 'unfactored', '@', '{}'),
    ('scale_by_learning_rate', 'count', 'one', '[]', 'int32', '{"learning_rate": "schedule"}'),
    ('scale_by_schedule', 'count', 'one', '[]', 'int32', '{}'),
    ('add_decayed_weights', 'count', 'one', '[]', 'int32',
     '{"weight_decay": "schedule", "mask": "null"}'),
    ('add_decayed_weights', 'inner_state/count', 'one', '[]', 'int32',
     '{"weight_decay": "schedule", "mask": "given"}'),
    ('add_noise', 'count', 'one', '[]', 'int32', '{}'),
    ('add_noise', 'rng_key', 'one', '[]', 'key<fry>', '{}'),
    ('trace', 'trace', 'param', 'same', '@accumulator_dtype', '{}'),
    ('ema', 'count', 'one', '[]', 'int32', '{}'),
    ('ema', 'ema', 'param', 'same', '@accumulator_dtype', '{}'),
    ('apply_every', 'count', 'one', '[]', 'int32', '{}'),
    ('apply_every', 'grad_acc', 'param', 'same', '@', '{}'),
    ('zero_nans', 'found_nan', 'param', '[]', 'bool', '{}'),
    ('=multi_steps', 'mini_step', 'one', '[]', 'int32', '{}'),
    ('=multi_steps', 'gradient_step', 'one', '[]', 'int32', '{}'),
    ('=multi_steps', 'acc_grads', 'param', 'same', 'float32', '{}'),
    ('=apply_if_finite', 'notfinite_count', 'one', '[]', 'int32', '{}'),
    ('=apply_if_finite', 'last_finite', 'one', '[]', 'bool', '{}'),
    ('=apply_if_finite', 'total_notfinite', 'one', '[]', 'int32', '{}'),
    ('=inject_hyperparams', 'count', 'one', '[]', 'int32', '{}')
  ),
  -- Of whose axes T5X makes none: the class of the state, and when it is that.
  unregistered(name, class, condition) AS (
    VALUES
    ('=inject_hyperparams', 'InjectStatefulHyperparamsState', '{}'),
    ('scale_by_rms', 'ScaleByRmsWithCountState', '{"bias_correction": "true"}'),
    ('scale_by_stddev', 'ScaleByRStdDevWithCountState', '{"bias_correction": "true"}'),
    ('scale_by_amsgrad', 'ScaleByAmsgradState', '{}'),
    ('scale_by_adadelta', 'ScaleByAdaDeltaState', '{}'),
    ('scale_by_adan', 'ScaleByAdanState', '{}'),
    ('scale_by_novograd', 'ScaleByNovogradState', '{}'),
    ('scale_by_rprop', 'ScaleByRpropState', '{}'),
    ('scale_by_optimistic_gradient', 'ScaleByOptimisticGradientState', '{}'),
    ('scale_by_factored_rms', 'FactoredState', '{}')
  ),
  form(key, others) AS ( -- of a spec: the key that tells it, and those that may be beside it
    VALUES ('opt', '["args"]'), ('transform', '["args"]'), ('inject_hyperparams', '["args"]'),
           ('link', '["args"]'), ('chain', '[]'), ('named_chain', '[]'),
           ('masked', '["mask"]'), ('multi_transform', '["filter"]'),
           ('multi_steps', '["every_k_schedule", "use_grad_mean"]'),
           ('apply_if_finite', '["max_consecutive_errors"]')
  ),

  -- The spec taken apart: `tx` stands at `path`, below the filters that a parameter must pass.
  node(path, tx, filters, ord) AS (
    SELECT 'state/param_states', (SELECT spec -> 'optax' FROM given), '[]', ''
    UNION ALL
    SELECT n.path || (x.value ->> 'at'), x.value -> 'tx',
           CASE WHEN x.value ->> 'f' IS NULL OR json_type(x.value, '$.f') = 'true'
                THEN n.filters
                ELSE json_insert(n.filters, '$[#]',
                                 json_array(json(x.value -> 'f'), x.value ->> 'w')) END,
           n.ord || format('/%06d', x.key)
    FROM node n JOIN json_each(CASE
      WHEN json_type(n.tx) <> 'object' THEN '[]'
      WHEN n.tx -> 'chain' IS NOT NULL THEN
        (SELECT json_group_array(json_object('at', '/' || c.key,
                                             'tx', json(n.tx -> ('$.chain[' || c.key || ']'))))
         FROM json_each(n.tx, '$.chain') c)
      WHEN n.tx -> 'named_chain' IS NOT NULL THEN
        (SELECT json_group_array(json_object(
           'at', '/' || (n.tx ->> ('$.named_chain[' || c.key || '][0]')),
           'tx', json(n.tx -> ('$.named_chain[' || c.key || '][1]'))))
         FROM json_each(n.tx, '$.named_chain') c)
      WHEN n.tx -> 'masked' IS NOT NULL THEN
        json_array(json_object('at', '/inner_state', 'tx', json(n.tx -> 'masked'),
                               'f', json(n.tx -> 'mask'), 'w', 1))
      WHEN n.tx -> 'multi_transform' IS NOT NULL THEN
        (SELECT json_group_array(json_object(
           'at', '/inner_states/' || CASE json_type(c.value, '$[0]') WHEN 'true' THEN 'True'
             WHEN 'false' THEN 'False' WHEN 'null' THEN 'None' ELSE c.value ->> 0 END
             || '/inner_state',
           'tx', json(n.tx -> ('$.multi_transform[' || c.key || '][1]')),
           'f', json(n.tx -> 'filter'), 'w', CASE c.key WHEN 0 THEN 1 WHEN 1 THEN 0 ELSE 2 END))
         FROM json_each(n.tx, '$.multi_transform') c)
      WHEN n.tx -> 'multi_steps' IS NOT NULL THEN
        json_array(json_object('at', '/inner_opt_state', 'tx', json(n.tx -> 'multi_steps')))
      WHEN n.tx -> 'apply_if_finite' IS NOT NULL THEN
        json_array(json_object('at', '/inner_state', 'tx', json(n.tx -> 'apply_if_finite')))
      WHEN n.tx -> 'inject_hyperparams' IS NOT NULL THEN
        -- Inside, a schedule is the number that it gives.
        json_array(json_object('at', '/inner_state', 'tx',
          json_object('link', n.tx ->> 'inject_hyperparams', 'args',
            (SELECT json_group_object(a.key,
               json(iif(json_type(n.tx, a.fullkey || '."$schedule"') IS NOT NULL, '0.0',
                        n.tx -> a.fullkey)))
             FROM json_each(n.tx, '$.args') a))))
      ELSE
        (SELECT json_group_array(json_object(
           'at', '/' || place,
           'tx', json_object('link', name, 'args', json_patch(args,
             (SELECT json_group_object(r.key, json(args -> r.value))
              FROM json_each(renames) r)))))
         FROM (SELECT row_number() OVER (ORDER BY l.place) - 1 AS place, l.name, l.renames,
                      s.args
               FROM (SELECT name, json_patch(defaults, ifnull(n.tx -> 'args', '{}')) AS args
                     FROM signature
                     WHERE name = coalesce(n.tx ->> 'opt', n.tx ->> 'transform',
                                           n.tx ->> 'link')) s
               JOIN link l ON l.optimizer = s.name
               WHERE NOT EXISTS (SELECT 1 FROM json_each(l.condition) c WHERE NOT CASE c.value
                 WHEN 'given' THEN ifnull(json_type(s.args, '$.' || c.key), 'null') <> 'null'
                 WHEN 'null' THEN ifnull(json_type(s.args, '$.' || c.key), 'null') = 'null'
                 WHEN 'true' THEN ifnull(s.args ->> c.key, 0) <> 0
                 WHEN 'false' THEN ifnull(s.args ->> c.key, 0) = 0
                 ELSE json_type(s.args, '$.' || c.key) IS 'object' END)))
    END) x
  ),
  -- With its name, that of a combinator behind '=', and all of its arguments.
  named(path, tx, filters, ord, form, name, given_args, args) AS MATERIALIZED (
    SELECT n.path, n.tx, n.filters, n.ord, f.key,
           iif(f.key IN ('opt', 'transform', 'link'), n.tx ->> f.key, '=' || f.key),
           n.tx -> 'args',
           CASE WHEN json_type(n.tx, '$.args') IS NULL THEN s.defaults
                WHEN json_type(n.tx, '$.args') = 'object'
                  THEN json_patch(ifnull(s.defaults, '{}'), n.tx -> 'args') END
    FROM node n
    LEFT JOIN form f ON json_type(n.tx) = 'object' AND n.tx -> f.key IS NOT NULL
    LEFT JOIN signature s ON s.name = n.tx ->> f.key
  ),
  mask(mask, f) AS MATERIALIZED (
    SELECT row_number() OVER () - 1, f FROM (
      SELECT DISTINCT e.value -> 0 AS f FROM named n JOIN json_each(n.filters) e
      WHERE e.value -> 0 <> 'null'
      UNION
      SELECT n.given_args -> (a.fullkey || '."$mask"')
      FROM named n JOIN json_each(n.given_args) a
      WHERE json_type(n.given_args, a.fullkey || '."$mask"') IS NOT NULL AND n.form <> 'link')
  ),
  selected(f, name, error) AS MATERIALIZED (
    SELECT m.f, x.name, x.error
    FROM optimizer_filter((SELECT json_group_array(json(f))
                           FROM (SELECT f FROM mask ORDER BY mask)),
                          (SELECT checkpoint FROM given)) x
    JOIN mask m ON m.mask = x.filter
  ),
  fault(ord, error) AS MATERIALIZED (
    SELECT n.ord, CASE
      WHEN form IS NULL THEN ifnull(tx, 'null') || ' is no transformation: a spec has one of '
        || '"opt", "transform", "chain", "named_chain", "masked", "multi_transform", '
        || '"inject_hyperparams", "multi_steps" and "apply_if_finite"'
      WHEN form IN ('chain', 'named_chain', 'multi_transform')
        AND json_type(tx, '$.' || form) <> 'array' THEN python_repr(form) || ' is no list'
      WHEN form = 'chain' AND json_array_length(tx, '$.chain') = 0
        THEN 'ValueError: not enough values to unpack (expected 2, got 0)'
      WHEN form = 'masked' AND tx -> 'mask' IS NULL THEN '"masked" has no "mask"'
      WHEN form = 'multi_transform' AND tx -> 'filter' IS NULL
        THEN '"multi_transform" has no "filter"'
      WHEN form = 'multi_transform' AND json_array_length(tx, '$.multi_transform') <> 2
        THEN '"multi_transform" has not two labels'
      WHEN form IN ('opt', 'transform', 'inject_hyperparams') AND (s.name IS NULL
           OR (form = 'opt' AND NOT is_optimizer))
        THEN iif(form = 'transform', 'unknown transformation ', 'unknown optimizer ')
          || ifnull(python_repr(tx ->> form), 'null')
      WHEN json_type(tx, '$.args') <> 'object' THEN '"args" is no object: ' || (tx -> 'args')
      END AS error
    FROM named n
    LEFT JOIN signature s ON s.name = n.tx ->> n.form
    WHERE error IS NOT NULL
    UNION ALL
    SELECT n.ord, 'unknown key ' || python_repr(x.key) || ' beside "' || n.form || '"'
    FROM named n JOIN form f ON f.key = n.form JOIN json_each(n.tx) x
    WHERE x.key <> n.form AND x.key NOT IN (SELECT value FROM json_each(f.others))
    UNION ALL
    SELECT n.ord, 'TypeError: ' || s.name || '() got an unexpected keyword argument '
      || python_repr(a.key)
    FROM named n JOIN signature s ON s.name = n.tx ->> n.form JOIN json_each(n.given_args) a
    WHERE n.form IN ('opt', 'transform', 'inject_hyperparams')
      AND a.key NOT IN (SELECT key FROM json_each(s.defaults))
    UNION ALL
    SELECT n.ord, 'argument ' || python_repr(a.key) || ' is neither {"$schedule": ...} nor '
      || '{"$mask": F}: ' || a.value
    FROM named n JOIN json_each(n.given_args) a
    WHERE n.form <> 'link' AND a.type IN ('object', 'array')
      AND coalesce(json_type(n.given_args, a.fullkey || '."$schedule"'),
                   json_type(n.given_args, a.fullkey || '."$mask"')) IS NULL
    UNION ALL
    SELECT '', error FROM selected WHERE error IS NOT NULL
  ),

  listed(name, shape, dtype, turn) AS MATERIALIZED (
    SELECT name, shape, dtype, turn FROM optimizer_params((SELECT checkpoint FROM given))
  ),
  -- Parameters share shapes: how they factor is worked out once for each.
  factor(shape, largest, second) AS MATERIALIZED (
    SELECT shape, (SELECT key FROM json_each(l.shape) ORDER BY value DESC, key DESC LIMIT 1),
           (SELECT key FROM json_each(l.shape) ORDER BY value DESC, key DESC
            LIMIT 1 OFFSET 1)
    FROM (SELECT DISTINCT shape FROM listed) l
  ),
  param(name, shape, dtype, turn, axes, largest, second) AS MATERIALIZED (
    SELECT p.name, p.shape, p.dtype, p.turn,
           iif((SELECT spec -> 'axes' FROM given) IS NULL, NULL,
               (SELECT x.value FROM json_each((SELECT spec FROM given), '$.axes') x
                WHERE x.key = p.name)),
           f.largest, f.second
    FROM listed p LEFT JOIN factor f ON f.shape = p.shape
  ),
  -- What reaches the transformations below each list of filters.
  passed(filters, name) AS MATERIALIZED (
    SELECT '[]', name FROM param WHERE EXISTS (SELECT 1 FROM named WHERE filters = '[]')
    UNION ALL
    SELECT filters, name FROM (
      SELECT l.filters, p.name
      FROM (SELECT DISTINCT filters FROM named WHERE filters <> '[]') l CROSS JOIN param p
      LEFT JOIN json_each(l.filters) e
      LEFT JOIN selected m ON m.f = e.value -> 0 AND m.name = p.name
      GROUP BY l.filters, p.turn
      HAVING total(e.key IS NOT NULL AND (m.name IS NOT NULL) <> (e.value ->> 1)) = 0)
  ),
  -- What a float becomes among the parameters that pass.
  float(filters, dtype, error) AS MATERIALIZED (
    SELECT t.filters,
           CASE WHEN total(p.dtype = 'float64') THEN 'float64'
                WHEN total(p.dtype = 'float32') THEN 'float32'
                WHEN total(p.dtype = 'bfloat16') THEN 'bfloat16'
                WHEN total(p.dtype = 'float16') THEN 'float16' ELSE 'float32' END,
           iif(total(p.dtype = 'bfloat16') AND total(p.dtype = 'float16')
               AND NOT total(p.dtype IN ('float32', 'float64')),
               'ValueError: bfloat16 and float16 parameters have no common dtype', NULL)
    FROM passed t JOIN param p ON p.name = t.name GROUP BY t.filters
  ),
  state(path, shape, dtype, axes, ord, place, turn) AS MATERIALIZED (
    SELECT n.path || '/' || s.slot || ifnull('/' || p.name, '')
             || iif(s.shape = 'dimensions', '/' || d.key, ''),
           CASE
             WHEN s.scope = 'one' THEN s.shape
             WHEN p.shape IS NULL THEN NULL
             WHEN s.shape = 'same' THEN p.shape
             WHEN s.shape = 'dimensions' THEN json_array(d.value)
             WHEN s.shape NOT IN ('rows', 'columns', 'unfactored') THEN s.shape
             WHEN json_array_length(p.shape) < 2 OR NOT ifnull(n.args ->> 'factored', 1)
                  OR p.shape ->> p.second < ifnull(n.args ->> 'min_dim_size_to_factor', 128)
               THEN iif(s.shape = 'unfactored', p.shape, '[1]')
             WHEN s.shape = 'unfactored' THEN '[1]'
             ELSE (SELECT json_group_array(x.value) FROM json_each(p.shape) x
                   WHERE x.key <> iif(s.shape = 'rows', p.largest, p.second))
           END,
           iif(substr(s.dtype, 1, 1) = '@',
               ifnull(replace(n.args ->> nullif(substr(s.dtype, 2), ''), 'float64', 'float32'), p.dtype),
               s.dtype),
           iif(s.shape = 'same', p.axes, NULL), n.ord, s.rowid, p.turn
    FROM named n
    JOIN (SELECT row_number() OVER () AS rowid, * FROM slot) s ON s.name = n.name
    LEFT JOIN (SELECT t.filters, p.* FROM passed t JOIN param p ON p.name = t.name) p
      ON s.scope = 'param' AND p.filters = n.filters
    LEFT JOIN json_each(iif(s.shape = 'dimensions', p.shape, NULL)) d
    WHERE (s.scope = 'one' OR p.name IS NOT NULL)
      AND (s.shape IS NOT 'dimensions' OR d.key IS NOT NULL)
      AND NOT EXISTS (SELECT 1 FROM json_each(s.condition) c WHERE NOT CASE c.value
                 WHEN 'given' THEN ifnull(json_type(n.args, '$.' || c.key), 'null') <> 'null'
                 WHEN 'null' THEN ifnull(json_type(n.args, '$.' || c.key), 'null') = 'null'
                 WHEN 'true' THEN ifnull(n.args ->> c.key, 0) <> 0
                 WHEN 'false' THEN ifnull(n.args ->> c.key, 0) = 0
                 ELSE json_type(n.args, '$.' || c.key) IS 'object' END)
    UNION ALL
    SELECT n.path || '/hyperparams/' || a.key, '[]',
           CASE a.type WHEN 'integer' THEN 'int32' WHEN 'text' THEN 'float32' ELSE
             ifnull((SELECT dtype FROM float f WHERE f.filters = n.filters), 'float32') END,
           NULL, n.ord, 1000 + a.id, 0
    FROM named n JOIN json_each(n.args) a
    WHERE n.form = 'inject_hyperparams'
      AND (a.type IN ('integer', 'real')
           OR json_type(n.args, a.fullkey || '."$schedule"') IS NOT NULL
           -- A default that is a class, and so callable: Optax takes it for a schedule.
           OR (a.key = 'dtype_momentum' AND json_type(n.given_args, a.fullkey) IS NULL))
    UNION ALL
    SELECT n.path || '/hyperparams_states/' || a.key || '/count', '[]', 'int32', NULL, n.ord,
           100000 + a.id, 0
    FROM named n JOIN json_each(n.args) a
    WHERE n.form = 'inject_hyperparams'
      AND (json_type(n.args, a.fullkey || '."$schedule"') IS NOT NULL
           OR (a.key = 'dtype_momentum' AND json_type(n.given_args, a.fullkey) IS NULL))
  ),
  late(error) AS MATERIALIZED ( -- what is wrong about these parameters
    SELECT f.error FROM named n JOIN float f ON f.filters = n.filters
    WHERE n.form = 'inject_hyperparams'
    UNION ALL
    SELECT 'ValueError: Encountered unregistered optax state type ' || u.class
    FROM named n JOIN unregistered u ON u.name = n.name
    WHERE (SELECT spec -> 'axes' FROM given) IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM json_each(u.condition) c WHERE NOT CASE c.value
                 WHEN 'given' THEN ifnull(json_type(n.args, '$.' || c.key), 'null') <> 'null'
                 WHEN 'null' THEN ifnull(json_type(n.args, '$.' || c.key), 'null') = 'null'
                 WHEN 'true' THEN ifnull(n.args ->> c.key, 0) <> 0
                 WHEN 'false' THEN ifnull(n.args ->> c.key, 0) = 0
                 ELSE json_type(n.args, '$.' || c.key) IS 'object' END)
    UNION ALL
    SELECT 'the axes of ' || n.name || ' cannot be restored' FROM named n
    WHERE (SELECT spec -> 'axes' FROM given) IS NOT NULL
      AND n.name IN ('scale_by_sm3', 'zero_nans')
  )
SELECT NULL AS name, NULL AS shape, NULL AS dtype, NULL AS axes, error
FROM (SELECT error FROM fault ORDER BY ord)
UNION ALL
SELECT 'state/step', '[]', 'int32', NULL, NULL WHERE NOT EXISTS (SELECT 1 FROM fault)
UNION ALL
SELECT path, shape, dtype, axes, NULL
FROM (SELECT * FROM state WHERE NOT EXISTS (SELECT 1 FROM fault) ORDER BY ord, place, turn)
UNION ALL
SELECT NULL, NULL, NULL, NULL, error FROM late
WHERE error IS NOT NULL AND NOT EXISTS (SELECT 1 FROM fault)
