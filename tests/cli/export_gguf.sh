# GGUF as an export: metadata with its exact types, splits, alignments, and what is refused.
export STATUS=always
dump() { python3 "$TESTS/fixtures/dump_gguf.py" "$@"; }
python3 - <<'PY'
import struct
from make_gguf import ARCH, ARR, BOOL, F32, STR, U8, U32, FILE, Q8_0, kv, s, tensor, u32
keys = [ARCH, kv("u8", U8, b"\xff"), kv("i8", 1, b"\x80"), kv("u16", 2, b"\xff\xff"), kv("i16", 3, b"\0\x80"), u32("u32", 2**32 - 1),
        kv("i32", 5, struct.pack("<i", -7)), kv("f32", F32, struct.pack("<f", 0.1)), kv("bool", BOOL, b"\1"), kv("str", STR, s("a\u00fc\nb")),
        kv("u64", 10, b"\xff" * 8), kv("i64", 11, struct.pack("<q", -2**63)), kv("f64", 12, struct.pack("<d", 0.1)),
        kv("nan", F32, b"\1\0\xc0\x7f"), kv("not.utf8", STR, s(b"\xff\xfe")), u32("general.file_type", 7),
        kv("empty", ARR, struct.pack("<IQ", U8, 0)), kv("bools", ARR, struct.pack("<IQ", BOOL, 2) + b"\0\1"),
        kv("scores", ARR, struct.pack("<IQ2f", F32, 2, -1, 2.5)), kv("tokens", ARR, struct.pack("<IQ", STR, 2) + s("<s>") + s("\u2581a")),
        kv("nested", ARR, struct.pack("<IQ", ARR, 2) + struct.pack("<IQ2B", U8, 2, 1, 2) + struct.pack("<IQ", STR, 1) + s("x")),
        u32("general.alignment", 64), kv("split.count", 2, b"\1\0"),
        kv("comfy.gguf.orig_shape.folded", ARR, struct.pack("<IQ2i", 5, 2, 8, 4))]
tensors = [tensor("blk.0.w", [32, 2], Q8_0), tensor("norm", [3], offset=128), tensor("scalar", [], offset=192),
           tensor("folded", [32], Q8_0, offset=256)]
open("all.gguf", "wb").write(FILE(keys, tensors, bytes(range(256)) + bytes(64), align=64))
one = {"w": [tensor("w", [2, 3])], "data": struct.pack("<6f", *range(6)) + bytes(8)}
def other(version, big):
    e = ">" if big else "<"
    text = lambda t: struct.pack(e + ("I" if version == 1 else "Q"), len(t)) + t
    size = e + ("I" if version == 1 else "Q")
    head = b"GGUF" + struct.pack(e + "I", version) + struct.pack(size, 1) + struct.pack(size, 4)
    head += text(b"general.architecture") + struct.pack(e + "I", 8) + text(b"test")
    head += text(b"n") + struct.pack(e + "Ih", 3, -2) + text(b"x") + struct.pack(e + "If", 6, 0.5)
    head += text(b"l") + struct.pack(e + "II", 9, 8) + struct.pack(size, 2) + text(b"a") + text(b"bc")
    head += text(b"w") + struct.pack(e + "I", 2) + struct.pack(size * 1, 2) + struct.pack(size, 3) + struct.pack(e + "IQ", 0, 0)
    return head + bytes(-len(head) % 32) + struct.pack(e + "6f", *range(6)) + bytes(8)
open("one.gguf", "wb").write(other(1, False))
open("big.gguf", "wb").write(other(3, True))
from make_safetensors import save
save("a.safetensors", {"w": ("F32", [4, 2], bytes(range(32))), "b": ("BF16", [1, 3], bytes(6)), "i": ("I64", [], bytes(8)),
                       "none": ("F16", [0, 4], b"")}, {"note": "1.5", "general.alignment": "64"})
save("odd.safetensors", {"u8": ("U8", [2], bytes(2)), "ok": ("BOOL", [2], bytes(2)), "f8": ("F8_E4M3", [2], bytes(2)),
                         "c": ("C64", [1], bytes(8)), "u64": ("U64", [1], bytes(8)), "five": ("F32", [1, 1, 1, 1, 2], bytes(8)),
                         "none": ("F16", [0, 2], b""), "n" * 64: ("F32", [1], bytes(4)), "\u00fc" * 31 + "x": ("F32", [1], bytes(4))})
PY
try import . 2>/dev/null
echo '--- every type as it was; what the file itself says anew'
mkdir out
try export all.gguf out/copy.gguf
dump out/copy.gguf
try diff all.gguf ./out/copy.gguf --values
echo '--- old and big-endian headers'
for each in one big; do
    try export $each.gguf out/$each.gguf && dump out/$each.gguf
done
echo '--- joined: the metadata of both'
try export all.gguf one.gguf a.safetensors out/two.gguf --prefer last && dump out/two.gguf | grep -vE ' (u|i|f)[0-9]+ |nested|source'
echo '--- what a person states: by what it looks like, by the type there, by name'
try export a.safetensors out/meta.gguf --meta general.architecture=llama --meta n=7 --meta neg=-7 --meta large=4294967296 \
    --meta least=-9223372036854775808 --meta eps=1e-5 --meta huge=1e300 --meta yes=true --meta text=1e --meta digits=123456789012345678901 \
    --meta 'ints=[1,2]' --meta 'reals=[1,2.5]' --meta 'names=["a","\u00fc"]' --meta 'none=[]' --meta 'mixed=[1,"a"]' \
    --meta 'bools=[true,false]' --meta n8:u8=255 --meta n16:int16=-1 --meta 'none:str[]=[]' --meta wide:f64=0.1 --meta nan:f32=nan \
    --meta 's:str=[1]' --meta 'k:u16[]=[1,65535]' --meta 'with:colon=x' --meta empty=
dump out/meta.gguf
try export all.gguf out/given.gguf --no-meta --meta general.architecture=x --names norm && dump out/given.gguf
try export all.gguf out/kept.gguf --meta u8=3 --meta str=3 --meta f64=3 --meta 'scores=[1]' --meta i8:str=x --names norm
dump out/kept.gguf | grep -E ' (u8|str|f64|scores|i8) '
for bad in u8=256 u8=x n:i8=-129 n:u32=-1 n:u64=1.5 'n:u8[]=[1,256]' 'n:u8[]=3' 'n:str[]=[1]' n:bool=1 n:f32=1e99 n:f32= =x split.no=1 general.alignment=8; do
    try export all.gguf out/bad.gguf --names norm --meta "$bad"
done
echo '--- another dtype is another file type; a table of its own'
try export all.gguf out/half.gguf --dtype float16 --names 'blk|norm' && dump out/half.gguf | grep -E 'file_type|:'
try export all.gguf out/folded.gguf --names folded --no-meta && dump out/folded.gguf
echo '--- alignment'
for n in 1 8 4096; do
    try export a.safetensors out/a$n.gguf --option alignment=$n --no-meta && dump out/a$n.gguf
done
for n in 0 3 -8 4194304 x; do try export a.safetensors out/bad.gguf --option alignment=$n; done
echo '--- in parts: the metadata is in the first'
try export all.gguf out/parts.gguf --shard-size 69 --option alignment=16
dump out/parts-*
try import out/parts-*
try diff all.gguf ./out/parts-00001-of-00002.gguf --values
try export ./out/parts-00001-of-00002.gguf out/joined.gguf && dump out/joined.gguf | sed -n 1,3p
try export all.gguf out/parts.gguf --shard-size 70
try export all.gguf out/parts.gguf --shard-size 70 --force
try export all.gguf out/parts.gguf --shard-size 1G --no-meta --meta general.architecture=x
echo '--- refusals, each by name, before the first byte'
try export odd.safetensors out/odd.gguf
try export odd.safetensors out/odd.gguf --names 'f8|^.{32}$' --dtype float32 && dump out/odd.gguf
try export --sql "SELECT id AS tensor_id, name AS new_name, 'int16' AS dtype FROM tensor WHERE name = 'u8'" out/u8.gguf
echo '--- a source that changed'
touch -d 2001-01-01 all.gguf
try export all.gguf out/changed.gguf
ls out
"$CKPTDB_BIN" formats --list | grep gguf
