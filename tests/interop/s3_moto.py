"""A bucket of moto's server gives the rows, hashes and exports of the same files here. s3_moto.py CKPTDB"""
import importlib.util
import logging
import pathlib
import tempfile

from common.places import REAL, check, compare_bucket, run, say_counts


def versions(client, folder, there, more):
    """A bucket that keeps versions, of a file in parts: its tag is no checksum, and ends in -N."""
    from boto3.s3.transfer import TransferConfig
    parts = TransferConfig(multipart_threshold=1 << 20, multipart_chunksize=5 << 20)
    client.put_bucket_versioning(Bucket="models", VersioningConfiguration={"Status": "Enabled"})
    file = pathlib.Path(folder, "parts.safetensors")
    header = b'{"w": {"dtype": "U8", "shape": [%d], "data_offsets": [0, %d]}}' % (11 << 20, 11 << 20)

    def upload(last):
        file.write_bytes(len(header).to_bytes(8, "little") + header + bytes((11 << 20) - 1) + last)
        client.upload_file(str(file), "models", "kept/parts.safetensors", Config=parts)
        return client.head_object(Bucket="models", Key="kept/parts.safetensors")

    def get():
        return run(there, "get", "parts.safetensors", "w", "--slice=-1:", **more)
    first = upload(b"1")
    check("in parts: " + first["ETag"], first["ETag"].endswith('-3"'))
    check("imported", "1 new" in run(there, "import", "s3://models/kept", **more).stderr)
    check("and read", get().stdout.split() == ["[49]"])
    second = upload(b"2")
    check("another version", second["VersionId"] != first["VersionId"])
    check("is seen: " + get().stderr, get().returncode != 0 and "import it again" in get().stderr)
    check("and imported", "1 changed" in run(there, "import", "s3://models/kept", **more).stderr and get().stdout.split() == ["[50]"])
    client.delete_object(Bucket="models", Key="kept/parts.safetensors", VersionId=second["VersionId"])
    check("the first again", "1 changed" in run(there, "import", "s3://models/kept", **more).stderr and get().stdout.split() == ["[49]"])
    client.delete_object(Bucket="models", Key="kept/parts.safetensors")  # a marker; the version is there
    check("deleted: " + get().stderr, get().returncode != 0)


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
    there = compare_bucket(folder, "s3://models/a + b&c", **more)
    many = run(there, "import", "s3://models/many", **more)
    check("more than a page: " + many.stderr, "1 new" in many.stderr)
    client.upload_file(str(REAL / "model-00002-of-00003.safetensors"), "models", "many/last.safetensors")
    stale = run(there, "get", "last.safetensors", "model.norm.weight", **more)
    check("changed: " + stale.stderr, stale.returncode != 0)
    check("is found", "1 changed" in run(there, "import", "s3://models/many", **more).stderr)
    versions(client, folder, there, more)
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
say_counts()
