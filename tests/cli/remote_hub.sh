# Repositories of the hub: lists in pages, files by a redirect that must not take the token along, what is gated.
real=$TESTS/fixtures/real
mkdir -p www/sub
cp "$real"/safetensors/llama_tiny/data/* www/
cp www/model-00001-of-00003.safetensors www/sub/part.safetensors
port='' other=''
serve www || exit
export HF_ENDPOINT=http://127.0.0.1:$port
unset HF_TOKEN HF_HOME HF_TOKEN_PATH HUGGING_FACE_HUB_TOKEN XDG_CACHE_HOME
plain() { sed -e "s/$port/PORT/g; s/$other/OTHER/g"; }
asked() { sort log | uniq -c | sed 's/^ *//'; rm -f log; }

echo '--- a repository is a folder'
try import hf://org/repo 2>&1 | plain
asked
"$CKPTDB_BIN" ls --columns name,format,tensors,nbytes
"$CKPTDB_BIN" -d here.db import www
for query in "SELECT format, state, tensors, parameters, nbytes, stored, files FROM checkpoint ORDER BY path" \
    "SELECT ord, name, dtype, shape, elements, nbytes, stored, storage, offset FROM tensor ORDER BY path, ord" \
    "SELECT key, value FROM metadata ORDER BY key, value" "SELECT role, size FROM file ORDER BY role, size"; do
    cmp <("$CKPTDB_BIN" --csv "$query") <("$CKPTDB_BIN" -d here.db --csv "$query") && echo same
done
cmp <("$CKPTDB_BIN" --csv "SELECT t.name, tensor_sha256(t.id) FROM tensor t ORDER BY path, ord") \
    <("$CKPTDB_BIN" -d here.db --csv "SELECT t.name, tensor_sha256(t.id) FROM tensor t ORDER BY path, ord") && echo 'same bytes'
rm log
echo '--- again; a file that changed; one that is new'
try import hf://org/repo 2>&1 | plain
printf ' ' >>www/config.json
cp www/sub/part.safetensors www/sub/other.safetensors
try import hf://org/repo 2>&1 | plain
echo '--- one file; a data set; a revision'
rm log
try -d :memory: import hf://org/repo/sub/part.safetensors 2>&1 | plain
asked
try -d :memory: import hf://datasets/org/repo/sub 2>&1 | plain
try -d :memory: import hf://org/repo@v1.0/sub 2>&1 | plain
asked
echo '--- a branch that moves meanwhile: all is of one commit; one that is named need not be asked for'
try -d :memory: import hf://org/moves hf://org/moves/sub 2>&1 | plain
grep -c revision log
rm log
try -d :memory: import hf://org/repo@b000000000000000000000000000000000000000/sub 2>&1 | plain
grep -c revision log
rm log
echo '--- gated'
try -d :memory: import hf://org/gated 2>&1 | plain
mkdir -p "$HOME/.cache/huggingface"
echo geheim >"$HOME/.cache/huggingface/token"
try -d :memory: import hf://org/gated/sub 2>&1 | plain
echo wrong >"$HOME/.cache/huggingface/token"
HF_TOKEN=geheim try -d :memory: import hf://org/gated/sub 2>&1 | plain
rm -r "$HOME/.cache"
asked
echo '--- lists that lead elsewhere, or do not end'
for repo in none evil nul endless leads; do
    STATUS=always try -d :memory: import hf://org/$repo 2>&1 | plain
done
try -d :memory: import hf://org/repo/none 2>&1 | plain
try -d :memory: import hf://org 2>&1 | plain
