-- t5x_scan.sql - one tensor per layer as the scanned layers of T5X's models; the inverse of
-- t5x_unscan.
--
-- The scanned module is called `layers`, as in T5X's own models. For Flaxformer's:
--   --set encoder_module=encoder --set decoder_module=decoder
-- Slots are stacked as in scanned models; zeros of shape (1,) and `m` are dropped.
INSERT INTO ruleset(name, dialect, options) VALUES ('t5x_scan', 'convert', '{
  "unmatched": "keep",
  "settings": {"encoder_module": {"else": "layers"}, "decoder_module": {"else": "layers"}}
}');

INSERT INTO rule(ruleset, ord, pattern, replacement, compute, ops) VALUES
('t5x_scan', 1, 'target/(encoder|decoder)/layers_(\d+)/(.+)',
 'target/\1/\g<module>/\3',
 '[["module", "setting", "\\1_module"]]', '[["stack", 1, "\\2"]]'),
('t5x_scan', 2,
 'state/param_states/(encoder|decoder)/layers_(\d+)/(.+/(?:(?:query|key|value|wi|wi_\d+)/kernel/v_row|(?:out|wo)/kernel/v_col|(?:scale|rel_embedding)/v))',
 'state/param_states/\1/\g<module>/\3',
 '[["module", "setting", "\\1_module"]]', '[["stack", 1, "\\2"]]'),
('t5x_scan', 3,
 'state/param_states/(encoder|decoder)/layers_(\d+)/(.+/(?:(?:query|key|value|wi|wi_\d+)/kernel/v_col|(?:out|wo)/kernel/v_row))',
 'state/param_states/\1/\g<module>/\3',
 '[["module", "setting", "\\1_module"]]', '[["stack", 0, "\\2"]]'),
('t5x_scan', 4,
 'state/param_states/(encoder|decoder)/layers_\d+/.+/(?:m|kernel/v|(?:scale|rel_embedding)/v_(?:row|col))',
 NULL, NULL, NULL);
