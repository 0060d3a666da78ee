# What the tests of optimizers share.
# spec NAME JSON
spec() { "$CKPTDB_BIN" optimizer load "$1" - <<<"$2"; }
id() { echo "(SELECT id FROM checkpoint WHERE path LIKE '%/$1.json')"; }
# state OPTIMIZER CHECKPOINT: all rows.
state() {
    "$CKPTDB_BIN" --list "SELECT ifnull(name, '-'), coalesce(error, dtype || shape, 'null') || ifnull(' ' || axes, '')
        FROM optimizer_state WHERE optimizer = '$1' AND checkpoint_id = $(id "$2")"
}
