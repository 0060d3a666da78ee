-- torch_state.sql - the state that PyTorch's optimizers keep for a parameter: the tensors that must be there, and those
-- that may be (numbers in older versions, and settings that change nothing else). An optimizer with several
-- lines may differ from parameter to parameter; `rank` is the largest of a tensor that the line is for.
WITH row(optimizer, slots, more, rank) AS (VALUES
    ('torch.Adam, AdamW, RAdam', '["exp_avg", "exp_avg_sq"]', '["step"]', NULL),
    ('torch.Adam, AdamW with amsgrad', '["exp_avg", "exp_avg_sq", "max_exp_avg_sq"]', '["step"]', NULL),
    ('torch.NAdam', '["exp_avg", "exp_avg_sq", "mu_product"]', '["step"]', NULL),
    ('torch.Adamax', '["exp_avg", "exp_inf"]', '["step"]', NULL),
    ('torch.SGD with momentum, Muon', '["momentum_buffer"]', '[]', NULL),
    ('torch.Adagrad', '["sum"]', '["step"]', NULL),
    ('torch.Adadelta', '["square_avg", "acc_delta"]', '["step"]', NULL),
    ('torch.RMSprop', '["square_avg"]', '["step"]', NULL),
    ('torch.RMSprop with momentum', '["square_avg", "momentum_buffer"]', '["step"]', NULL),
    ('torch.RMSprop, centered', '["square_avg", "grad_avg"]', '["step"]', NULL),
    ('torch.RMSprop, centered, with momentum', '["square_avg", "grad_avg", "momentum_buffer"]', '["step"]', NULL),
    ('torch.Rprop', '["prev", "step_size"]', '["step"]', NULL),
    ('torch.ASGD', '["ax"]', '["eta", "mu", "step"]', NULL),
    ('torch.Adafactor', '["row_var", "col_var"]', '["step"]', NULL),
    ('torch.Adafactor', '["variance"]', '["step"]', 1),
    ('transformers.Adafactor', '["exp_avg_sq_row", "exp_avg_sq_col"]', '["step", "RMS"]', NULL),
    ('transformers.Adafactor', '["exp_avg_sq"]', '["step", "RMS"]', 1),
    ('transformers.Adafactor with beta1', '["exp_avg_sq_row", "exp_avg_sq_col", "exp_avg"]', '["step", "RMS"]', NULL),
    ('transformers.Adafactor with beta1', '["exp_avg_sq", "exp_avg"]', '["step", "RMS"]', 1),
    ('Lion', '["exp_avg"]', '["step"]', NULL),
    ('bitsandbytes.Adam8bit, AdamW8bit', '["state1", "state2", "qmap1", "qmap2", "absmax1", "absmax2"]', '["step", "new_max1", "new_max2"]', NULL),
    ('bitsandbytes.Adam8bit, AdamW8bit', '["state1", "state2"]', '["step"]', NULL),
    ('bitsandbytes.LAMB8bit', '["state1", "state2", "qmap1", "qmap2", "absmax1", "absmax2", "unorm_vec"]', '["step", "new_max1", "new_max2"]', NULL),
    ('bitsandbytes.LAMB8bit', '["state1", "state2", "unorm_vec"]', '["step"]', NULL),
    ('bitsandbytes.Lion8bit, SGD8bit, RMSprop8bit, Adagrad8bit', '["state1", "qmap1", "absmax1"]', '["step", "new_max1"]', NULL),
    ('bitsandbytes.Lion8bit, SGD8bit, RMSprop8bit, Adagrad8bit', '["state1"]', '["step"]', NULL)
)
SELECT * FROM row
