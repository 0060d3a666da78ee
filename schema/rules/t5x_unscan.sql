-- t5x_unscan.sql - scanned layers of T5X's models as one tensor a layer; all else as it is.
--
-- Parameters have the layers on axis 1. They are scanned under `layers` in T5X's own models, under
-- the name of their stack (`encoder/encoder`) in Flaxformer's. Adafactor's row and column means
-- lack the axes of each other, but never the layers: those are on axis 1 where an axis is left
-- before them, else on axis 0. What Adafactor does not use of its slots is zeros of shape (1,)
-- for all layers together, and is dropped, as is `m`.
INSERT INTO ruleset(name, dialect, options) VALUES ('t5x_unscan', 'convert', '{
  "unmatched": "keep"
}');

INSERT INTO rule(ruleset, ord, pattern, replacement, compute, ops) VALUES
('t5x_unscan', 1, 'target/(encoder|decoder)/(?:layers|\1)/(.+)',
 'target/\1/layers_\g<n>/\2', '[["n", "part"]]', '[["unstack", 1]]'),
('t5x_unscan', 2,
 'state/param_states/(encoder|decoder)/(?:layers|\1)/(.+/(?:(?:query|key|value|wi|wi_\d+)/kernel/v_row|(?:out|wo)/kernel/v_col|(?:scale|rel_embedding)/v))',
 'state/param_states/\1/layers_\g<n>/\2', '[["n", "part"]]', '[["unstack", 1]]'),
('t5x_unscan', 3,
 'state/param_states/(encoder|decoder)/(?:layers|\1)/(.+/(?:(?:query|key|value|wi|wi_\d+)/kernel/v_col|(?:out|wo)/kernel/v_row))',
 'state/param_states/\1/layers_\g<n>/\2', '[["n", "part"]]', '[["unstack", 0]]'),
('t5x_unscan', 4,
 'state/param_states/(encoder|decoder)/(?:layers|\1)/.+/(?:m|kernel/v|(?:scale|rel_embedding)/v_(?:row|col))',
 NULL, NULL, NULL);
