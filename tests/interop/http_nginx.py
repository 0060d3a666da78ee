"""Files of nginx: ranges, none, throttled, cut off, TLS of an own authority, a proxy; HTTP/2 and kept connections. http_nginx.py CKPTDB"""
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

from common.places import REAL, check, run, say_counts

NGINX = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
CONFIG = """
{user}worker_processes 1; daemon off; pid {d}/pid; error_log {d}/error.log;
events {{ worker_connections 256; }}
http {{
  client_body_temp_path {d}/t1; proxy_temp_path {d}/t2; fastcgi_temp_path {d}/t3; uwsgi_temp_path {d}/t4; scgi_temp_path {d}/t5;
  log_format all '$server_protocol $connection $status $uri'; access_log {d}/access.log all;
  root {d}/www;
  server {{
    listen 127.0.0.1:{plain};
    location /whole/ {{ alias {d}/www/; max_ranges 0; }}
    location /slow/ {{ alias {d}/www/; limit_rate 40k; }}
    location /cut/ {{ return 444; }}
    location /zip/ {{ alias {d}/www/; gzip on; gzip_types *; gzip_min_length 1; }}
  }}
  server {{ listen 127.0.0.1:{tls} ssl http2; ssl_certificate {d}/host.pem; ssl_certificate_key {d}/host.key; }}
}}
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def authority(d):
    """ca.pem, and host.pem for 127.0.0.1, which it signs."""
    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=d, check=True, capture_output=True)
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=test authority")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "host.key", "-out", "host.csr", "-subj", "/CN=127.0.0.1")
    (d / "ext").write_text("subjectAltName=IP:127.0.0.1\n")
    openssl("x509", "-req", "-in", "host.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "host.pem", "-days", "2", "-extfile", "ext")


def compare(d, name, url, **more):
    """Rows and hashes of a set as of the same files here; the log of its requests."""
    there = str(d / f"{name}.db")
    (d / "access.log").write_text("")
    imported = run(there, "import", url + "/model.safetensors.index.json", **more)
    check(f"{name}: {imported.stderr}", imported.returncode == 0 and "1 new" in imported.stderr)
    query = "SELECT name, dtype, shape, nbytes, storage, offset, tensor_sha256(id) AS sum FROM tensor ORDER BY ord"
    rows = [run(db, "--csv", query, **more).stdout for db in (there, str(d / "here.db"))]
    check(f"{name}: rows", len(rows[0]) > 1000 and rows[0] == rows[1])
    time.sleep(0.2)
    return [line.split() for line in (d / "access.log").read_text().splitlines()]


def main(d):
    plain, tls = free_port(), free_port()
    authority(d)
    shutil.copytree(REAL, d / "www")
    (d / "nginx.conf").write_text(CONFIG.format(user="user root; " if os.getuid() == 0 else "", d=d, plain=plain, tls=tls))
    server = subprocess.Popen([NGINX, "-p", str(d), "-c", str(d / "nginx.conf"), "-e", str(d / "error.log")])
    try:
        for port in plain, tls:
            for _ in range(100):
                with socket.socket() as s:
                    if s.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.05)
        http, https = f"http://127.0.0.1:{plain}", f"https://127.0.0.1:{tls}"
        ca = str(d / "ca.pem")
        run(str(d / "here.db"), "import", str(REAL / "model.safetensors.index.json"))
        log = compare(d, "ranges", http)
        check("only parts", log and all(line[2] == "206" for line in log if "model-" in line[3]))
        compare(d, "throttled", http + "/slow")
        compare(d, "packed", http + "/zip")
        whole = run(":memory:", "import", http + "/whole/model-00001-of-00003.safetensors")
        check("no ranges: " + whole.stderr, whole.returncode and "no ranges" in whole.stderr)
        cut = run(":memory:", "import", http + "/cut/model-00001-of-00003.safetensors")
        check("cut off: " + cut.stderr, cut.returncode and "cannot be fetched" in cut.stderr)
        unknown = run(":memory:", "import", https + "/model-00001-of-00003.safetensors")
        check("an unknown authority: " + unknown.stderr, unknown.returncode and "certificate" in unknown.stderr)
        name = run(":memory:", "import", f"https://localhost:{tls}/model-00001-of-00003.safetensors", SSL_CERT_FILE=ca)
        check("another host's certificate: " + name.stderr, name.returncode and "localhost" in name.stderr and "0 new" in name.stderr)
        for variable in "SSL_CERT_FILE", "CURL_CA_BUNDLE":
            log = compare(d, variable, https, **{variable: ca})
            check("HTTP/2", log and all(line[0] == "HTTP/2.0" for line in log))
            check("connections are kept: " + str(log), len({line[1] for line in log}) < len(log))
        dead = f"http://127.0.0.1:{free_port()}"
        refused = run(":memory:", "import", https + "/model-00001-of-00003.safetensors", SSL_CERT_FILE=ca, https_proxy=dead)
        check("a proxy is used: " + refused.stderr, refused.returncode and "0 new" in refused.stderr)
        around = run(":memory:", "import", https + "/model-00001-of-00003.safetensors", SSL_CERT_FILE=ca, https_proxy=dead, no_proxy="127.0.0.1")
        check("no_proxy: " + around.stderr, "1 new" in around.stderr)
    finally:
        server.terminate()
        server.wait()


if NGINX and shutil.which("openssl"):
    with tempfile.TemporaryDirectory() as scratch:
        main(pathlib.Path(scratch))
else:
    print("nginx (Debian package nginx-light) or openssl is not installed")
say_counts()
