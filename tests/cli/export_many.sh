# Several checkpoints at once: joined in one output, and each into one of its own.
export STATUS=always
look() { # FILE: its tensors' names and values
    rm -f look.db
    "$CKPTDB_BIN" -d look.db import "$1" 2>/dev/null
    "$CKPTDB_BIN" -d look.db --list "SELECT name, dtype, (SELECT group_concat(value) FROM tensor_values(id))
        FROM tensor ORDER BY name"
}
mkdir in
safetensors in/encoder.safetensors '{"__metadata__":{"of":"encoder","who":"e"},"e.w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"shared":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}}' \
    '\0\0\200\77\0\0\0\100\0\0\200\77'
safetensors in/decoder.safetensors '{"__metadata__":{"of":"decoder"},"d.w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"shared":{"dtype":"I32","shape":[1],"data_offsets":[4,8]}}' \
    '\0\0\0\100\7\0\0\0'
safetensors in/third.safetensors '{"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}' '\0\0\0\100'
try import in

echo '--- joined'
try export encoder.safetensors decoder.safetensors joined.safetensors
try export encoder.safetensors decoder.safetensors third.safetensors first.safetensors --prefer first --json 2>&1 | sed "s,seconds.*,seconds...,"
look first.safetensors
try export encoder.safetensors decoder.safetensors third.safetensors last.safetensors --prefer last
look last.safetensors
head -c 500 first.safetensors | tail -c +9 | grep -ao '"[a-z_]*":"[^"]*\(\\"[^"]*\\"[^"]*\)*"' | grep -v dtype
head -c 500 last.safetensors | grep -ao '"of":"[a-z]*"'
try export encoder.safetensors encoder.safetensors twice.safetensors --names shared
try export encoder.safetensors encoder.safetensors twice.safetensors --prefer first
look twice.safetensors
try export encoder.safetensors decoder.safetensors renamed.npz --names w --rename 'd\.=x.' --dtype float16 --dry-run
try export encoder.safetensors decoder.safetensors parts.safetensors --names w --shard-size 8
ls parts*
echo '--- what does not go together'
try export encoder.safetensors decoder.safetensors x.npz --prefer both
try export encoder.safetensors x.npz --prefer first
try export encoder.safetensors decoder.safetensors x.npz --target encoder.safetensors --map t5_to_t5x
try export encoder.safetensors decoder.safetensors x.npz --merge third.safetensors
try export --sql 'SELECT 1' a b x.npz
try export encoder.safetensors nothing.safetensors x.npz
try export encoder.safetensors third.safetensors in/third.safetensors --force
try export ./in/encoder.safetensors ./in/third.safetensors -d :memory: memory.npz
look memory.npz

echo '--- each for itself'
try export --all '*' out
try export --all '*' out --format what
try export --all 'nothing*' out --format npz
try export --all '*' out --format npz --dry-run --dtype float16
ls out 2>&1
try export --all '*.safetensors' out --format npz
(cd out && ls)
look out/third.safetensors.npz
try export --all '*.safetensors' out --format npz
rm out/third.safetensors.npz
try export --all '*.safetensors' out --format npz --json
try export --all '*coder*' out --format safetensors --names shared --rename 'sh=ch' --shard-size 1MB --force --jsonl
try export --all '*coder*' in --format safetensors --force
try export --all '*' npy --format npy
(cd npy && ls)
rm in/third.safetensors
try export --all '*' some --format tf
(cd some && ls)

echo '--- names that are folders'
mkdir -p a/m b/m
cp in/encoder.safetensors a/m/model.safetensors
cp in/decoder.safetensors b/m/model.safetensors
try import a b
try export --all '*model*' deep --format zarr
(cd deep && ls -d ./*/*)
echo '--- names that lead elsewhere, or meet'
mkdir odd
for name in x x.zarr ...; do cp in/encoder.safetensors "odd/$name"; done
try import odd
try export --all '*odd*' met --format zarr
(cd met && ls -A)
try export --all x met --format zarr
echo '--- a split model, as one file whose name looks like a part'
try import "$TESTS/fixtures/real/gguf/split"
try export --all '*00001-of*' whole --format gguf
try import whole
