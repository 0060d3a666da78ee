"""What scripts of places on other machines share: counts, runs of the program, and a bucket against the same files here."""
import csv
import io
import os
import pathlib
import subprocess
import sys

CKPTDB = os.path.abspath(sys.argv[1])
REAL = pathlib.Path(__file__).resolve().parents[2] / "fixtures/real/safetensors/llama_tiny/data"
QUERIES = [
    "SELECT format, state, tensors, parameters, nbytes, stored, files FROM checkpoint ORDER BY path",
    "SELECT name, dtype, shape, nbytes, stored, storage, offset, tensor_sha256(id) AS sum FROM tensor ORDER BY path, ord",
    "SELECT key, value FROM metadata ORDER BY key",
]
counts = {"passed": 0, "failed": 0}


def check(what, good):
    counts["passed" if good else "failed"] += 1
    if not good:
        print("FAIL", what)


def say_counts():
    print("{passed} passed, {failed} failed".format(**counts))


def run(catalog, *words, **more):
    """The program, without this machine's proxies and authorities; `more` are variables of its environment."""
    others = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "ssl_cert_file", "curl_ca_bundle")
    env = {k: v for k, v in os.environ.items() if k.lower() not in others}
    return subprocess.run([CKPTDB, "-d", catalog, *words], env={**env, **more}, capture_output=True, text=True, timeout=300)


def rows(catalog, query, **more):
    return list(csv.reader(io.StringIO(run(catalog, "--csv", query, **more).stdout)))


def compare_bucket(folder, url, **more):
    """The files of REAL at a URL give what they give here. Returns the catalog of the bucket."""
    there, here = os.path.join(folder, "there.db"), os.path.join(folder, "here.db")
    run(here, "import", str(REAL))
    imported = run(there, "import", url, **more)
    check("import: " + imported.stderr, imported.returncode == 0 and "1 new" in imported.stderr)
    for query in QUERIES:
        check(query, len(rows(here, query)) > 1 and rows(here, query) == rows(there, query, **more))
    check("unchanged", "1 unchanged" in run(there, "import", url, **more).stderr)
    outs = [os.path.join(folder, name) for name in ("there.npz", "here.npz")]
    run(there, "export", "model.safetensors.index.json", outs[0], **more)
    run(here, "export", "model.safetensors.index.json", outs[1])
    check("export", all(map(os.path.exists, outs)) and len({pathlib.Path(o).read_bytes() for o in outs}) == 1)
    return there
