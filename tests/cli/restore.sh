# The view `restore`: translation, missing slots, relative position biases, the model's state.
# Cases P and U; what restore_from_t5_checkpoint gives for them was taken from the original.
# names FILE NAME:DTYPE:SHAPE...: a names-only checkpoint.
names() {
    local file=$1 sep='' each
    shift
    {
        printf '{"ckptdb": "names", "tensors": {'
        for each in "$@"; do
            IFS=: read -r name dtype shape <<<"$each"
            printf '%s"%s": {"dtype": "%s", "shape": [%s]}' "$sep" "$name" "${dtype:-float32}" "$shape"
            sep=', '
        done
        printf '}}'
    } >"$file"
}

# rows ID [WHERE]: what became of the checkpoint ID.json; zeros are marked z.
rows() {
    "$CKPTDB_BIN" import "$1.json" >/dev/null 2>&1
    echo "-- $1"
    "$CKPTDB_BIN" --list "SELECT ifnull(name, '-'), iif(origin = 'zeros', 'z', ifnull(old_name, '-')),
        ifnull(shape, '?'), status, coalesce(error, note, '') FROM restore
        WHERE ruleset = '${3:-t5_to_t5x}' AND ${2:-target_id IS NULL}
        AND checkpoint_id = (SELECT id FROM checkpoint WHERE path LIKE '%/$1.json') ORDER BY ord"
}

a=encoder/block_000/layer_000/rms_norm/scale
names P1.json $a::32 ${a}_slot_v::32 && rows P1
names P2.json shared/embedding::32128,512 shared/embedding_slot_vr::512 shared/embedding_slot_vc::32128 && rows P2
names P3.json shared/embedding::4,2 && rows P3
names P4.json shared/embedding_slot_v::4,2 && rows P4
names P5.json shared/embedding::4,2 shared/embedding_slot_vc::4 && rows P5
names P6.json shared/embedding::4,2 shared/embedding_slot_vr::2 shared/embedding_slot_v::4,2 && rows P6
r() { echo "$1/block_$2/layer_000/SelfAttention/relative_attention_bias$3"; }
names P7.json "$(r encoder 000)::8,4" "$(r decoder 000)::8,4" && rows P7
names P8.json "$(r encoder 000)::8,4" "$(r decoder 000)::8,4" "$(r decoder 001)::8,4" && rows P8
names P9.json "$(r encoder 000)::8,4" encoder/block_000/layer_000/SelfAttention/q::4,4 && rows P9
names P10.json "$(r encoder 003)::8,4" && rows P10
names P11.json decoder/logits/kernel::2 transformer/logits/kernel::3 && rows P11
names P12.json transformer/logits/kernel::3 decoder/logits/kernel::2 && rows P12
names P13.json encoder/block_000/layer_000/SelfAttention/q::2 encoder/block_0/layer_000/SelfAttention/q::3 && rows P13
names P14.json foo:: global_step:int64: bar:float32:2 && rows P14
names P15.json "$(r encoder 000):::" "$(r decoder 000):::" "$(r decoder 000 _slot_v):::" && rows P15
names P16.json "$(r encoder 000):::" "$(r encoder 001):::" "$(r decoder 000):::" "$(r decoder 000 _slot_v):::" \
    "$(r decoder 011):::" && rows P16
names P22.json foo:: shared/embeddings:: && rows P22

# The correction alone, on names that no rule changes.
"$CKPTDB_BIN" "INSERT INTO ruleset(name, dialect) VALUES ('same', 't5x-translator');
    INSERT INTO rule(ruleset, ord, pattern, replacement) VALUES ('same', 1, '(.*)', '\1')"
names P17.json a/layers_0/relpos_bias/x b/layers_00/relpos_bias/layers_0/relpos_bias a/layers_0/relpos_bias_extra \
    xlayers_0/relpos_bias && rows P17 '' same
names P18.json enc/layers_0/relpos_bias/rel::1 enc/relpos_bias/rel::2 && rows P18 '' same
names other_script.json a/layers_٠/relpos_bias/x b/layers_0/relpos_bias && rows other_script '' same
names targets.json targets/x && rows targets '' same

# A model.
names model.json target/w::2,3 state/step::
names more.json target/w::2,3 state/step:: target/q::1
"$CKPTDB_BIN" import model.json more.json >/dev/null 2>&1
onto() { # ID MODEL STRICT
    rows "$1" "strict = $3 AND target_id = (SELECT id FROM checkpoint WHERE path LIKE '%/$2.json')" same
}
names U1.json state/step:: target/w::2,3
names U3.json target/w::2,3 target/z::5 state/step::
names U5.json target/w::3,2
onto U1 model 0
onto U3 model 0
onto U3 model 1 # U2
onto U1 more 1 # U4: nothing is said of the name that the data lacks
onto U5 model 0
# A whole checkpoint. Its names, and names with shapes and dtypes, have known digests (there the step
# is not yet cast).
"$CKPTDB_BIN" import "$TESTS/fixtures/real/t5x" >/dev/null 2>&1
whole="restore WHERE ruleset = 't5_to_t5x' AND target_id IS NULL AND checkpoint_id =
    (SELECT id FROM checkpoint WHERE path LIKE '%/model.ckpt-0')"
echo '-- whole'
"$CKPTDB_BIN" --list "SELECT origin, status, dtype, count(*) FROM $whole GROUP BY 1, 2, 3"
digest() { # EXPRESSION
    "$CKPTDB_BIN" --list "SELECT $1 FROM $whole ORDER BY name" | head -c -1 | sha256sum
}
digest name
digest "format('%s%s%s%s%s', name, char(9), iif(shape = '[]', 'scalar', replace(trim(shape, '[]'), ',', 'x')), char(9),
    iif(name = 'state/step', 'int64', dtype))"
