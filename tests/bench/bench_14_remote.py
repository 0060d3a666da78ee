"""Headers of 1,000 files of a hub that answers after 20 ms, against huggingface_hub's client; 1 GiB from nginx, against curl."""
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time

import make_files

HERE = pathlib.Path(__file__).resolve().parent
FILES, LAYERS, DELAY = 1000, 12, 0.02
HUB = """import concurrent.futures, huggingface_hub, sys
api = huggingface_hub.HfApi(token=False)
def one(name): return len(api.parse_safetensors_file_metadata("org/repo", name).tensors)
threads = int(sys.argv[1])
with concurrent.futures.ThreadPoolExecutor(threads) as pool: print(sum(pool.map(one, sys.argv[2:])))"""


def headers(bench):
    python = bench.python_with("huggingface_hub")
    names = [f"remote: headers of {bench.count(FILES)} files, 20 ms / huggingface_hub, {t} threads" for t in (1, 32)]
    if not any(map(bench.wants, names)):
        return
    if not python:
        return bench.leave_out(names[0], "there is no huggingface_hub")
    folder, catalog = bench.root / "hub", bench.root / "hub.db"
    folder.mkdir()
    for i in range(bench.count(FILES)):
        text, size = make_files.header(make_files.names(LAYERS, f"m{i}"), width=8)
        make_files.write(folder / f"model-{i:05d}.safetensors", text, size)
    server = subprocess.Popen([sys.executable, str(HERE / "hub_server.py"), str(folder), str(DELAY)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    os.environ["HF_ENDPOINT"] = f"http://127.0.0.1:{server.stdout.readline().strip()}"
    count = "SELECT sum(tensors) FROM checkpoint"
    for name, threads, goal in zip(names, (1, 32), (0.2, None)):
        if bench.wants(name):
            bench.compare(name, [bench.ckptdb, "-d", str(catalog), "import", "hf://org/repo"],
                          [python, "-c", HUB, str(threads), *sorted(os.listdir(folder))], goal,
                          before=lambda side: side or catalog.unlink(missing_ok=True),
                          same=lambda _, reference: bench.run([bench.ckptdb, "-d", str(catalog), "--list", count])[1] == reference)
    server.communicate()
    del os.environ["HF_ENDPOINT"]


def export(bench):
    size = bench.count(1 << 30)
    name, nginx = f"remote: export of {size >> 20} MiB / curl", shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
    if not bench.wants(name):
        return
    if not nginx or not shutil.which("curl"):
        return bench.leave_out(name, "there is no nginx, or no curl")
    folder = bench.root / "www"
    folder.mkdir(mode=0o755)
    os.chmod(bench.root, 0o755)
    each = size // 32
    text = json.dumps({f"layer.{i}.weight": {"dtype": "U8", "shape": [each], "data_offsets": [i * each, (i + 1) * each]} for i in range(32)})
    with open(folder / "large.safetensors", "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text.encode())
        for _ in range(32):
            f.write(os.urandom(each))
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    conf = bench.root / "nginx.conf"
    conf.write_text(f"worker_processes 1; daemon off; pid {bench.root}/pid; error_log {bench.root}/error.log;\n"
                    "events {}\n" f"http {{ sendfile on; access_log off; client_body_temp_path {bench.root}/t1; proxy_temp_path {bench.root}/t2;"
                    f" fastcgi_temp_path {bench.root}/t3; uwsgi_temp_path {bench.root}/t4; scgi_temp_path {bench.root}/t5;"
                    f" server {{ listen 127.0.0.1:{port}; root {folder}; }} }}\n")
    server = subprocess.Popen([nginx, "-e", f"{bench.root}/error.log", "-c", str(conf)])
    time.sleep(1)
    url, catalog = f"http://127.0.0.1:{port}/large.safetensors", bench.root / "large.db"
    ours, theirs = bench.root / "ours.safetensors", bench.root / "theirs.safetensors"
    bench.run([bench.ckptdb, "-d", str(catalog), "import", url])
    bench.compare(name, [bench.ckptdb, "-d", str(catalog), "export", "large.safetensors", str(ours), "--no-sync"],
                  ["curl", "-s", "-o", str(theirs), url], 1.1, before=lambda side: [ours, theirs][side].unlink(missing_ok=True),
                  same=lambda *_: bench.run([bench.ckptdb, "diff", str(ours), str(theirs), "--bytes"]))
    server.terminate()
    server.wait()
    shutil.rmtree(folder)


def run(bench):
    headers(bench)
    export(bench)
