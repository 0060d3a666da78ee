"""Random headers of safetensors, npy and GGUF, half damaged: every tensor's name, dtype, shape, place and length
are what a plain parser finds, and what it refuses is refused. Prints counts, and what differs.

headers_random.py [SEED]
"""
import json
import os
import random
import re
import struct
import subprocess
import sys

r = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
EACH = 1500
TOP = 1 << 63


LEFT_OUT = [] # every tensor, each with an issue


class Refused(Exception):
    pass


def want(good):
    if not good:
        raise Refused


def sized(shape, item, per=1):
    """Bytes of a tensor; each product is looked at, as a 64-bit program must."""
    elements = 1
    for n in shape:
        elements *= n
        want(elements < 1 << 64)
    want(elements * item < 1 << 64 and elements * item % per == 0)
    return elements * item // per


def possible(shape):
    """Whether the catalog can hold the shape."""
    try:
        return sized(shape, 1) < TOP and all(n < TOP for n in shape)
    except Refused:
        return False


# --- safetensors. Stricter than json: keys once, plain decimals below 2^63 ------------------

BITS = {"BF16": ("bfloat16", 16), "F16": ("float16", 16), "F32": ("float32", 32), "F64": ("float64", 64), "I8": ("int8", 8),
        "I16": ("int16", 16), "I32": ("int32", 32), "I64": ("int64", 64), "U8": ("uint8", 8), "U16": ("uint16", 16),
        "U32": ("uint32", 32), "U64": ("uint64", 64), "BOOL": ("bool", 8), "C64": ("complex64", 64),
        "F8_E4M3": ("float8_e4m3fn", 8), "F8_E5M2": ("float8_e5m2", 8), "F8_E8M0": ("float8_e8m0fnu", 8),
        "F8_E4M3FNUZ": ("float8_e4m3fnuz", 8), "F8_E5M2FNUZ": ("float8_e5m2fnuz", 8), "F6_E2M3": ("float6_e2m3fn", 6),
        "F6_E3M2": ("float6_e3m2fn", 6), "F4": ("float4_e2m1fn", 4)}


class Number(str):
    def value(self):
        want(self.isdigit() and int(self) < TOP)
        return int(self)


def number(found):
    want(isinstance(found, Number))
    return found.value()


class Pairs(list):
    """An object: its keys may occur twice."""
    def once(self, *keys):
        found = [key for key, _ in self if not keys or key in keys]
        want(len(found) == len(set(found)))
        return dict(self)


def naive_safetensors(data, _name):
    want(len(data) >= 10)
    length = struct.unpack_from("<Q", data)[0]
    want(length <= min(100_000_000, len(data) - 8))
    try:
        header = json.loads(data[8:8 + length].decode(), object_pairs_hook=Pairs, parse_int=Number, parse_float=Number,
                            parse_constant=lambda _: want(False))
        json.dumps(header, ensure_ascii=False).encode() # half of a surrogate pair is no text
    except (ValueError, RecursionError) as error:
        raise Refused from error
    want(isinstance(header, Pairs))
    out = []
    for name, one in header.once().items():
        if name == "__metadata__":
            want(one is None or isinstance(one, Pairs) and all(type(v) is str and "\0" not in k for k, v in one.once().items()))
            continue
        want(isinstance(one, Pairs))
        one = one.once("dtype", "shape", "data_offsets")
        want({"dtype", "shape", "data_offsets"} <= set(one))
        dtype, shape, places = one["dtype"], one["shape"], one["data_offsets"]
        want(type(dtype) is str and type(shape) is list and type(places) is list and len(places) == 2 and len(shape) <= 64)
        shape, (begin, end) = [number(n) for n in shape], [number(n) for n in places]
        want(begin <= end)
        if dtype in BITS:
            want(sized(shape, BITS[dtype][1], 8) == end - begin)
        else:
            want(len(dtype.encode()) <= 64 and "\0" not in dtype)
        out.append([name, BITS[dtype][0] if dtype in BITS else f"unknown({dtype})", shape, 8 + length + begin, end - begin, None])
    at = 8 + length
    for _, _, _, begin, size, _ in sorted(out, key=lambda t: (t[3], t[4])):
        want(begin == at)
        at += size
    want(at == len(data))
    return [t for t in out if possible(t[2])] or (LEFT_OUT if out else [])


# --- npy. Stricter than Python: only what NumPy writes --------------------------------------

ITEMS = {"b1": "bool", "i1": "int8", "i2": "int16", "i4": "int32", "i8": "int64", "u1": "uint8", "u2": "uint16", "u4": "uint32",
         "u8": "uint64", "f2": "float16", "f4": "float32", "f8": "float64", "c8": "complex64", "c16": "complex128",
         "f12": "unknown(float96)", "f16": "unknown(float128)", "c24": "unknown(complex192)", "c32": "unknown(complex256)"}
WS = r"[ \t\r\n]*"
PAIR = (rf"""{WS}('[^'\\]*'|"[^"\\]*"){WS}:{WS}('[^'\\]*'|"[^"\\]*"|True|False|"""
        rf"""\({WS}(?:\d+L?{WS},{WS})*(?:\d+L?{WS})?\)){WS}""")


def npy_type(descr):
    """Its dtype and bytes."""
    code = descr[1:] if descr[:1] in ("<", ">", "|", "=") else descr
    sizes = re.fullmatch(r"([SUV])([1-9][0-9]{0,8})", code)
    if sizes:
        count = int(sizes[2])
        return ("string" if sizes[1] != "V" else f"void{count * 8}"), count * (4 if sizes[1] == "U" else 1)
    if re.fullmatch(r"[Mm]8(\[[0-9]*(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])?", code):
        return ("datetime64" if code[0] == "M" else "timedelta64") + code[2:], 8
    want(code in ITEMS)
    return ITEMS[code], int(code[1:])


def naive_npy(data, name):
    want(data[:6] == b"\x93NUMPY" and len(data) >= 10 and data[6] in (1, 2, 3) and data[7] == 0)
    start = 10 if data[6] == 1 else 12
    want(len(data) >= start)
    length = struct.unpack_from("<H" if data[6] == 1 else "<I", data, 8)[0]
    want(length <= 65536 and start + length <= len(data))
    text = data[start:start + length].decode("latin-1")
    want(re.fullmatch(rf"{WS}{{(?:{PAIR},)*(?:{PAIR})?{WS}}}{WS}", text, re.A))
    pairs = [(key[1:-1], value) for key, value in re.findall(PAIR, text, re.A)]
    want(sorted(key for key, _ in pairs) == ["descr", "fortran_order", "shape"])
    of = dict(pairs)
    want(of["descr"][0] in "'\"" and of["fortran_order"] in ("True", "False") and of["shape"][0] == "(")
    want(all(" " <= c <= "~" for c in of["descr"]))
    dtype, item = npy_type(of["descr"][1:-1])
    shape = [int(n) for n in re.findall(r"\d+", of["shape"])]
    want(len(shape) <= 254 and all(n < TOP for n in shape) and (len(shape) != 1 or "," in of["shape"]))
    size = sized(shape, item)
    want(size < TOP and start + length + size <= len(data))
    strides = None
    if of["fortran_order"] == "True" and len(shape) > 1 and size // item > 1:
        strides = [1]
        for n in shape[:-1]:
            strides.append(strides[-1] * n)
    return [[name, dtype, shape, start + length, size, strides]]


# --- GGUF ---------------------------------------------------------------------------------

GGML = {0: ("float32", 1, 4), 1: ("float16", 1, 2), 2: ("q4_0", 32, 18), 3: ("q4_1", 32, 20), 6: ("q5_0", 32, 22), 7: ("q5_1", 32, 24),
        8: ("q8_0", 32, 34), 9: ("q8_1", 32, 36), 10: ("q2_k", 256, 84), 11: ("q3_k", 256, 110), 12: ("q4_k", 256, 144),
        13: ("q5_k", 256, 176), 14: ("q6_k", 256, 210), 15: ("q8_k", 256, 292), 16: ("iq2_xxs", 256, 66), 17: ("iq2_xs", 256, 74),
        18: ("iq3_xxs", 256, 98), 19: ("iq1_s", 256, 50), 20: ("iq4_nl", 32, 18), 21: ("iq3_s", 256, 110), 22: ("iq2_s", 256, 82),
        23: ("iq4_xs", 256, 136), 24: ("int8", 1, 1), 25: ("int16", 1, 2), 26: ("int32", 1, 4), 27: ("int64", 1, 8),
        28: ("float64", 1, 8), 29: ("iq1_m", 256, 56), 30: ("bfloat16", 1, 2), 34: ("tq1_0", 256, 54), 35: ("tq2_0", 256, 66),
        39: ("mxfp4", 32, 17), 40: ("nvfp4", 64, 36), 41: ("q1_0", 128, 18), 42: ("q2_0", 64, 18)}
WIDTHS = [1, 1, 2, 2, 4, 4, 4, 1, None, None, 8, 8, 8]


class Taker:
    def __init__(self, data):
        self.data, self.at = data, 4
        version = struct.unpack("<I", self.bytes(4))[0]
        self.big = version != 0 and version % 65536 == 0
        self.version = int.from_bytes(version.to_bytes(4, "little"), "big") if self.big else version

    def bytes(self, count):
        want(count <= len(self.data) - self.at)
        self.at += count
        return self.data[self.at - count:self.at]

    def number(self, width):
        return int.from_bytes(self.bytes(width), "big" if self.big else "little")

    def size(self):
        return self.number(4 if self.version == 1 else 8)

    def value(self, kind, depth=0):
        want(kind < 13)
        if kind == 8:
            return self.bytes(self.size())
        if kind != 9:
            return self.number(WIDTHS[kind])
        want(depth < 8)
        kind, count = self.number(4), self.size()
        want(kind < 13)
        if WIDTHS[kind]:
            return self.bytes(count * WIDTHS[kind])
        for _ in range(count):
            self.value(kind, depth + 1)
        return None


def text_of(name):
    """As it is catalogued: bytes that are not UTF-8 are escaped."""
    text = name.decode("utf-8", "backslashreplace")
    return text if text.encode() == name else re.sub(r"[\0-\x1f\x7f-\x9f]", lambda m: f"\\x{ord(m[0]):02x}", text)


def naive_gguf(data, _name):
    want(data[:4] == b"GGUF" and len(data) >= 8)
    t = Taker(data)
    want(t.version in (1, 2, 3))
    tensors, pairs, align, out = t.size(), t.size(), 32, []
    want(tensors < TOP and pairs < TOP)
    keys = set()
    for _ in range(pairs):
        key, kind = t.bytes(t.size()), t.number(4)
        value = t.value(kind)
        want(key and key not in keys)
        keys.add(key)
        if key == b"general.alignment":
            want(kind == 4 and value and value & (value - 1) == 0 and value <= 1 << 30)
            align = value
    for _ in range(tensors):
        name, rank = t.bytes(t.size()), t.number(4)
        want(rank <= 8)
        out.append([name, [t.size() for _ in range(rank)][::-1], t.number(4), t.number(8)])
    base = -(-t.at // align) * align
    found, end = {}, 0
    # In the order of the data: of tensors that overlap the second is not read.
    for at, (name, shape, kind, offset) in sorted(enumerate(out), key=lambda one: (one[1][3], one[0])):
        dtype, per, item = GGML.get(kind, (f"unknown(ggml {kind})", 1, None))
        row, size = shape[-1] if shape else 1, None
        try:
            elements = sized(shape, 1)
            want(possible(shape) and (not item or elements % per == 0 and elements // per * item < TOP))
        except Refused: # an impossible shape: left out
            continue
        if item and row % per == 0:
            size = elements // per * item
        if size:
            want(base + offset + size <= len(data))
        readable = size is not None and not (size and offset < end and end)
        end = max(end, offset + size) if readable else end
        readable = readable and not (t.big and per > 1)
        readable = readable and base + offset < TOP
        found[at] = [text_of(name), dtype, shape, base + offset if readable else None, size if readable else 0, None]
    names = {} # a name that occurs again is left out, and so is one with a NUL
    for at in sorted(found):
        if b"\0" not in out[at][0]:
            names.setdefault(found[at][0], found[at])
    return list(names.values()) or (LEFT_OUT if out else [])


# --- headers ------------------------------------------------------------------------------

def size():
    return r.choice([0, 1, 1, 2, 3, 4, 8])


def shape(most=4):
    return [size() for _ in range(r.randint(0, most))]


def word():
    return "".join(r.choice("abwé. /\"'漢🙂") for _ in range(r.randint(1, 6))) + str(r.randrange(100))


def make_safetensors():
    tensors, at, data = [], 0, b""
    for _ in range(r.randint(0, 5)):
        dtype, sizes = r.choice([*BITS, *BITS, "Q9"]), shape()
        if dtype[:2] in ("F4", "F6"):
            sizes.append(4)
        elements = 1
        for n in sizes:
            elements *= n
        end = at + (elements * BITS[dtype][1] // 8 if dtype in BITS else 3)
        one = [("dtype", dtype), ("shape", sizes), ("data_offsets", [at, end])] + [("more", r.choice([None, [1.5], {"a": {}}]))] * (r.random() < 0.1)
        if r.random() < 0.3:
            r.shuffle(one)
        tensors.append((word(), dict(one)))
        at = end
    r.shuffle(tensors)
    header = dict(tensors)
    if len(header) < len(tensors):
        return make_safetensors()
    if r.random() < 0.4:
        header["__metadata__"] = r.choice([{}, {"format": "pt"}, None, {"a": "é\n"}])
    text = json.dumps(header, ensure_ascii=r.random() < 0.5, separators=r.choice([(",", ":"), (", ", ": ")])).encode() + b" " * r.choice([0, 0, 5])
    return struct.pack("<Q", len(text)), text, bytes(at)


def make_npy():
    code, sizes = r.choice([*ITEMS, "S5", "U2", "V2", "V12", "M8[s]", "m8[25us]"]), shape()
    of = [("descr", repr(r.choice("<>|=") + code)), ("fortran_order", r.choice(["True", "False"])),
          ("shape", repr(tuple(sizes)) if r.random() < 0.9 else repr(tuple(sizes)).replace(")", "L)") if len(sizes) > 1 else repr(tuple(sizes)))]
    if r.random() < 0.2:
        r.shuffle(of)
    quote = r.choice("'\"")
    text = ("{" + r.choice([", ", ","]).join(f"{quote}{k}{quote}: {v}" for k, v in of) + r.choice(["", ", "]) + "}" + " " * r.choice([0, 9]) + "\n").encode()
    count = npy_type(code)[1]
    for n in sizes:
        count *= n
    version = r.choice([1, 1, 1, 2, 3])
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(text)), text, bytes(count + (r.random() < 0.1))


def make_gguf():
    version, order = r.choice([1, 2, 3, 3, 3]), r.choice("<<<>")
    size_of = lambda n: struct.pack(order + ("I" if version == 1 else "Q"), n)
    text = lambda s: size_of(len(s)) + s
    u32 = lambda n: struct.pack(order + "I", n)
    pairs, align = [text(b"general.name") + u32(8) + text(b"x")], 32
    if r.random() < 0.3:
        align = r.choice([1, 8, 64])
        pairs.append(text(b"general.alignment") + u32(4) + u32(align))
    for k in range(r.randint(0, 3)):
        kind = r.choice([0, 4, 7, 9, 9, 10])
        body = (u32(4) + size_of(3) + bytes(12) if r.random() < 0.5 else u32(9) + size_of(1) + u32(8) + size_of(2) + text(b"a") + text(b"")
                ) if kind == 9 else bytes(WIDTHS[kind])
        pairs.append(text(b"k%d" % k) + u32(kind) + body)
    tensors, at = [], 0
    for k in range(r.randint(0, 5)):
        kind, sizes = r.choice([0, 0, 1, 2, 8, 24, 27, 30, 10, 12, 39, 5]), shape()
        if kind in GGML and GGML[kind][1] > 1:
            sizes = [GGML[kind][1] * r.choice([1, 1, 2])] + sizes
        count = 1
        for n in sizes:
            count *= n
        tensors.append(text(word().encode()) + u32(len(sizes)) + b"".join(map(size_of, sizes)) + u32(kind) + struct.pack(order + "Q", at))
        at += -(-(count // GGML[kind][1] * GGML[kind][2] if kind in GGML else 4) // align) * align
    r.shuffle(tensors)
    head = b"GGUF" + u32(version) + size_of(len(tensors)) + size_of(len(pairs))
    body = b"".join(pairs + tensors)
    return head, body + bytes(-len(head + body) % align), bytes(at)


def damaged(parts):
    """One or two changes, mostly in the middle part, the header's text."""
    start, text, data = parts
    for _ in range(r.choice([1, 1, 2])):
        at, many = r.randrange(len(text) + 1), r.choice([1, 1, 2, 8])
        digits = [m.span() for m in re.finditer(rb"\d+", text)]
        how = r.randrange(8)
        if how == 0:
            text = text[:at] + bytes([r.randrange(1, 256)]) + text[at + 1:]
        elif how == 1:
            text = text[:at] + text[at + many:]
        elif how == 2:
            text = text[:at] + text[at:at + many] + text[at:]
        elif how == 3 and digits:
            low, high = r.choice(digits)
            text = text[:low] + str(r.choice([0, 1, 2, 7, 65, 1 << 31, TOP - 1, TOP, 1 << 64, "-1", "1.0", "01", "1e2", '"1"'])).encode() + text[high:]
        elif how == 4:
            data = data[:-many] if r.random() < 0.5 else data + bytes(many)
        elif how == 5 and start:
            place = r.randrange(len(start))
            start = start[:place] + bytes([r.choice([0, 1, 2, 3, 255, r.randrange(256)])]) + start[place + 1:]
        elif how == 6:
            text = text[:at] + r.choice([b",", b"}", b"]", b'"', b" ", b"\0", b"'", b"null", b"{}", b"(", b"\xff"]) + text[at:]
        else:
            low, high = sorted((r.randrange(len(text) + 1), r.randrange(len(text) + 1)))
            text = text[:high] + text[low:high] + text[high:] if r.random() < 0.3 else text[:at] + text[at:][::-1][:many] + text[at + many:]
    if len(start) == 8 and r.random() < 0.8: # the length that the text has now
        start = struct.pack("<Q", len(text))
    elif start[:6] == b"\x93NUMPY" and len(start) == 10 and r.random() < 0.8:
        start = start[:8] + struct.pack("<H", len(text))
    return start, text, data


FORMATS = {"safetensors": (make_safetensors, naive_safetensors), "npy": (make_npy, naive_npy), "gguf": (make_gguf, naive_gguf)}


def ckptdb(*words):
    return subprocess.run([os.environ["CKPTDB_BIN"], *words], capture_output=True, encoding="utf-8", errors="replace", check=False)


def claims(folder):
    """{path: [tensors]} of what is catalogued, and what is refused there."""
    sql = (f"SELECT json_array(path, name, dtype, json(shape), offset, stored, json(strides)) FROM (SELECT t.*, e.strides FROM tensor t "
           f"LEFT JOIN extent e ON e.tensor_id = t.id) WHERE path LIKE '%/{folder}/%' ORDER BY id")
    out = {}
    for line in filter(None, ckptdb("--list", sql).stdout.split("\n")):
        path, *tensor = json.loads(line)
        out.setdefault(os.path.basename(path), []).append(tensor)
    for line in ckptdb("--list", f"SELECT path FROM checkpoint WHERE path LIKE '%/{folder}/%' AND state != 'damaged'").stdout.split("\n"):
        out.setdefault(os.path.basename(line), [])
    return out


for name, (make, naive) in FORMATS.items():
    os.mkdir(name)
    wanted, texts = {}, {}
    for k in range(EACH):
        parts = make()
        data = texts[f"{k}.{name}"] = b"".join(damaged(parts) if k % 2 else parts)
        with open(f"{name}/{k}.{name}", "wb") as f:
            f.write(data)
        try:
            wanted[f"{k}.{name}"] = naive(data, str(k))
        except Refused:
            pass
    ckptdb("import", name)
    found = claims(name)
    for file, text in texts.items():
        plain = wanted.get(file)
        if plain != (found.get(file) or plain if plain is LEFT_OUT else found.get(file)):
            print(f"{file} differs (seed {sys.argv[1:] or 1}): {text[:600]!r}\n  plainly: {wanted.get(file)}\n  found:   {found.get(file)}")
    print(f"{name}: {sum(map(len, wanted.values()))} tensors of {len(wanted)} files, {EACH - len(wanted)} refused, "
          f"{sum(k % 2 for k in map(lambda f: int(f.split('.')[0]), wanted))} of the damaged ones not")
