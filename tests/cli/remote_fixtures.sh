# Every checkpoint of the fixtures, as a repository of the hub: rows, issues and hashes as of the same files here, and in an import
# no file or folder is asked for twice.
cp -r "$TESTS/fixtures/real" www
port=''
serve www || exit
export HF_ENDPOINT=http://127.0.0.1:$port
unset HF_TOKEN HF_HOME HF_TOKEN_PATH HUGGING_FACE_HUB_TOKEN XDG_CACHE_HOME

relative() { sed -e "s|$PWD/www||g; s|hf://org/repo||g"; }
"$CKPTDB_BIN" -d here.db import www 2>&1 | tail -n 1 >here.txt
"$CKPTDB_BIN" -d there.db import hf://org/repo 2>&1 | tail -n 1 >there.txt
cmp here.txt there.txt && grep -q '^ckptdb: [1-9][0-9]* new' there.txt && echo 'same checkpoints'
awk '$4 != 200 && $4 != 206 && $4 != 302' log
awk '{ print $1, $2, $3 }' log | sort | uniq -d
for what in "name, run, step, format, state, tensors, parameters, nbytes, stored, files, path FROM checkpoint" \
    "ord, name, dtype, shape, elements, nbytes, stored, storage, offset, file, path FROM tensor" \
    "checkpoint, key, value FROM metadata" "role, iif(role IN ('directory', 'chunks'), 0, size), path FROM file" \
    "code, severity, offset, message, path FROM issue"; do
    diff <("$CKPTDB_BIN" -d here.db --csv "SELECT $what" | relative | sort) \
        <("$CKPTDB_BIN" -d there.db --csv "SELECT $what" | relative | sort) && echo "same ${what##* }"
done
for db in here there; do
    "$CKPTDB_BIN" -d $db.db hash >$db.out 2>$db.err
    echo "exit $?" >>$db.out
    relative <$db.err | sort >>$db.out
done
diff <(sort here.out) <(sort there.out) && echo 'same hashes'
