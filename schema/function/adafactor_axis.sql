-- adafactor_axis.sql - T5X's standard factor rules by axis: logical_factor_rules "standard".
WITH row(axis, word) AS (VALUES
    ('vocab', 'column'), ('mlp', 'column'), ('heads', 'column'), ('kv', 'column'), ('joined_kv', 'column'), ('q_wi_fused', 'column'), ('o_wo_fused', 'column'), ('multiquery_heads', 'column'),
    ('kv_fused', 'column'), ('mlp_activations', 'column'), ('embed', 'row'), ('relpos_buckets', 'none'), ('layer_norm_scale', 'none'), ('layers', 'batch'), ('stack', 'batch')
)
SELECT * FROM row
