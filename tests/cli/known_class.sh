# What the classes that a pickle names are taken for: the table known_class, its shipped rows and a user's own.
python3 - <<'PY'
import io, zipfile
def pickled(*names):
    """A dict of a tensor and a call of each name: module, newline, name."""
    out = b"\x80\x02}q\x00"
    for i, name in enumerate(names):
        module, member = name.split(" ")
        out += b"U" + bytes([len(str(i))]) + str(i).encode() + b"c" + module.encode() + b"\n" + member.encode() + b"\n)Rs"
    w = b"U\x01wctorch._utils\n_rebuild_tensor_v2\n((U\x07storagectorch\nFloatStorage\nU\x010U\x03cpuK\x02tQK\x00K\x02\x85K\x01\x85\x89}tRs"
    return out + w + b"."
def put(path, *names):
    with zipfile.ZipFile(path, "w") as z:
        z.writestr("a/data.pkl", pickled(*names))
        z.writestr("a/data/0", bytes(8))
        z.writestr("a/version", "3\n")
import os
for folder in "safe", "bad", "own":
    os.mkdir(folder)
put("safe/run.pt", "transformers.training_args TrainingArguments", "accelerate.utils.dataclasses DistributedType",
    "omegaconf.dictconfig DictConfig", "pytorch_lightning.utilities.parsing AttributeDict", "numpy float64",
    "numpy.dtypes Float64DType", "datetime datetime", "argparse Namespace", "pathlib PosixPath",
    "torch.optim.lr_scheduler LambdaLR", "torch.optim.adamw AdamW", "torch.cuda.amp.grad_scaler GradScaler", "torch bfloat16",
    "__builtin__ xrange", "__builtin__ long", "UserDict IterableUserDict", "re _compile",
    "numpy.random.bit_generator __pyx_unpickle_SeedSequence") # the first three: Python 2's names, of pickles up to protocol 2
for i, name in enumerate("posix system;os popen;nt system;subprocess Popen;builtins exec;__builtin__ eval;builtins __import__;builtins getattr;"
                         "socket create_connection;shutil rmtree;importlib import_module;ctypes CDLL;webbrowser open;runpy run_path;pty spawn;"
                         "code InteractiveConsole;sys exit;operator attrgetter;torch.serialization os.system;"
                         "torch.optim.lr_scheduler warnings.sys.exit;pathlib PosixPath.unlink;torch.hub load;"
                         "commands Popen;commands call;urllib2 urlopen;httplib HTTPConnection;itertools imap;thread start_new_thread".split(";")):
    put(f"bad/{i:02}.pt", name)
for i in range(3):
    put(f"own/{i}.pt", "my.model Net", "my.model Net.Inner", "my.models Net")
put("own/3.pt", "my.model Net")
PY
echo '--- known'
"$CKPTDB_BIN" import safe 2>&1
echo "status $?"
echo '--- dangerous'
"$CKPTDB_BIN" import bad 2>&1 | sed 's/: nothing was imported.*would/ .../'
issues() { "$CKPTDB_BIN" "SELECT severity, code, path, offset, message FROM issue ORDER BY 3, 4, 5" | sed 's/: nothing was imported.*would/ .../'; }
"$CKPTDB_BIN" import bad >/dev/null 2>&1
echo "status $?"
"$CKPTDB_BIN" 'SELECT severity, code, count(*), count(offset) FROM issue GROUP BY 1, 2; SELECT DISTINCT state FROM checkpoint'
"$CKPTDB_BIN" verify 'bad/*' 2>&1 | tail -2
echo '--- unknown: one line for each class'
"$CKPTDB_BIN" forget '*' 2>/dev/null
"$CKPTDB_BIN" import own 2>&1
issues >first
"$CKPTDB_BIN" import own 2>&1
issues | cmp - first && wc -l <first
echo '--- own rows: an exact name wins, then the longest beginning'
own() { # ROWS
    "$CKPTDB_BIN" "DELETE FROM known_class WHERE name GLOB 'my*'; INSERT OR REPLACE INTO known_class VALUES $1"
    "$CKPTDB_BIN" import own 2>&1 | sed 's/: nothing was imported.*would/ .../'
    "$CKPTDB_BIN" 'SELECT severity, message, count(*) FROM issue GROUP BY 1, 2' | sed 's/: nothing was imported.*would/ .../'
}
own "('my.model.Net', 'safe', '')"
own "('my.*', 'safe', 'ours')"
own "('my.*', 'safe', 'ours'), ('my.model.*', 'dangerous', 'theirs')"
own "('my.*', 'dangerous', ''), ('my.model.*', 'safe', ''), ('my.model.Net.Inner', 'dangerous', 'it
[31m')"
own "('my.model.Ne', 'safe', ''), ('my.mode', 'safe', ''), ('my.model', 'safe', ''), ('my.mod*', 'safe', ''), ('*', 'safe', '')"
own "('my.models.*', 'safe', ''), ('my' || char(0) || '.*', 'safe', ''), (CAST(x'ff' AS TEXT), 'safe', CAST(x'ff' AS TEXT)), ('.*', 'safe', ''), ('..*', 'dangerous', '')"
own "(printf('%.1022c', 'a') || '.*', 'safe', '')"
echo '--- refused rows'
for row in "('', 'safe', '')" "('a', 'fine', '')" "(NULL, 'safe', '')" "(printf('%.1025c', 'a'), 'safe', '')"; do
    "$CKPTDB_BIN" "INSERT INTO known_class VALUES $row" 2>&1
done
echo '--- a row of a user over a shipped one stays; a newer program replaces the others'
"$CKPTDB_BIN" "UPDATE known_class SET verdict = 'safe' WHERE name = 'os.*'; UPDATE known_class SET why = 'older' WHERE name = 'numpy.float64'"
sqlite3 "$CKPTDB" "UPDATE _known_shipped SET edition = 7; UPDATE _known_shipped SET why = 'older' WHERE name = 'numpy.float64'; INSERT INTO _known_shipped VALUES ('gone', 'safe', '', 7); INSERT INTO known_class VALUES ('gone', 'safe', '')"
"$CKPTDB_BIN" import own >/dev/null 2>&1
"$CKPTDB_BIN" "SELECT name, verdict, why FROM known_class WHERE name IN ('os.*', 'numpy.float64', 'gone') ORDER BY name"
echo '--- a catalog made before there was such a table'
sqlite3 "$CKPTDB" 'DROP TABLE known_class; DROP TABLE _known_shipped'
"$CKPTDB_BIN" ls | wc -l
"$CKPTDB_BIN" --readonly ls | wc -l
"$CKPTDB_BIN" import --dry-run safe
"$CKPTDB_BIN" import bad 2>&1 | tail -1
"$CKPTDB_BIN" 'SELECT count(*) > 300 FROM known_class'
sqlite3 "$CKPTDB" 'DROP TABLE known_class; CREATE TABLE known_class(name, verdict, why); INSERT INTO known_class VALUES (NULL, 1, 2), (3, NULL, 4), (5, 6, 7), (printf('"'%.2000c', 'x'"'), '"'safe', '')"
"$CKPTDB_BIN" import bad 2>&1 | tail -1
