"""The buckets of remote_server.py: Google's JSON API, and S3, which checks each signature. A bucket has the files of the
folder, two names a page; what its name begins with says what is wrong with it."""
import base64
import hashlib
import hmac
import json
import os
import random
import urllib.parse
import xml.sax.saxutils

KEY, SECRET, SESSION = "AKIATEST", "geheim+secret", "geheim-session"


def der(tag, body):
    size = len(body)
    length = bytes([size]) if size < 128 else bytes([0x82]) + size.to_bytes(2, "big")
    return bytes([tag]) + length + body


def rsa_key():
    """A key of 1024 bits: (n, the private key as PEM)."""
    def prime():
        while True:
            n = random.getrandbits(512) | 3 << 510 | 1
            if n % 65537 != 1 and all(n % p for p in (3, 5, 7, 11, 13)) and all(pow(a, n - 1, n) == 1 for a in (2, 3, 5, 7)):
                return n
    p, q = prime(), prime()
    d = pow(65537, -1, (p - 1) * (q - 1))
    numbers = 0, p * q, 65537, d, p, q, d % (p - 1), d % (q - 1), pow(q, -1, p)
    body = b"".join(der(2, n.to_bytes(n.bit_length() // 8 + 1, "big")) for n in numbers)
    text = base64.encodebytes(der(0x30, body)).decode()
    return p * q, f"-----BEGIN RSA PRIVATE KEY-----\n{text}-----END RSA PRIVATE KEY-----\n"


def unpack(part):
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def listing(folder, prefix):
    """The names directly below a prefix: (files, folders)."""
    top = os.path.join(folder, prefix)
    if not os.path.isdir(top):
        return [], []
    names = sorted(os.listdir(top), key=os.fsencode)
    return ([prefix + n for n in names if os.path.isfile(top + n)], [prefix + n + "/" for n in names if os.path.isdir(top + n)])


class Buckets:
    rsa = None

    def do_POST(self):
        """Google's server of tokens: checks who signs, and until when; or a user's secret."""
        form = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        if self.path == "/token/moves":
            return self.answer(307, Location=f"http://127.0.0.1:{self.server.server_port}/token")
        if self.path == "/token/none":
            return self.answer(200, b'{"error": "no"}')
        good = form.get("client_secret") == "geheim" and form.get("refresh_token") == "re+fresh/"
        if "assertion" in form:
            head, claims, signature = form["assertion"].split(".")
            digest = hashlib.sha256(f"{head}.{claims}".encode()).digest()
            want = b"\0\1" + b"\xff" * 74 + b"\0" + bytes.fromhex("3031300d060960864801650304020105000420") + digest
            claims = json.loads(unpack(claims))
            good = (pow(int.from_bytes(unpack(signature), "big"), 65537, Buckets.rsa) == int.from_bytes(want, "big")
                    and json.loads(unpack(head))["alg"] == "RS256" and claims["exp"] - claims["iat"] == 3600
                    and claims["iss"] == "me@test" and claims["aud"].endswith("/token") and "read_only" in claims["scope"])
        if good:
            return self.answer(200, b'{"access_token": "ya29.geheim", "expires_in": 3599, "token_type": "Bearer"}')
        return self.answer(401, json.dumps(form).encode())

    def storage(self, folder, other):
        if self.path == "/storage/key":  # for the test: an account that this server knows
            Buckets.rsa, pem = rsa_key()
            return self.answer(200, pem.encode())
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        _, _, _, _, bucket, _, *name = url.path.split("/")
        if bucket.startswith("private") and self.headers.get("Authorization") != "Bearer ya29.geheim":
            return self.answer(403)
        if name:
            if bucket == "privatemoved":
                return self.answer(302, Location=f"http://127.0.0.1:{other}/{name[0]}")
            tag = self.read(name[0])[1]
            if tag and query.get("ifGenerationMatch", tag.strip('"')) != tag.strip('"'):
                return self.answer(412)
            return self.send_file(name[0])
        if bucket == "none":
            return self.answer(404)
        files, folders = listing(folder, query.get("prefix", ""))
        at = int(query.get("pageToken", "t+0")[2:])
        page = (files + folders)[at:at + 2]
        items = [{"name": n, "size": str(os.path.getsize(os.path.join(folder, n))), "updated": "2024-01-31T12:00:00.5Z",
                  "generation": str(os.stat(os.path.join(folder, n)).st_mtime_ns)} for n in page if n in files]
        more = {"nextPageToken": f"t+{at + 2}"} if at + 2 < len(files + folders) else {}
        bad = {"evil": "../passwd", "nul": "a\0b\x1b[31m", "dots": ".."}.get(bucket)
        if bucket == "endless":
            more = {"nextPageToken": "t+0"}
        if bad and items:
            items[0]["name"] = bad if bucket == "evil" else query["prefix"] + bad
        for item in items:
            if bucket == "long":
                item["size"] = str(int(item["size"]) + 1)
            if bucket == "unsized":
                item["size"] = "-1"
            if bucket == "ungenerated":
                item["generation"] = "1&alt=json"
        answer = {"items": items, "prefixes": [n for n in page if n not in files], **more}
        self.answer(200, b"[" if bucket == "json" else json.dumps(answer).encode())

    # --- S3

    def signed(self, session):
        """Whether the request is signed with KEY and SECRET: SigV4, computed anew."""
        words = self.headers.get("Authorization", "").replace(",", " ").split()
        if len(words) != 4 or words[0] != "AWS4-HMAC-SHA256":
            return False
        parts = dict(w.split("=", 1) for w in words[1:])
        key, day, region, service, end = parts["Credential"].split("/")
        path, _, query = self.path.partition("?")
        names = parts["SignedHeaders"].split(";")
        if (key, region, service, end) != (KEY, "eu-test-1", "s3", "aws4_request") or "host" not in names:
            return False
        if session and (self.headers.get("x-amz-security-token") != SESSION or "x-amz-security-token" not in names):
            return False
        canonical = "\n".join([self.command, path, "&".join(sorted(query.split("&"))),
                               *(f"{n}:{self.headers[n].strip()}" for n in names), "", ";".join(names),
                               self.headers["x-amz-content-sha256"]])
        stamp = self.headers["x-amz-date"]
        text = "\n".join(["AWS4-HMAC-SHA256", stamp, f"{day}/{region}/{service}/{end}",
                          hashlib.sha256(canonical.encode()).hexdigest()])
        secret = ("AWS4" + SECRET).encode()
        for word in day, region, service, end, text:
            secret = hmac.new(secret, word.encode(), "sha256").digest()
        return stamp.startswith(day) and hmac.compare_digest(secret.hex(), parts["Signature"])

    def s3(self, folder, other):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        _, _, bucket, *name = url.path.split("/", 3)
        if not bucket.startswith("open") and not self.signed(bucket == "session"):
            return self.answer(403)
        if bucket == "moved":
            return self.answer(307, Location=f"http://127.0.0.1:{other}/x")
        if name and name[0]:
            return self.send_file(name[0])
        if bucket == "none":
            return self.answer(404, b"<Error><Code>NoSuchBucket</Code></Error>")
        files, folders = listing(folder, query.get("prefix", ""))
        at = int(query.get("continuation-token", "t+0&")[2:-1])
        page = (files + folders)[at:at + 2]
        quote = lambda text: xml.sax.saxutils.escape(urllib.parse.quote(text, safe="/"))
        bad = {"evil": "../passwd", "nul": "a%00b%1B[31m", "dots": ".."}.get(bucket)
        body = ["<?xml version='1.0'?><ListBucketResult><EncodingType>url</EncodingType>"]
        for n in page:
            if n in folders:
                body.append(f"<CommonPrefixes><Prefix>{quote(n)}</Prefix></CommonPrefixes>")
                continue
            size = os.path.getsize(os.path.join(folder, n)) + (bucket == "long")
            tag = self.read(urllib.parse.quote(n))[1].replace('"', "&quot;")
            body.append(f"<Contents><Key>{quote(n) if not bad else bad if bucket == 'evil' else quote(query['prefix']) + bad}</Key><LastModified>2024-01-31T12:00:00.000Z</LastModified>"
                        f"<ETag>{tag}</ETag><Size>{size}</Size></Contents>")
        if bucket == "endless" or at + 2 < len(files + folders):
            body.append(f"<NextContinuationToken>t+{0 if bucket == 'endless' else at + 2}&amp;</NextContinuationToken>")
        self.answer(200, b"<html>" if bucket == "html" else "".join([*body, "</ListBucketResult>"]).encode())
