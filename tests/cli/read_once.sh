# A file of several names is read once by each command that goes through the bytes of all: how much is counted by the kernel.
grep -q rchar /proc/self/io 2>/dev/null || { echo "SKIP: the kernel does not count what is read"; exit 77; }
python3 - <<'PY'
import json, os, subprocess
COUNT = 1 << 20 # so that what else is read is less than a file
SIZE = 4 * COUNT
header = json.dumps({"w": {"dtype": "F32", "shape": [COUNT], "data_offsets": [0, SIZE]}}).encode()
os.makedirs("m/sub")
for name in "a", "other":
    with open(f"m/{name}.safetensors", "wb") as out:
        out.write(len(header).to_bytes(8, "little") + header + os.urandom(SIZE))
for i in range(4):
    os.link("m/a.safetensors", f"m/sub/link{i}.safetensors")
os.symlink("a.safetensors", "m/soft.safetensors")
os.symlink("../other.safetensors", "m/sub/soft.safetensors")
def total():
    with open("/proc/self/io") as io:
        return int(next(line for line in io if line.startswith("rchar")).split()[1])
def run(*args):
    before = total()
    done = subprocess.run([os.environ["CKPTDB_BIN"], "-d", catalog, *args], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    print(*args, ": files read", (total() - before) // SIZE, "status", done.returncode, "lines", done.stdout.count(b"\n"))
for i, command in enumerate((["dedup"], ["hash"], ["hash", "--jobs", "1"])):
    catalog = f"{i}.db"
    subprocess.run([os.environ["CKPTDB_BIN"], "-d", catalog, "import", "m"], stderr=subprocess.DEVNULL)
    run(*command)
    run(*command) # it is known
    run("stats") # of what has a hash, once for each content
# without a catalog, too
catalog = "none.db"
run("hash", "m/a.safetensors", "m/sub/link0.safetensors", "m/soft.safetensors")
run("diff", "m/a.safetensors", "m/sub/link0.safetensors", "--bytes")
PY
