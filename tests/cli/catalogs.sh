# Which catalog is meant, and who makes a missing one.
mkdir empty
where() {
    "$CKPTDB_BIN" "$@" import empty 2>/dev/null
    "$CKPTDB_BIN" "$@" "SELECT file FROM pragma_database_list WHERE name = 'main'"
    status=$?
    [ $status = 0 ] || echo "status $status"
}
echo "--- -d, then the environment"
where -d given.db
where
CKPTDB='' XDG_DATA_HOME=$PWD/data where
CKPTDB='' XDG_DATA_HOME=not/absolute where
CKPTDB='' where
CKPTDB='' HOME='' where
find data -type f
echo "--- only import makes one, and a shell for people"
for command in ls 'tensors 1' 'tree 1' 'show 1 x' 'get 1 x' 'export 1 x.npy' 'forget 1' 'relocate a b' \
               'map list'; do
    $CKPTDB_BIN -d new.db $command 2>/dev/null
    echo "$command: status $?, $(ls new.db 2>/dev/null || echo no catalog)"
done
"$CKPTDB_BIN" -d new.db -c .ls 2>/dev/null
echo ".ls: status $?, $(ls new.db 2>/dev/null || echo no catalog)"
"$CKPTDB_BIN" -d new.db 'SELECT 1' 2>/dev/null
echo "SQL: status $?, $(ls new.db 2>/dev/null || echo no catalog)"
echo 'SELECT 1' | "$CKPTDB_BIN" -d new.db
echo "statements from a pipe: status $?, $(ls new.db 2>/dev/null || echo no catalog)"
mkfifo pipe
timeout 100 "$CKPTDB_BIN" -d pipe ls
echo "a pipe: status $?"
"$CKPTDB_BIN" -d new.db import empty 2>/dev/null
echo "import: status $?, $(ls new.db)"
echo "--- what a catalog is"
"$CKPTDB_BIN" "SELECT printf('%x', application_id), user_version > 0 FROM pragma_application_id, pragma_user_version"
echo "--- --readonly"
"$CKPTDB_BIN" -d new.db --readonly 'SELECT count(*) FROM checkpoint'
"$CKPTDB_BIN" -d new.db --readonly import empty
echo "status $?"
echo "--- a path that is not there makes none"
"$CKPTDB_BIN" -d none.db import empty nowhere
echo "status $?, $(ls none.db 2>/dev/null || echo no catalog)"
echo "--- -d and --readonly behind the command"
"$CKPTDB_BIN" import empty -d behind.db
"$CKPTDB_BIN" ls -d behind.db --readonly
echo "status $?, $(ls behind.db)"
"$CKPTDB_BIN" import empty -d behind.db --readonly
echo "status $?"
"$CKPTDB_BIN" -d behind.db ls -d new.db
echo "status $?"
"$CKPTDB_BIN" ls -d
echo "status $?"
"$CKPTDB_BIN" -d behind.db -c '.ls -d new.db'
echo "status $?"
echo "--- a path that begins with two slashes"
"$CKPTDB_BIN" -d "/$PWD/slashes.db" import empty
"$CKPTDB_BIN" -d "/$PWD/slashes.db" --readonly 'SELECT count(*) FROM checkpoint'
echo "status $?, $(ls slashes.db)"
