#!/usr/bin/env python3
"""pack.py FOLDER OUT - a folder as one input of fuzz_folder.c, under the name "top".

A FOLDER/../FILE beside it that matters can be given after OUT and lies beside "top".
"""
import os
import struct
import sys

folder, out = sys.argv[1:3]


def record(path, source):
    with open(source, 'rb') as f:
        data = f.read(65535)
    name = path.encode()
    return bytes([len(name)]) + name + struct.pack('<H', len(data)) + data


records = []
for at, folders, files in os.walk(folder):
    folders.sort()
    for name in sorted(files):
        full = os.path.join(at, name)
        if os.path.isfile(full):
            records.append(record('top/' + os.path.relpath(full, folder), full))
for beside in sys.argv[3:]:
    records.append(record(os.path.basename(beside), beside))
with open(out, 'wb') as f:
    f.write(b''.join(records))
