"""A bucket of gcp-storage-emulator gives the rows, hashes and exports of the same files here. gs_emulator.py CKPTDB"""
import importlib.util
import json
import logging
import pathlib
import tempfile
import urllib.parse
import urllib.request

from common.places import REAL, check, compare_bucket, run, say_counts


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
    there = compare_bucket(folder, "gs://models/a + b&c", **more)
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
say_counts()
