# Many names of one folder in one command: each means what it means alone, and the folder is read
# once (20,000 names took hours when it was read for each).
mkdir here
cp -r "$TESTS"/fixtures/real/tf/saver_run/data/* "$TESTS"/fixtures/real/tf/v2_sharded3/data/* here/
for set in y_two n_extra-shard_third n_missing-shard_second; do
    for file in "$TESTS/fixtures/safetensors_index/$set"/*; do
        name=$(basename "$file")
        cp "$file" "here/${name/model/$set}"
    done
    sed -i "s/model-/$set-/g" "here/$set.safetensors.index.json"
done
cp "$TESTS/fixtures/npz/y_stored.npz" here/
cp "$TESTS/fixtures/npz/y_stored.npz" here/a.orbax-checkpoint-tmp-1
cp "$TESTS/fixtures/npy"/n_truncated*.npy "$TESTS/fixtures/gguf/y_one.gguf" here/
cp -r "$TESTS/fixtures/tf_v1/y_slices" "$TESTS/fixtures/tf_v1/y_two_files" here/
echo notes >here/notes.txt
echo notes >here/notes.npz
printf '\34\0\0\0TFL3' >here/model.tflite
mkfifo here/pipe
chmod -R u+w here
rows() {
    "$CKPTDB_BIN" -d "$1" --list "SELECT path, format, state, tensors FROM checkpoint ORDER BY 1" \
        "SELECT path, role FROM file ORDER BY 1, 2" "SELECT severity, path, code, message FROM issue ORDER BY 1, 2, 3, 4" \
        "SELECT path FROM _passed ORDER BY 1" "SELECT path, kind FROM _unread ORDER BY 1"
}
prefixes=$(ls here/*.index | sed 's/\.index$//')
for order in "$(ls -d here/*) $prefixes" "$prefixes $(ls -dr here/*)"; do
    rm -f alone.db together.db
    for name in $order; do
        "$CKPTDB_BIN" -d alone.db import "$name" >/dev/null 2>&1
    done
    # shellcheck disable=SC2086 # names without spaces
    "$CKPTDB_BIN" -d together.db import $order >/dev/null 2>&1
    echo "status $?"
    rows alone.db >alone
    rows together.db >together
    diff alone together | head -20
done
"$CKPTDB_BIN" -d together.db --list "SELECT format, count(*) FROM checkpoint GROUP BY 1" "SELECT code, count(*) FROM issue GROUP BY 1"
# What an argument led to, and was not imported, is reported: the files of a prefix, a save in progress.
echo '--- named and not imported'
mkdir odd odd/dir
echo garbage >odd/ckpt.index
echo garbage >odd/ckpt.data-00000-of-00001
head -c 100 here/y_two_files/export-00000-of-00002 >odd/old-00000-of-00001
cp here/y_two_files/export-00000-of-00002 odd/zeros-00000-of-00001
chmod u+w odd/*
dd if=/dev/zero of=odd/zeros-00000-of-00001 bs=1 seek=60 count=15 conv=notrunc 2>/dev/null
echo garbage >odd/dir.index
for temporary in odd/foo.tmp-1.safetensors odd/m_temp; do
    cp "$TESTS/fixtures/npy/y_one.npy" $temporary 2>/dev/null || cp here/y_stored.npz $temporary
done
for file in here/y_two_files/*; do cp "$file" odd/busy.tmp-1"${file#here/y_two_files/export}"; done
for file in here/y_two-*.safetensors; do cp "$file" odd/${file#here/}; done
for argument in ckpt old zeros dir foo.tmp-1.safetensors m_temp dir.index busy.tmp-1 y_two; do
    for _ in 1 2; do # the second time, the issues are the catalog's
        "$CKPTDB_BIN" -d odd.db import odd/$argument 2>&1 | sed "s|$PWD/||"
        echo "$argument: status ${PIPESTATUS[0]}"
    done
done
echo '--- beside many others that came to nothing, one that is told of'
mkdir told && echo garbage >told/ckpt.index
for i in {10..29}; do cp here/y_two-00001-of-00002.safetensors told/a$i-00001-of-00002.safetensors; done
"$CKPTDB_BIN" -d told.db import told/a{10..29} told/ckpt 2>&1
# The prefixes of a folder are looked for in one pass: a pass for each took over 10 s.
echo '--- many prefixes'
python3 - "$TESTS"/fixtures/real/tf/saver_run/data/model.ckpt-100 <<'END'
import os, sys
os.mkdir("many")
for end in (".index", ".data-00000-of-00001"):
    data = open(sys.argv[1] + end, "rb").read()
    for i in range(1500):
        open(f"many/m{i}{end}", "wb").write(data)
END
# shellcheck disable=SC2046 # names without spaces
(ulimit -t $((10 * SLOW)) && "$CKPTDB_BIN" -d many.db import $(seq -f 'many/m%.0f' 0 1499) 2>&1)
"$CKPTDB_BIN" -d many.db --list "SELECT count(*), sum(path LIKE '%/many/m1') FROM checkpoint"
# An import replaces what the walk said below its arguments, and searches no other issues for it.
echo '--- a thousand arguments in a catalog of 100,000 issues'
mkdir folders
(cd folders && seq -f d%g 1000 | xargs mkdir)
"$CKPTDB_BIN" -d folders.db import here >/dev/null 2>&1
sqlite3 folders.db "DELETE FROM _issues; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
    INSERT INTO _issues (path, severity, code, message) SELECT '/elsewhere/model-' || i || '.safetensors', 'warning', 'vanished', '' FROM n"
for path in d1 d1/below d1/below/that d1-beside d1.beside d10 d10/below d d0 d1000/below; do
    sqlite3 folders.db "INSERT INTO _issues (path, severity, code, message) VALUES ('$PWD/folders/$path', 'warning', 'vanished', '')"
done
(ulimit -t $((5 * SLOW)) && "$CKPTDB_BIN" -d folders.db import folders/d?*)
echo "status $?"
"$CKPTDB_BIN" -d folders.db --list "SELECT path FROM _issues WHERE path NOT GLOB '/elsewhere/*' ORDER BY 1" "SELECT count(*) FROM _issues"
# Whether the folder of files without a suffix is inside a checkpoint is found out once.
echo '--- many files without a suffix'
python3 - here/y_stored.npz <<'END'
import os, sys
data = open(sys.argv[1], "rb").read()
os.mkdir("plain")
for i in range(4000):
    open(f"plain/n{i}", "wb").write(data)
END
(cd plain && ulimit -t $((10 * SLOW)) && "$CKPTDB_BIN" -d ../plain.db import n* 2>&1)
cp -r "$TESTS/fixtures/zarr/y_keys" inside
find inside -type f | sort | xargs "$CKPTDB_BIN" -d inside.db import 2>&1
"$CKPTDB_BIN" -d inside.db --list "SELECT format, path LIKE '%/inside' FROM checkpoint"
