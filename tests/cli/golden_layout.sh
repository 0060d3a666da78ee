# Layout and discovery: the cases L, steps of T5X as folders say them.
small=$TESTS/fixtures/real/jax/t5x_inline/data/checkpoint_12/checkpoint
step() { mkdir -p "$1" && cp "$small" "$1"; }
which_is() { # CHECKPOINT: its path
    "$CKPTDB_BIN" show "$1" state/step --json >shown 2>&1 || { cat shown && return; }
    echo "$1 is $(grep -o '"path":"[^"]*"' shown)"
}
for name in 0 42 10 999.tmp-0 100 007 7 x -1; do step "run/checkpoint_$name"; done
step run/ckpt_5
mkdir run/checkpoint_500 # nothing in it
step five/checkpoint_5
step five/xcheckpoint_5
step padded/checkpoint_0005
step checkpoint_3 # no run but the folder itself
"$CKPTDB_BIN" import .
show="SELECT replace(path, '$PWD/', ''), replace(run_path, '$PWD/', ''), step FROM checkpoint"
"$CKPTDB_BIN" --list "$show ORDER BY path"
echo '-- all_steps: checkpoint_(digits), and the latest'
"$CKPTDB_BIN" --list "SELECT json_group_array(step), max(step) FROM
    (SELECT step FROM checkpoint WHERE path REGEXP '/run/checkpoint_\\d+\$' ORDER BY step)"
which_is run@latest
which_is run@42
which_is run@7
which_is run@5
which_is run@999
which_is run@500
echo '-- a step by its folder, with a / behind it or two'
for path in five/checkpoint_5 five/checkpoint_5/ five/checkpoint_5// padded@5 checkpoint_3; do
    which_is $path
done
