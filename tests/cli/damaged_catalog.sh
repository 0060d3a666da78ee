# A catalog with one damaged page: what the page held is not taken for absent.
mkdir m && cp -r "$TESTS/fixtures/real/safetensors/llama_tiny/data" m/llama && chmod -R u+w m
cp -r m/llama m/again
"$CKPTDB_BIN" import m 2>/dev/null
"$CKPTDB_BIN" -c "PRAGMA journal_mode = delete" >/dev/null
mv "$CKPTDB" good.db
size=$("$CKPTDB_BIN" -d good.db -c "PRAGMA page_size")
norm=model.norm.weight
commands="ls --sort nbytes
tree again
--json show again $norm
show again $norm
diff again llama --tree
diff again llama --map llama_hf_to_gguf
map show llama_hf_to_gguf
map check llama_hf_to_gguf again
map why again $norm
map why again nothing
optimizer show adafactor
verify --quick again
stats again norm
forget again --dry-run"

# What each prints of the whole catalog.
while read -r words; do
    # shellcheck disable=SC2086 # words of a command
    "$CKPTDB_BIN" --readonly -d good.db $words >"good.${words//[ \/]/_}" 2>/dev/null
    echo $? >"good.${words//[ \/]/_}.status"
done <<<"$commands"

refused=0
while IFS=$'\t' read -r page name; do
    cp good.db bad.db && chmod u+w bad.db
    dd if=/dev/zero of=bad.db bs="$size" seek=$((page - 1)) count=1 conv=notrunc status=none
    while read -r words; do
        good=good.${words//[ \/]/_}
        # shellcheck disable=SC2086
        "$CKPTDB_BIN" --readonly -d bad.db $words >out 2>err </dev/null
        status=$?
        if grep -q 'is not what was written' err && [ $status != 0 ]; then
            refused=$((refused + 1))
        elif [ $status != "$(cat "$good.status")" ] || ! cmp -s out "$good"; then
            echo "without $name: $words: status $status, $(wc -l <out) rows; $(cat err)"
        fi
    done <<<"$commands"
done < <("$CKPTDB_BIN" -d good.db --tsv -c "SELECT rootpage, name FROM sqlite_schema WHERE name IN ('_checkpoints',
    '_layouts', '_files', '_issues_by_checkpoint', 'ruleset', 'sqlite_autoindex_ruleset_1', 'rule',
    'optimizer')" | tail -n +2)
[ $refused -gt 30 ] && echo "all others refuse" || echo "only $refused refused"

echo '--- whose answer is whether there is a row, end with 2'
page=$("$CKPTDB_BIN" -d good.db -c "SELECT rootpage FROM sqlite_schema WHERE name = 'ruleset'")
cp good.db bad.db && chmod u+w bad.db
dd if=/dev/zero of=bad.db bs="$size" seek=$((page - 1)) count=1 conv=notrunc status=none
"$CKPTDB_BIN" --readonly -d bad.db map show llama_hf_to_gguf
echo "status $?"
