-- t5x_unscan.sql - scanned layers of T5X's models as one tensor per layer; other tensors do not
-- change.
--
-- Axis 1 of parameters is the layer. They are scanned under `layers` in T5X's own models, and
-- under the name of their stack (`encoder/encoder`) in Flaxformer's. Adafactor's row means lack
-- the column axes, and its column means the row axes, but both have the layers: on axis 1 if
-- another axis is left before them, otherwise on axis 0. Slots that Adafactor does not use are
-- zeros of shape (1,) for all layers together; they are dropped, as is `m`.
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
