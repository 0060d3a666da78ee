# What bash, zsh and fish offer: everything comes from the table of commands and from the catalog.
mkdir "My Models" runs bin
ln -s "$CKPTDB_BIN" bin/ckptdb
PATH=$PWD/bin:$PATH
names() { # FILE NAME...: a checkpoint that has these tensors
    local file=$1 name list=
    shift
    for name in "$@"; do list+="\"$name\":{\"dtype\":\"float32\",\"shape\":[2]},"; done
    printf '{"ckptdb":"names","tensors":{%s}}' "${list%,}" >"$file"
}
names "My Models/a b.json" w
names "My Models/it's.json" w
names small.json step step_size "ctrl\\u001b[31m" encoder.w
mapfile -t many < <(for i in $(seq 0 199); do echo "model.layers.$i.mlp.w"; echo "model.layers.$i.attn.w"; done)
names large.json "${many[@]}" model.norm lm_head
ckptdb import . 2>/dev/null

ask() { # WORD...: what the last could become
    echo "--- $*|"
    ckptdb --complete "$@" | head -n "${SHOWN:-12}"
}
ask ma
ask map l
ask map run t5x_s
ask map run t5_to_t5x sm
ask map run t5_to_t5x --target lar
ask export small.json out.safetensors --merge lar
ask map show --format json t5_to
ask optimizer ''
ask optimizer infer small
ask get small.json ''
ask get small.json st
ask get small.json step --dtype bf
SHOWN=3 ask get large.json model
ask get large.json model.layers.19
ask get large.json lm
ask tree "My"
ask -d other.db tree My
ask --col
ask --json ls --so
ask ls --js
ask import ''
ask import --pr
ask diff small.json lar
ask export small.json ''
ask forget ./
ask nosuch ''
ask 'SELECT 1' ''
ckptdb --complete
echo "status $?"

echo "--- bash"
. "$TESTS/../shell/line/completion.bash"
compopt() { :; }
typed() { # LINE COMP_WORDS...: what completing the end of the line gives
    COMP_LINE=$1 COMP_POINT=${#1}
    shift
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _ckptdb
    printf '%s:' "$COMP_LINE"
    printf ' <%s>' "${COMPREPLY[@]}"
    echo
}
typed 'ckptdb map r' ckptdb map r
typed 'ckptdb  map  show  t5x_' ckptdb map show t5x_
typed 'ckptdb tree My' ckptdb tree My
typed 'ckptdb tree My\ Mod' ckptdb tree 'My\ Mod'
typed "ckptdb tree 'My Models/a" ckptdb tree "'My Models/a"
typed 'ckptdb import r' ckptdb import r
cp small.json runs/model-1.json
mkdir -p models--org--repo/snapshots/0123456789ab
cp small.json models--org--repo/snapshots/0123456789ab/model.json
ckptdb import . 2>/dev/null
ckptdb --list 'SELECT name FROM checkpoint ORDER BY id' | tail -n 2
typed 'ckptdb tree org/repo@01' ckptdb tree org/repo @ 01
typed 'ckptdb tree org/repo@' ckptdb tree org/repo @ ''
