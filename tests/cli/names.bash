# names FILE NAME[:SHAPE[:DTYPE]]...: a names-only checkpoint, catalogued. float32 where not said.
names() {
    local file=$1 sep='' each name shape dtype
    shift
    {
        printf '{"ckptdb": "names", "tensors": {'
        for each in "$@"; do
            IFS=: read -r name shape dtype <<<"$each"
            printf '%s"%s": {"dtype": "%s", "shape": [%s]}' "$sep" "$name" "${dtype:-float32}" "$shape"
            sep=', '
        done
        printf '}}'
    } >"$file"
    "$CKPTDB_BIN" import "$file" >/dev/null 2>&1
}
