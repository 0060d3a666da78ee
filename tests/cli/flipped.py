"""Flip random bits in the pages that hold layouts' tensors; each command must print what it printed before, or refuse."""
import os
import random
import shutil
import subprocess
import sys

BINARY, REAL = os.environ["CKPTDB_BIN"], sys.argv[1]
COMMANDS = [line.split() for line in """\
tensors llama
tree t5@1000000
diff llama again --all
diff llama t5@1000000
map run t5_to_t5x t5@1000000
map check llama_hf_to_gguf llama
export llama out.npz --names norm --force
get llama model.norm.weight""".splitlines()]


def run(*args):
    done = subprocess.run([BINARY, "-d", *args], capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


def main():
    for name, path in {"llama": "safetensors/llama_tiny", "again": "safetensors/llama_tiny", "t5": "tf/t5_mesh"}.items():
        shutil.copytree(os.path.join(REAL, path, "data"), name)
    run("good.db", "import", ".")
    size = int(run("good.db", "PRAGMA page_size")[1])
    pages = [int(n) for n in run("good.db", "SELECT pageno FROM dbstat WHERE name = '_layout_tensors'")[1].split()]
    with open("good.db", "rb") as file:
        good = file.read()
    used = [at for page in pages for at in range((page - 1) * size, page * size) if good[at]]
    before = [run("good.db", "--readonly", *command) for command in COMMANDS]
    rng = random.Random(int(os.environ.get("CKPTDB_SEED", "7")))
    refused, told, silent = 0, 0, 0
    for _ in range(40):
        bad = bytearray(good)
        at, bit = rng.choice(used), rng.randrange(8)
        bad[at] ^= 1 << bit
        with open("bad.db", "wb") as file:
            file.write(bad)
        for command, (status, rows, _) in zip(COMMANDS, before):
            now, now_rows, why = run("bad.db", "--readonly", *command)
            if (now, now_rows) == (status, rows):
                continue
            refused += now == 2 or (now and why != "")
            told += "is not what was written; import the same paths" in why
            if now == status:
                silent += 1
                print(f"byte {at}, bit {bit}: {' '.join(command)}: status {now}, other rows; {why.strip()}")
    print(f"{silent} silent;", "many refused" if refused > 60 else f"only {refused} refused;",
          "most say why" if told > refused // 2 else f"only {told} say why")


main()
