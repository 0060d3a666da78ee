# Commands on files that no catalog holds: they are imported into memory for the one command.
real=$TESTS/fixtures/real
st=$real/safetensors/shapes/data/shapes.safetensors
run() {
    echo "\$ ckptdb $*" | sed "s#$real#REAL#g"
    "$CKPTDB_BIN" "$@" 2>&1 | sed "s#$real#REAL#g"
    local rc=${PIPESTATUS[0]}
    [ "$rc" = 0 ] || echo "status $rc"
}
cp "$st" a.safetensors
cp -r "$real/torch/trainer/data/sft-run" run
echo '-- without any catalog'
run tree a.safetensors --depth 1
run tensors ./a.safetensors
run get a.safetensors bools
run diff a.safetensors ./a.safetensors --bytes
run verify a.safetensors
run ls --columns name,tensors .
run ls --columns name,tensors run/checkpoint-10
run export ./a.safetensors out.npz --where "name = 'bools'"
run get out.npz bools
run hash a.safetensors
run map check strip_prefixes a.safetensors
echo '-- a run, and its steps'
run tree run --depth 1
run diff run@10 run@30
run tree run@77
cp -r run r@n && run tree r@n@30 --depth 1
echo '-- neither a file nor anything else'
run tree nix
run tree .nix/x
run ls
run forget a.safetensors
[ -e "$CKPTDB" ] && echo 'a catalog was made'
echo '-- what import refuses'
head -c 100 a.safetensors >cut.safetensors
run tree cut.safetensors
mkdir empty
run tree empty
cp "$real/torch/containers/data/list.pt" list.pt
mkdir mixed && cp list.pt cut.safetensors mixed
run tensors mixed
echo '-- what holds no tensors, and several files: they are imported in one go'
cp run/checkpoint-10/scheduler.pt run/checkpoint-10/training_args.bin empty
for file in empty/scheduler.pt empty; do
    for command in tree tensors hash stats verify ls 'map check strip_prefixes'; do
        # shellcheck disable=SC2086 # a command of several words
        run $command $file
    done
    run get $file w
    run diff $file a.safetensors
    run diff a.safetensors $file
    run export $file no.npz
done
cp a.safetensors 'odd[1].safetensors'
run hash a.safetensors 'odd[1].safetensors' run@10 ./a.safetensors
run ls --columns name 'odd[1].safetensors'
run hash a.safetensors nix cut.safetensors
run hash a.safetensors empty
echo '-- a catalog beside: names in it, its maps, and what it says stay what they are'
run import list.pt
"$CKPTDB_BIN" "INSERT INTO ruleset VALUES ('mine', 't5x-translator', '{}', 0)" \
    "INSERT INTO rule VALUES ('mine', 1, '^(.*)\$', 'x.\\1', NULL, NULL)" 2>&1
before=$(cksum <"$CKPTDB")
run diff 1 ./a.safetensors --quiet
run diff ./a.safetensors list.pt
run get --map mine a.safetensors x.odd_bytes
run --readonly hash ./a.safetensors
run ls --columns name
[ "$before" = "$(cksum <"$CKPTDB")" ] || echo 'the catalog was written'
run -d other.db import empty a.safetensors
run -d other.db "SELECT checkpoint_id('empty/scheduler.pt')"
run -d other.db hash empty/scheduler.pt
mkdir sub && cp a.safetensors sub/list.pt
cd sub && run tree list.pt --depth 1 && run tree ./list.pt --depth 1 && cd ..
echo '-- a catalog in memory'
run -d :memory: tensors list.pt
run -d :memory: 'SELECT count(*) > 0 AS maps FROM rule'
printf '.import a.safetensors list.pt\nSELECT count(*) FROM checkpoint;\n.tree run@30 --depth 1\nSELECT count(*) FROM checkpoint;\n' |
    "$CKPTDB_BIN" -d :memory: 2>&1
[ -e :memory: ] && echo 'a file was made'
echo '-- gone, or changed, between two commands of a shell'
printf '.tensors a.safetensors\n.shell rm a.safetensors\n.tensors a.safetensors\n' | "$CKPTDB_BIN" --keep-going -d :memory: 2>&1 | tail -2
printf '.tensors run@10 \n.tree sub/list.pt --depth 1\nSELECT count(*) FROM checkpoint;\n' | "$CKPTDB_BIN" 2>&1 | tail -4
