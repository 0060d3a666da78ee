-- strip_prefixes.sql - what wrappers put into names is taken out; other names stay as they are.
--
-- module. (DataParallel, DDP, DeepSpeed) and model.diffusion_model. (latent diffusion) go where
-- a name begins with them, once or many times, and so do state_dict. and model_state_dict., under
-- which training scripts save a model beside its optimizer. The wrappers of torch.compile, FSDP and
-- activation checkpointing sit around inner modules too: those go wherever they are.
INSERT INTO ruleset(name, dialect, options) VALUES ('strip_prefixes', 'convert', '{
  "unmatched": "keep"
}');

INSERT INTO rule(ruleset, ord, pattern, replacement, compute, ops) VALUES
('strip_prefixes', 1, '(?:(?:module|model\.diffusion_model|(?:model_)?state_dict|_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module)\.)+(.+)',
 '\g<rest>',
 '[["rest", "sub", "(?<=\\.)(?:(?:_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module)\\.)+", "", "\\1"]]',
 NULL),
('strip_prefixes', 2, '.*\.(?:_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module)\..+',
 '\g<rest>',
 '[["rest", "sub", "(?<=\\.)(?:(?:_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module)\\.)+", "", "\\g<0>"]]',
 NULL);
