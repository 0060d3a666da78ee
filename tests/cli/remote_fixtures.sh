# Every checkpoint of the fixtures, as a repository of the hub and in buckets; those that are files, from a web server: rows, issues,
# hashes and exports as of the same files here, and in an import no file or folder is asked for twice.
cp -r "$TESTS/fixtures/real" www
port=''
serve www || exit
export HF_ENDPOINT=http://127.0.0.1:$port STORAGE_EMULATOR_HOST=127.0.0.1:$port
export AWS_ENDPOINT_URL=$HF_ENDPOINT/s3 AWS_ACCESS_KEY_ID=AKIATEST AWS_SECRET_ACCESS_KEY=geheim+secret AWS_DEFAULT_REGION=eu-test-1
unset HF_TOKEN HF_HOME HF_TOKEN_PATH HUGGING_FACE_HUB_TOKEN XDG_CACHE_HOME GOOGLE_APPLICATION_CREDENTIALS CLOUDSDK_CONFIG \
    AWS_PROFILE AWS_REGION AWS_SESSION_TOKEN AWS_ENDPOINT_URL_S3 AWS_SHARED_CREDENTIALS_FILE AWS_CONFIG_FILE

rows() {
    "$CKPTDB_BIN" -d "$1" --csv "SELECT $2" | sed -E "s#$PWD/www|$place##g" | sort
}
hashes() {
    "$CKPTDB_BIN" -d "$1" hash 2>&1
    echo "exit $?"
}
exports() { # CATALOG FOLDER
    "$CKPTDB_BIN" -d "$1" export --all '*' "$2" --format safetensors --no-meta --no-sync >/dev/null 2>&1
}
tensors="ord, name, dtype, shape, elements, nbytes, stored, storage, offset, file, path FROM tensor"
same() { # HERE THERE: catalogs
    for what in "name, run, step, format, state, tensors, parameters, nbytes, stored, files, path FROM checkpoint" \
        "$tensors" "checkpoint, key, value FROM metadata" "role, iif(role IN ('directory', 'chunks'), 0, size), path FROM file" \
        "code, severity, offset, message, path FROM issue"; do
        diff <(rows "$1" "$what") <(rows "$2" "$what") && echo "same ${what##* }"
    done
    diff <(hashes "$1" | sed "s#$PWD/www##g" | sort) <(hashes "$2" | sed -E "s#$place##g" | sort) && echo 'same hashes'
    exports "$2" there
    diff -r here there && echo 'same exports'
    rm -r there
}

"$CKPTDB_BIN" -d here.db import www 2>&1 | tail -n 1 >here.txt
exports here.db here
find here -type f | wc -l
for place in hf://org/repo s3://bucket gs://bucket; do
    echo "--- $place"
    "$CKPTDB_BIN" -d there.db import $place 2>&1 | tail -n 1 >there.txt
    cmp here.txt there.txt && grep -q '^ckptdb: [1-9][0-9]* new' there.txt && echo 'same checkpoints'
    awk '$4 != 200 && $4 != 206 && $4 != 302' log
    awk '{ print $1, $2, $3 }' log | sort | uniq -d
    same here.db there.db
    rm there.db log
done
echo '--- files from a web server'
place=http://127.0.0.1:$port
"$CKPTDB_BIN" -d here.db --list "SELECT path FROM checkpoint" | while read -r path; do [ ! -f "$path" ] || echo "${path#"$PWD/www"}"; done >files
mapfile -t files <files
"$CKPTDB_BIN" -d files.db import "${files[@]/#/$PWD/www}" >/dev/null 2>&1
"$CKPTDB_BIN" -d there.db import "${files[@]/#/$place}" >/dev/null 2>&1
[ ${#files[@]} -gt 60 ] && diff <(rows files.db "$tensors") <(rows there.db "$tensors") && echo 'same tensor'
diff <(hashes files.db | sed "s#$PWD/www##g" | sort) <(hashes there.db | sed -E "s#$place##g" | sort) && echo 'same hashes'
rm -r here
exports files.db here
exports there.db there
diff -r here there && [ "$(find here -type f | wc -l)" -gt 60 ] && echo 'same exports'
