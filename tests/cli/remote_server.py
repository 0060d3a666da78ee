#!/usr/bin/env python3
"""remote_server.py FOLDER PORTS LOG: two web servers for the tests of remote paths, until stdin ends.

PORTS gets their two port numbers. /FILE is a file of FOLDER, in ranges; /MODE/FILE is the same, but something is
wrong with it (the methods mode_*). The second server knows only plain files. LOG gets a line a request: the
port's number (1, 2), path, range, status, and "auth" where the request said who is asking.
"""
import collections
import hashlib
import http.server
import json
import os
import sys
import threading
import time
import urllib.parse

import remote_buckets

folder, ports, log = sys.argv[1:]
lock = threading.Lock()
seen = collections.Counter()
crowds = collections.defaultdict(threading.Event)
servers = []


class Handler(remote_buckets.Buckets, http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # a body is written behind its headers: it would wait for their delayed ACK

    def log_message(self, *_):
        pass

    def note(self, status):
        auth = " auth" if self.headers.get("Authorization") else ""
        packed = " packed" if self.headers.get("Accept-Encoding", "identity") != "identity" else ""
        with lock, open(log, "a", encoding="utf-8") as f:
            f.write(f"{self.server.number} {self.path} {self.headers.get('Range', '-')} {status}{auth}{packed}\n")

    def answer(self, status, body=b"", **headers):
        self.note(status)
        self.send_response(status)
        headers.setdefault("Content_Length", len(body))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            pass

    def do_GET(self):
        parts = self.path.lstrip("/").split("/", 1)
        if self.server.number == 1 and (parts[0] == "api" or "/resolve/" in self.path):
            return self.hub()
        if self.server.number == 1 and parts[0] in ("storage", "s3"):
            return getattr(self, parts[0])(folder, servers[1].server_port)
        if os.path.exists(os.path.join(folder, "hang")):
            return self.mode_hang(self.path)
        mode = getattr(self, "mode_" + parts[0], None) if self.server.number == 1 and len(parts) == 2 else None
        if mode:
            mode(parts[1])
        else:
            self.send_file(self.path)

    def do_HEAD(self):
        return self.hub()

    def read(self, name):
        try:
            with open(os.path.join(folder, urllib.parse.unquote(name.lstrip("/"))), "rb") as f:
                return f.read(), f'"{os.fstat(f.fileno()).st_mtime_ns}"'
        except OSError:
            return None, None

    def send_file(self, name, shift=0, cut=0, **more):
        try:
            f = open(os.path.join(folder, urllib.parse.unquote(name.lstrip("/"))), "rb")
        except OSError:
            return self.answer(404)
        with f:
            size, tag = os.fstat(f.fileno()).st_size, f'"{os.fstat(f.fileno()).st_mtime_ns}"'
            if self.headers.get("If-Match", tag) != tag:
                return self.answer(412)
            if "Range" not in self.headers:  # the hub's own client
                return self.answer(200, f.read(), ETag=tag)
            first, last = self.headers["Range"].removeprefix("bytes=").split("-")
            first, last = int(first), min(int(last), size - 1)
            if first >= size:
                return self.answer(416, Content_Range=f"bytes */{size}")
            f.seek(first)
            body = f.read(last + 1 - first)
        more = {"Content_Range": f"bytes {first + shift}-{last + shift}/{size}", "ETag": tag, **more}
        if cut:
            more["Content_Length"] = len(body)
            self.close_connection = True
        self.answer(206, body[:len(body) - cut], **more)

    def range_of(self, data):
        first, last = self.headers["Range"].removeprefix("bytes=").split("-")
        return f"bytes {first}-{min(int(last), len(data) - 1)}/{len(data)}"

    def count(self):
        with lock:
            seen[self.path] += 1
            return seen[self.path]

    # --- the hub: every repository has the files of FOLDER, two names a page; org/gated wants the token "geheim"

    def hub(self):
        url = urllib.parse.urlsplit(self.path)
        words = url.path.lstrip("/").removeprefix("api/").removeprefix("models/").removeprefix("datasets/").split("/")
        repo, verb, below = "/".join(words[:2]), words[2], "/".join(words[4:])
        if repo == "org/gated" and self.headers.get("Authorization") != "Bearer geheim":
            return self.answer(403, X_Error_Code="GatedRepo")
        if repo == "org/none":
            return self.answer(401, X_Error_Code="RepoNotFound")
        # A branch is a commit, another one whenever org/moves is asked; of these only the first is there.
        if verb == "revision":
            commit = 11 if repo != "org/moves" else 10 + self.count()
            return self.answer(200, json.dumps({"id": repo, "sha": f"{commit:x}".ljust(40, "0")}).encode())
        if words[3] != "b".ljust(40, "0"):
            return self.answer(404)
        if verb == "resolve":  # as its large files: from another host, which must not learn the token
            data = self.read(below)[0]
            if data is None:
                return self.answer(404, X_Error_Code="EntryNotFound")
            more = {"X_Linked_ETag": f'"{hashlib.sha256(data).hexdigest()}"', "X_Linked_Size": len(data), "X_Repo_Commit": words[3]}
            return self.answer(302, Location=f"http://127.0.0.1:{servers[1].server_port}/{below}", **more)
        below = urllib.parse.unquote(below)
        top = os.path.join(folder, below)
        if not os.path.isdir(top):
            return self.answer(404)
        entries = []
        for name in sorted(os.listdir(top)):
            path = os.path.join(top, name)
            entry = {"type": "directory", "oid": "0", "size": 0, "path": os.path.join(below, name)}
            if os.path.isfile(path):
                oid = hashlib.sha256(open(path, "rb").read()).hexdigest()
                size = os.path.getsize(path)
                entry.update(type="file", size=size, lfs={"oid": oid, "size": size, "pointerSize": 134})
            entries.append(entry)
        if repo == "org/evil":
            entries[0]["path"] = "../passwd"
        if repo == "org/nul":
            entries[0]["path"] = "a\0b\x1b[31m"
        at = int(urllib.parse.parse_qs(url.query).get("cursor", ["0"])[0])
        more = {}
        if at + 2 < len(entries) or repo == "org/endless":
            host = "http://127.0.0.2" if repo == "org/leads" else f"http://127.0.0.1:{self.server.server_port}"
            step = 0 if repo == "org/endless" and at else 2
            more["Link"] = f'<{host}{url.path}?cursor={at + step}>; rel="next"'
        self.answer(200, json.dumps(entries[at:at + 2]).encode(), **more)

    def mode_norange(self, name):
        self.answer(200, self.read(name)[0])

    def mode_shifted(self, name):
        self.send_file(name, shift=1)

    def mode_short(self, name):
        self.send_file(name, cut=7)

    def mode_then(self, path):
        """MODE/NAME: the beginning of a file is good, later requests behave as in MODE."""
        mode, name = path.split("/", 1)
        self.send_file(name) if self.headers["Range"].startswith("bytes=0-") else getattr(self, "mode_" + mode)(name)

    def mode_shortonce(self, name):
        self.send_file(name, cut=7 if self.count() == 1 else 0)

    def mode_less(self, name):
        """Fewer bytes than the stated range, and a length that agrees with them."""
        data, tag = self.read(name)
        self.answer(206, data[:1000], Content_Range=self.range_of(data), ETag=tag)

    def mode_endless(self, name):
        data, _ = self.read(name)
        self.note(206)
        self.send_response(206)
        self.send_header("Content-Range", self.range_of(data))
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            while True:
                self.wfile.write(data)
        except OSError:
            pass

    def mode_drip(self, name):
        data, _ = self.read(name)
        self.note(206)
        self.send_response(206)
        self.send_header("Content-Range", self.range_of(data))
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        try:
            for i in range(300):
                self.wfile.write(data[i:i + 1])
                time.sleep(0.1)
        except OSError:
            pass

    def mode_hang(self, name):
        self.note(206)
        time.sleep(100)

    def mode_later(self, name):
        self.answer(503, Retry_After=100)

    def mode_circle(self, name):
        self.answer(302, Location="/circle/" + name)

    def mode_tofile(self, name):
        self.answer(302, Location="file:///etc/passwd")

    def mode_elsewhere(self, name):
        self.answer(302, Location=f"http://127.0.0.1:{servers[1].server_port}/{name}")

    def mode_busy(self, name):
        if self.count() < 3:
            self.answer(429, b"later", Retry_After=0)
        else:
            self.send_file(name)

    def mode_broken(self, name):
        if self.count() < 3:
            self.answer(503, b"oops")
        else:
            self.send_file(name)

    def mode_down(self, name):
        self.answer(500)

    def mode_packed(self, name):
        self.send_file(name, Content_Encoding="gzip")

    def mode_crowd(self, name):
        """What is not at the beginning of a file, only once 12 ask for it at the same time, and 404 if they do not;
        where there is a file "busy", of any files, and their beginnings, too."""
        busy = os.path.exists(os.path.join(folder, "busy"))
        if busy or not self.headers["Range"].startswith("bytes=0-"):
            crowd = "busy" if busy else name
            with lock:
                seen[crowd] += 1
                if seen[crowd] == 12:
                    crowds[crowd].set()
            if not crowds[crowd].wait(0 if seen["no " + crowd] else 20):
                seen["no " + crowd] = 1  # nobody else need wait
                return self.answer(404)
        self.send_file(name)

    def mode_headers(self, name):
        self.note(206)
        self.send_response(206)
        try:
            while True:
                self.send_header("X-More", "x" * 8000)
                self.flush_headers()
        except OSError:
            pass

    def mode_private(self, name):
        if self.headers.get("Authorization") == "Basic YW5uOmdlaGVpbQ==":  # ann:geheim
            self.send_file(name)
        else:
            self.answer(401, WWW_Authenticate="Basic")

    def mode_privateelsewhere(self, name):
        self.mode_elsewhere(name)


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128  # with 5, of 32 connections at once some would wait a second, or three

    def handle_error(self, *_):
        pass  # a client that has seen enough


for number in 1, 2:
    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.number = number
    servers.append(server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
with open(ports + ".new", "w", encoding="ascii") as f:
    print(*(s.server_port for s in servers), file=f)
os.rename(ports + ".new", ports)
sys.stdin.read()
