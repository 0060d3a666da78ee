# --rename and --prefix in export, get and diff: Python's re.sub, one after the other, after a map.
export STATUS=always
python3 - <<'END'
from make_safetensors import save
w = bytes(range(16))
save("ddp.safetensors", {"module.fc.weight": ("F32", [2, 2], w), "module.fc.bias": ("F32", [2], w[8:]),
                         "module.norm1.weight": ("F32", [2], w[:8]), "module.a=b": ("F32", [1], w[:4])})
save("plain.safetensors", {"fc.weight": ("F32", [2, 2], w), "fc.bias": ("F32", [2], w[8:]),
                           "ln_1.weight": ("F32", [2], w[:8]), "a_b": ("F32", [1], w[4:8])})
END
try import ddp.safetensors plain.safetensors
all=(--prefix module.= --rename 'norm(\d)=ln_\1' --rename 'a\=(.)=a_\1')

echo '--- export'
try export ddp.safetensors x.safetensors --dry-run --list "${all[@]}"
try export ddp.safetensors x.safetensors "${all[@]}"
"$CKPTDB_BIN" import x.safetensors 2>&1
tensors_of x.safetensors
echo '--- in the order given; a prefix is text, and only at the beginning; either may be empty'
try export ddp.safetensors y.npz --dry-run --list --names 'fc.b' --rename 'fc=norm1' --rename 'norm(.)=x\1' --prefix =new.
try export ddp.safetensors y.npz --dry-run --list --names 'fc.b' --prefix 'mod.le.=x' --prefix 'fc.=x' --prefix 'module.fc.=\1'
try export ddp.safetensors y.npz --dry-run --list --names 'fc.b' --rename '(?P<a\>x)=y'
try export ddp.safetensors y.npz --dry-run --list --names 'fc.b' --rename '(?P<last>\w+)$=\g<last>=\\'
echo '--- names that meet'
try export ddp.safetensors z.safetensors --rename 'weight|bias=w'
try export ddp.safetensors z.safetensors --rename '.*='
echo '--- after a map'
echo '{"dialect": "convert", "options": {"unmatched": "keep"}, "rules": [["module\\.(.*)", "model.\\1"]]}' >m.json
echo '{"dialect": "t5x-translator", "rules": [["(.*)", "\\1"]]}' >same.json
try map load m m.json
try map load same same.json
try export ddp.safetensors z.safetensors --dry-run --list --map m --prefix model.= --prefix module.=
try export ddp.safetensors z.npz --map same
try get ddp.safetensors fc.bias --map m --prefix model.=
try get ddp.safetensors module.fc.bias --map same
try diff ddp.safetensors plain.safetensors --map m --rename '^model\.=' --all --list
try diff ddp.safetensors plain.safetensors --map same --list
echo '--- what is wrong'
try export ddp.safetensors z.npz --rename '(=x'
try export ddp.safetensors z.npz --rename 'x=\2'
try export ddp.safetensors z.npz --rename 'x'
try export ddp.safetensors z.npz --rename '=x'
try export ddp.safetensors z.npz --rename 'x\=y'
try export ddp.safetensors z.npz --prefix 'x'
try export ddp.safetensors z.npz --rename 'fc=a\0b'
try export ddp.safetensors z.npz --rename $'fc=\xff'
try export --sql 'SELECT 1' z.npz --rename a=b
try get ddp.safetensors fc --rename '(=x'
try diff ddp.safetensors plain.safetensors --prefix x
echo '--- get'
try get ddp.safetensors fc.weight "${all[@]}"
try get ddp.safetensors module.fc.weight "${all[@]}"
try get ddp.safetensors a_b "${all[@]}" --rename 'nothing=x'
try get ddp.safetensors --prefix module.=
try get ddp.safetensors x --rename '.+=x'
try get ddp.safetensors x --rename '.*weight=x'
try get ddp.safetensors x --rename 'f=\0'
echo '--- diff'
try diff ddp.safetensors plain.safetensors --list
try diff ddp.safetensors plain.safetensors "${all[@]}"
try diff ddp.safetensors plain.safetensors "${all[@]}" --all --list
try diff ddp.safetensors plain.safetensors "${all[@]}" --bytes --list
try diff ddp.safetensors plain.safetensors "${all[@]}" --values --all --list
try diff ddp.safetensors plain.safetensors --prefix modul.=
try diff ddp.safetensors plain.safetensors --rename 'weight|bias=w' --quiet
try --list "SELECT status, name_a, name_b FROM diff('ddp.safetensors', 'plain.safetensors', NULL, 1, '[[\"^module\\\\.\", \"\"]]')"
echo '--- in SQL'
try --list "SELECT renamed('[[\"a\", \"b\"], [\"b+\", \"c\"]]', 'aab') AS x, renamed('[[\"a\", \"b\"], [\"b+\", \"c\"]]', 'aab', 1) AS one, renamed(NULL, 'a') AS same, renamed('[]', 'a') AS none"
for json in '{}' '[["a"]]' '[["a", 1]]' '["a", "b"]' '[["a", "b", "c"]]' '[{"a": "b", "c": "d"}]' '[["(", ""]]' '[["a", "\\2"]]' 'x'; do
    try --list "SELECT renamed('$json', 'a')"
done
echo '--- how much an export wrote, for programs'
try export ddp.safetensors j.zarr --json --prefix module.= | sed -E 's/"seconds":[0-9.]+/"seconds":T/'
find j.zarr -type f | wc -l
