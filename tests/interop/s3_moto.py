"""A bucket of moto's server gives the rows, hashes and exports of the same files here. s3_moto.py CKPTDB"""
import csv
import importlib.util
import io
import logging
import os
import pathlib
import subprocess
import sys
import tempfile

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
    import boto3
    from moto.server import ThreadedMotoServer
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    url = "http://{}:{}".format(*server.get_host_and_port())
    client = boto3.client("s3", endpoint_url=url, aws_access_key_id="key", aws_secret_access_key="secret", region_name="eu-west-1")
    client.create_bucket(Bucket="models", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    for path in REAL.iterdir():
        client.upload_file(str(path), "models", f"a + b&c/ü%20/{path.name}")
    for i in range(1100):  # more than a page
        client.put_object(Bucket="models", Key=f"many/{i:04}.txt", Body=b"x")
    client.upload_file(str(REAL / "model-00003-of-00003.safetensors"), "models", "many/last.safetensors")
    client.put_object(Bucket="models", Key="bad/../up.safetensors", Body=b"x")

    home = pathlib.Path(folder, "home/.aws")
    home.mkdir(parents=True)
    (home / "credentials").write_text("[other]\naws_access_key_id = no\n[default]\naws_access_key_id = key\naws_secret_access_key = secret\n")
    (home / "config").write_text("[default]\nregion = eu-west-1\n")
    more = {"AWS_ENDPOINT_URL": url, "HOME": str(home.parent)}
    there, here = os.path.join(folder, "there.db"), os.path.join(folder, "here.db")
    run(here, "import", str(REAL))
    imported = run(there, "import", "s3://models/a + b&c", **more)
    check("import: " + imported.stderr, imported.returncode == 0 and "1 new" in imported.stderr)
    for query in QUERIES:
        check(query, rows(here, query) == rows(there, query, **more))
    check("unchanged", "1 unchanged" in run(there, "import", "s3://models/a + b&c", **more).stderr)
    outs = [os.path.join(folder, name) for name in ("there.npz", "here.npz")]
    run(there, "export", "model.safetensors.index.json", outs[0], **more)
    run(here, "export", "model.safetensors.index.json", outs[1])
    check("export", all(map(os.path.exists, outs)) and len({pathlib.Path(o).read_bytes() for o in outs}) == 1)
    many = run(there, "import", "s3://models/many", **more)
    check("more than a page: " + many.stderr, "1 new" in many.stderr)
    client.upload_file(str(REAL / "model-00002-of-00003.safetensors"), "models", "many/last.safetensors")
    stale = run(there, "get", "last.safetensors", "model.norm.weight", **more)
    check("changed: " + stale.stderr, stale.returncode != 0)
    check("is found", "1 changed" in run(there, "import", "s3://models/many", **more).stderr)
    bad = run(there, "import", "s3://models/bad", **more)
    check("a name that leads up: " + bad.stderr, bad.returncode != 0 and ".." in bad.stderr)
    check("no bucket", run(there, "import", "s3://none/x", **more).returncode == 2)
    check("no secret is kept", b"secret" not in pathlib.Path(there).read_bytes())
    server.stop()


if importlib.util.find_spec("moto") and importlib.util.find_spec("boto3"):
    with tempfile.TemporaryDirectory() as scratch:
        main(scratch)
else:
    print("moto and boto3 are not installed")
print(f"{passed} passed, {failed} failed")
