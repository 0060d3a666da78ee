-- strip_prefixes.sql - removes what wrappers add to names; other names do not change.
--
-- module. (DataParallel, DDP, DeepSpeed) and model.diffusion_model. (latent diffusion) are removed
-- from the beginning of a name, once or several times, and so are state_dict. and
-- model_state_dict., under which training scripts save a model next to its optimizer. The wrappers
-- of torch.compile, FSDP and activation checkpointing can be around inner modules, so their
-- prefixes are removed everywhere. Scripts that save {"model": ddp.state_dict(), "step": ...} have
-- module. and the others after model., which stays.
INSERT INTO ruleset(name, dialect, options) VALUES ('strip_prefixes', 'convert', '{
  "unmatched": "keep"
}');

INSERT INTO rule(ruleset, ord, pattern, replacement, compute, ops) VALUES
('strip_prefixes', 1, '(?:(?:module|model\.diffusion_model|(?:model_)?state_dict|_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module)\.)+(?:(model\.)(?:(?:module|_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module)\.)+)?(.+)',
 '\1\g<rest>',
 '[["rest", "sub", "(?<=\\.)(?:(?:_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module)\\.)+", "", "\\2"]]',
 NULL),
('strip_prefixes', 2, '(model\.)(?:(?:module|_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module)\.)+(.+)',
 '\1\g<rest>',
 '[["rest", "sub", "(?<=\\.)(?:(?:_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module)\\.)+", "", "\\2"]]',
 NULL),
('strip_prefixes', 3, '.*\.(?:_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module)\..+',
 '\g<rest>',
 '[["rest", "sub", "(?<=\\.)(?:(?:_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module)\\.)+", "", "\\g<0>"]]',
 NULL);
