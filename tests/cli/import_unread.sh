# What looks like a checkpoint and is not read is counted by kind, with a warning a folder.
export STATUS=always
issues() {
    "$CKPTDB_BIN" --list "SELECT severity, code, path, message FROM issue"
}
zeros() { # COUNT
    head -c "$1" /dev/zero
}
member() { # NAME SIZE: a tar header; a size of a digit
    printf '%s' "$1"
    zeros $((124 - ${#1}))
    printf '0000000000%d\0' "$2"
    zeros 121
    printf 'ustar\00000'
    zeros 247
}
tar_end() {
    zeros 1024
}

echo "--- ordinary files are nothing, whatever they are called"
mkdir -p plain
printf '\211PNG\r\n\032\n' >plain/image.tflite
printf 'see TFL3' >plain/notes.txt
printf 'lmgg, ftrt and RKNN' >plain/words.txt
printf '    TFL' >plain/short
printf 'ftrt, said he' >plain/text
printf '<?xml version="1.0"?>\n<svg name="x"/>' >plain/drawing.xml
printf 'PK\3\4\24\0\0\0\0\0%016d\13\0\0\0metadata.js{}' 0 >plain/other.zip
{ member notes.txt 3; printf abc; zeros 509; member sub/model_weights.ckpt 0; tar_end; } >plain/x.tar
{ member notes.txt 8; printf 'model_weights.ckpt'; } >plain/cut.tar
{ member -1 0; zeros 100; } >plain/odd.tar
printf '\377\377\377\377\377\377\377\377' | dd of=plain/odd.tar bs=1 seek=124 conv=notrunc status=none
try import plain

echo "--- one of each kind"
mkdir kinds
printf '\34\0\0\0TFL3' >kinds/d.tflite
printf 'ftrt\0\0\0\0' >kinds/e.engine
printf '|TZR|\1' >kinds/f.tensors
{ printf '\1\0\0\0\2\0\0\0'; zeros 56; printf '\357\276\255\336'; } >kinds/weight.bin
printf '<?xml version="1.0"?>\n<net name="m" version="11">' >kinds/g.xml
printf 'lmgg\0\1\0\0' >kinds/h.bin
printf 'tjgg\3\0\0\0' >kinds/i.bin
printf 'PYTORCH1' >kinds/j.pt
printf '\34\0\0\0ET12' >kinds/k.pte
printf '\34\0\0\0ORTM' >kinds/l.ort
printf '\272\026\117\057\14\0\0\0' >kinds/m.bin
printf '\22\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0' >kinds/n.params
printf '\267\234\4\5\117\215\345\367' >kinds/o.params
printf '7767517\n75 83\n' >kinds/p.param
{ member ./ 0; member ./a_tokenizer.model 5; printf 12345; zeros 507
  for i in 1 2 3 4 5 6 7 8 9; do member "./$i" 0; done
  member ./model_weights.ckpt 0; tar_end; } >kinds/q.nemo
{ member model_config.yaml 0; member model_weights/ 0; tar_end; } >kinds/r.nemo
printf 'PK\3\4%022d\20\0\0\0model_index.json{}' 0 >kinds/s.dduf
try import kinds
echo "--- and again, without opening one: what looks unchanged is not looked into"
cp -p kinds/d.tflite d.before
printf '\34\0\0\0TFL2' | dd of=kinds/d.tflite conv=notrunc status=none
touch -r d.before kinds/d.tflite
try import kinds

echo "--- neighbours: a checkpoint, other folders, more than are named"
mkdir -p some/below
printf '\066\0\0\0\0\0\0\0{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}\1\2\3\4' >some/x.safetensors
for i in 1 2 3 4 5; do printf '\34\0\0\0TFL3' >"some/$i.tflite"; done
printf '\34\0\0\0TFL3' >some/below/one
try import --dry-run some
try import some
try import some some/below some/3.tflite
try import --prune some
issues | sed '/kinds/d'

echo "--- named, whatever it is called and whether it was looked at or not"
printf '\34\0\0\0TFL3' >new.safetensors
try import some/3.tflite
try import new.safetensors
try import new.safetensors
echo "--- what moves: it is known in its new place"
mv some moved
try relocate some moved
cp -p moved/1.tflite before
printf '\34\0\0\0TFL2' | dd of=moved/1.tflite conv=notrunc status=none
touch -r before moved/1.tflite
try import moved
mv moved some
try relocate moved some
cp -p before some/1.tflite
echo "--- what changes, and what goes"
printf '\34\0\0\0TFL2' >some/1.tflite
printf 'ftrt\0\0\0\0' >some/2.tflite
rm some/3.tflite some/below/one
try import some
try import some
rm some/*.tflite
try import --prune some
issues | sed '/kinds/d'
"$CKPTDB_BIN" --list "SELECT count(*) FROM _unread WHERE path LIKE '%/some/%'"

echo "--- formats"
"$CKPTDB_BIN" --jsonl formats | grep '"read":"no","written":"no"'
