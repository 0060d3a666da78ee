"""The hub's own client accepts the tests' hub, and the program gets the same answers as it does. hub_client.py CKPTDB"""
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from common.places import REAL, check, rows, run, say_counts

SERVER = pathlib.Path(__file__).resolve().parents[1] / "cli/remote_server.py"
DTYPES = {"BF16": "bfloat16", "F32": "float32"}


def refused(error, call, *args, **more):
    try:
        call(*args, **more)
    except error:
        return True
    return False


def main(folder, endpoint, log):
    from huggingface_hub import HfApi, errors, hf_hub_download
    there, more = os.path.join(folder, "there.db"), {"HF_ENDPOINT": endpoint, "HOME": folder}
    api = HfApi(endpoint=endpoint, token=False)
    commit = api.model_info("org/model", revision="main").sha
    check("a commit: " + commit, len(commit) == 40)
    tree = list(api.list_repo_tree("org/model", revision=commit))
    check("all in the tree, page by page", sorted(f.path for f in tree) == sorted(p.name for p in REAL.iterdir()))
    check("sizes and sums of git-lfs", all(f.lfs.size == f.size == (REAL / f.path).stat().st_size for f in tree))
    for f in tree:
        got = hf_hub_download("org/model", f.path, revision=commit, endpoint=endpoint, token=False, cache_dir=folder)
        check("downloaded: " + f.path, pathlib.Path(got).read_bytes() == (REAL / f.path).read_bytes())

    imported = run(there, "import", "hf://org/model", **more)
    check("import: " + imported.stderr, "1 new" in imported.stderr)
    ours = {name: (dtype, shape, int(begin)) for name, dtype, shape, begin in
            rows(there, "SELECT name, dtype, shape, offset FROM tensor")[1:]}
    theirs = {}
    for file, meta in api.get_safetensors_metadata("org/model", revision=commit).files_metadata.items():
        data = 8 + int.from_bytes((REAL / file).read_bytes()[:8], "little")
        for name, t in meta.tensors.items():
            theirs[name] = (DTYPES[t.dtype], "[" + ",".join(map(str, t.shape)) + "]", data + t.data_offsets[0])
    check("tensors as the client reads them", ours == theirs and len(ours) > 30)

    check("gated", refused(errors.GatedRepoError, api.model_info, "org/gated", revision="main"))
    gated = run(there, "import", "hf://org/gated", **more)
    check("and for us: " + gated.stderr, gated.returncode != 0 and "gated" in gated.stderr and "HF_TOKEN" in gated.stderr)
    check("none", refused(errors.RepositoryNotFoundError, api.model_info, "org/none", revision="main"))
    check("no file", refused(errors.EntryNotFoundError, hf_hub_download, "org/model", "no", revision=commit, endpoint=endpoint,
                             token=False, cache_dir=folder))
    api = HfApi(endpoint=endpoint, token="geheim")
    log.write_text("")
    hf_hub_download("org/gated", "config.json", revision=api.model_info("org/gated", revision="main").sha, endpoint=endpoint,
                    token="geheim", cache_dir=folder)
    check("with its token", run(there, "import", "hf://org/gated", HF_TOKEN="geheim", **more).returncode == 0)
    lines = log.read_text().splitlines()
    check("which goes to no other host", not any(line.startswith("2") and "auth" in line for line in lines)
          and sum(line.startswith("1") and "auth" in line for line in lines) > 5)


if importlib.util.find_spec("huggingface_hub"):
    with tempfile.TemporaryDirectory() as scratch:
        os.environ.update(HF_HOME=scratch, HF_HUB_DISABLE_PROGRESS_BARS="1", HF_HUB_DISABLE_XET="1")
        shutil.copytree(REAL, os.path.join(scratch, "www"))
        server = subprocess.Popen([sys.executable, str(SERVER), "www", "ports", "log"], cwd=scratch, stdin=subprocess.PIPE)
        ports = pathlib.Path(scratch, "ports")
        while not ports.exists():
            time.sleep(0.05)
        try:
            main(scratch, "http://127.0.0.1:" + ports.read_text().split()[0], pathlib.Path(scratch, "log"))
        finally:
            server.stdin.close()
            server.wait()
else:
    print("huggingface_hub is not installed")
say_counts()
