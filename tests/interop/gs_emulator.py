"""A bucket of gcp-storage-emulator gives the rows, hashes and exports of the same files here. gs_emulator.py CKPTDB"""
import csv
import importlib.util
import io
import json
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request

CKPTDB = os.path.abspath(sys.argv[1])
REAL = pathlib.Path(__file__).resolve().parent.parent / "fixtures/real/safetensors/llama_tiny/data"
QUERIES = [
    "SELECT format, state, tensors, parameters, nbytes, stored, files FROM checkpoint ORDER BY path",
    "SELECT name, dtype, shape, nbytes, stored, storage, offset, tensor_sha256(id) AS sum FROM tensor ORDER BY path, ord",
    "SELECT key, value FROM metadata ORDER BY key",
]
passed = failed = 0


def check(what, good):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print("FAIL", what)


def run(catalog, *words, **more):
    return subprocess.run([CKPTDB, "-d", catalog, *words], env={**os.environ, **more}, capture_output=True, text=True, timeout=300)


def rows(catalog, query, **more):
    return list(csv.reader(io.StringIO(run(catalog, "--csv", query, **more).stdout)))


def main(folder):
    from gcp_storage_emulator.server import create_server
    logging.disable(logging.CRITICAL)
    server = create_server("127.0.0.1", 0, in_memory=True)
    server.start()
    host = f"127.0.0.1:{server._api._httpd.server_port}"
    ask = urllib.request.build_opener(urllib.request.ProxyHandler({})).open

    def post(path, body, kind):
        return ask(urllib.request.Request(f"http://{host}{path}", body, {"Content-Type": kind})).read()

    def upload(name, data):
        query = urllib.parse.urlencode({"uploadType": "media", "name": name})
        post(f"/upload/storage/v1/b/models/o?{query}", data, "application/octet-stream")

    post("/storage/v1/b?project=test", json.dumps({"name": "models"}).encode(), "application/json")
    for path in REAL.iterdir():
        upload(f"a + b&c/ü%20/{path.name}", path.read_bytes())
    more = {"STORAGE_EMULATOR_HOST": "http://" + host, "HOME": folder}
    there, here = os.path.join(folder, "there.db"), os.path.join(folder, "here.db")
    run(here, "import", str(REAL))
    imported = run(there, "import", "gs://models/a + b&c", **more)
    check("import: " + imported.stderr, imported.returncode == 0 and "1 new" in imported.stderr)
    for query in QUERIES:
        check(query, len(rows(here, query)) > 1 and rows(here, query) == rows(there, query, **more))
    check("unchanged", "1 unchanged" in run(there, "import", "gs://models/a + b&c", **more).stderr)
    outs = [os.path.join(folder, name) for name in ("there.npz", "here.npz")]
    run(there, "export", "model.safetensors.index.json", outs[0], **more)
    run(here, "export", "model.safetensors.index.json", outs[1])
    check("export", all(map(os.path.exists, outs)) and len({pathlib.Path(o).read_bytes() for o in outs}) == 1)
    upload("a + b&c/ü%20/model-00003-of-00003.safetensors", (REAL / "model-00003-of-00003.safetensors").read_bytes())
    check("is found", "1 changed" in run(there, "import", "gs://models/a + b&c", **more).stderr)
    none = run(there, "import", "gs://none/x", **more)
    check("no bucket: " + none.stderr, none.returncode == 2)
    server.stop()


if importlib.util.find_spec("gcp_storage_emulator"):
    with tempfile.TemporaryDirectory() as scratch:
        main(scratch)
else:
    print("gcp-storage-emulator is not installed")
print(f"{passed} passed, {failed} failed")
