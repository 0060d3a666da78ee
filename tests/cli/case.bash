# case.bash - what cases share: run.sh gives it to each of them.
unset BASH_ENV # not to what a case starts

# try ARGUMENT...: run the program, and say with what; then the exit status, unless it is 0 ($STATUS=always: always).
try() {
    echo "$ ckptdb $*"
    "$CKPTDB_BIN" "$@"
    status=$?
    [ $status = 0 ] && [ "${STATUS:-}" != always ] || echo "status $status"
}

# sampled COMMAND...: what tries very much. A sanitizer's program has time for a sample of it, of which the command
# prints only what is wrong.
sampled() {
    [ "$SLOW" != 1 ] || { "$@"; return; }
    local wrong
    wrong=$("$@" 2>&1) && [ -z "$wrong" ] && { echo "SKIP: a sample of it alone, in which nothing is wrong"; exit 77; }
    echo "$wrong"
}

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

# safetensors FILE HEADER DATA: the header is filled up with blanks; printf makes bytes of the data.
safetensors() {
    local header=$2
    while [ $((${#header} % 8)) != 0 ]; do header+=' '; done
    { printf "\\x$(printf %02x $((${#header} % 256)))\\x$(printf %02x $((${#header} / 256)))"
      printf '\0\0\0\0\0\0%s' "$header"
      printf "$3"; } >"$1"
}

# make_npy FILE DESCR SHAPE STRUCT-FORMAT VALUE...
make_npy() { python3 "$TESTS/fixtures/make_npy.py" "$@"; }

# tensors_of FILE: name|dtype|shape|sha256 of each.
tensors_of() {
    "$CKPTDB_BIN" --list "SELECT name, dtype, shape, tensor_sha256(id) FROM tensor WHERE path = '$PWD/$1' ORDER BY name"
}

# until_there PATTERN FILE
until_there() { for _ in $(seq 300); do grep -q "$1" "$2" 2>/dev/null && return; sleep 0.1; done; }

# serve FOLDER: a web server of its files, at 127.0.0.1:$port, and $other for another host; it writes each request
# into the file `log`, and ends with this shell.
serve() {
    coproc SERVER { exec python3 "$TESTS/cli/remote_server.py" "$1" ports log; }
    exec 9>&"${SERVER[1]}"
    for _ in $(seq 200); do [ -f ports ] && break; sleep 0.05; done
    read -r port other <ports || return 1
    ! "$CKPTDB_BIN" -d :memory: import "http://127.0.0.1:$port/nothing" 2>&1 | grep -q libcurl ||
        { echo 'SKIP: libcurl cannot be loaded'; return 77; }
    rm -f log
}

# For tests of buckets: two folders with names that have to be escaped, one in the other.
bucket_files() {
    local real=$TESTS/fixtures/real
    mkdir -p "www/a + b&c/ü%20/deep"
    cp "$real"/safetensors/llama_tiny/data/* "www/a + b&c/ü%20/"
    cp "$real"/safetensors/llama_tiny/data/model-00001-of-00003.safetensors "www/a + b&c/ü%20/deep/part.safetensors"
}

# What was imported from there against the same files here (here.db): rows, values, an export.
bucket_same() {
    local query db
    "$CKPTDB_BIN" -d here.db import "www/a + b&c"
    for query in "SELECT format, state, tensors, parameters, nbytes, stored, files FROM checkpoint ORDER BY path" \
        "SELECT ord, name, dtype, shape, elements, nbytes, stored, storage, offset FROM tensor ORDER BY path, ord" \
        "SELECT key, value FROM metadata ORDER BY key, value" "SELECT role, size FROM file ORDER BY role, size" \
        "SELECT t.name, tensor_sha256(t.id) FROM tensor t ORDER BY path, ord"; do
        cmp <("$CKPTDB_BIN" --csv "$query") <("$CKPTDB_BIN" -d here.db --csv "$query") && echo same
    done
    for db in "$CKPTDB" here.db; do
        "$CKPTDB_BIN" -d "$db" export model.safetensors.index.json "$(basename "$db").npz" 2>/dev/null
    done
    cmp "$(basename "$CKPTDB").npz" here.db.npz && echo 'same export'
}
