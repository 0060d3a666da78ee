#!/usr/bin/env python3
"""hub_server.py FOLDER SECONDS: a hub with one repository, org/repo, whose answers take SECONDS more; prints its port, and ends with
its standard input."""
import asyncio
import json
import os
import re
import sys

folder, delay = sys.argv[1], float(sys.argv[2])
files = {name: open(os.path.join(folder, name), "rb").read() for name in sorted(os.listdir(folder))}
COMMIT = "b" * 40
TREE = json.dumps([{"type": "file", "oid": f"{i:040x}", "size": len(data), "path": name} for i, (name, data) in enumerate(files.items())])


def answer(path, span):
    status, body, more = "200 OK", b"", f"X-Repo-Commit: {COMMIT}\r\n"
    data = files.get(path.rsplit("/", 1)[1].split("?")[0])
    if "/revision/" in path:
        body = json.dumps({"id": "org/repo", "sha": COMMIT}).encode()
    elif "/tree/" in path:
        body = TREE.encode()
    elif data is None:
        status = "404 Not Found"
    else:
        first, last = int(span[1]), min(int(span[2]), len(data) - 1)
        status, body = "206 Partial Content", data[first:last + 1]
        more += f'Content-Range: bytes {first}-{last}/{len(data)}\r\nETag: "{hash(path)}"\r\n'
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{more}\r\n".encode() + body


async def talk(reader, writer):
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            await asyncio.sleep(delay)
            writer.write(answer(head.split(" ", 2)[1], re.search(r"(?i)\r\nrange: bytes=(\d+)-(\d+)", head)))
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main():
    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)

asyncio.run(main())
