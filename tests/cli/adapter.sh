# Adapters (LoRA): what they change in which base, and merging them. The cases of fixtures/adapter were written
# by peft, with the results of its merge_and_unload() (interop/adapter_merge.py); the others are by hand.
cp -r "$TESTS/fixtures/adapter" cases
ckptdb() { "$CKPTDB_BIN" "$@"; }
ckptdb import cases 2>&1 | sed 's/^/import: /'

echo '-- the view'
ckptdb --list "SELECT checkpoint, base_name, kind, rank, alpha, round(scale, 4), status, count(*), min(name), max(name)
    FROM adapter GROUP BY 1, 2, 3, 4, 5, 6, 7"

echo '-- merged as by peft: names that differ; the largest relative distance; tensors that changed'
for base in cases/*/base; do
    case=$(basename "$(dirname "$base")")
    ckptdb export "$case/base/model.safetensors" "$case.safetensors" --merge "$case/adapter/adapter_model.safetensors" || echo "status $?"
    ckptdb -d :memory: -c ".import $case.safetensors" -c ".import cases/$case" -c "
        SELECT '$case', sum(status LIKE 'only%'), sum(dtype_a <> dtype_b),
               max(tensor_distance(tensor_a, tensor_b) ->> '$.rel_l2') < 3e-7
        FROM diff('$case.safetensors', 'merged.safetensors')" 2>/dev/null
    ckptdb import "$case.safetensors" 2>/dev/null
    ckptdb diff "$case/base/model.safetensors" "$case.safetensors" --values --quiet
done

echo '-- renamed: as what is merged first and renamed after, what only the adapter has as well; names that collide are refused'
renamed=(--rename '^(.)=m/\1' --prefix m/=n.)
for case in classifier tied_head dora_embedding; do
    ckptdb export "$case/base/model.safetensors" "renamed_$case.safetensors" "${renamed[@]}" --merge "$case/adapter/adapter_model.safetensors"
    ckptdb -d :memory: export "$case.safetensors" "after_$case.safetensors" "${renamed[@]}"
    ckptdb -d :memory: diff "renamed_$case.safetensors" "after_$case.safetensors" --values
done
ckptdb export classifier/base/model.safetensors refused.safetensors --merge classifier/adapter/adapter_model.safetensors --rename 'score|lm_head=x' --rename 'x\.weight|model.norm.weight=same'; echo "status $?"
rm -f renamed_*.safetensors after_*.safetensors

echo '-- tree and diff'
ckptdb tree patterns/adapter/adapter_model.safetensors
ckptdb tree cases/tied_head/adapter | tail -n 6
ckptdb diff dora_embedding/base/model.safetensors dora_embedding/adapter/adapter_model.safetensors --tree; echo "status $?"
ckptdb --csv diff classifier/base/model.safetensors cases/classifier/adapter | sed 's/\(\.[0-9]\{4\}\)[0-9]*/\1/g'
# the change is what a merged checkpoint differs by
ckptdb --json diff classifier/base/model.safetensors cases/classifier/adapter >said.json 2>/dev/null
ckptdb --json diff classifier/base/model.safetensors classifier.safetensors --values >is.json 2>/dev/null
python3 -c "
import json
said, are = ({r.get('name', r.get('name_b')): r for r in json.load(open(f)) if r['status'] == 'value'} for f in ('said.json', 'is.json'))
print(len(said), set(said) == set(are), all(abs(said[k]['rel'] / are[k]['rel_l2'] - 1) < 1e-6 for k in are))"

python3 - <<'PY'
import json, os, struct
def write(path, tensors, meta=None):
    os.makedirs(os.path.dirname(path) or '.', exist_ok=True)
    head, body = ({'__metadata__': meta} if meta else {}), b''
    for name, (shape, values) in tensors.items():
        data = struct.pack(f'<{len(values)}f', *values)
        head[name] = {'dtype': 'F32', 'shape': shape, 'data_offsets': [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(head).encode()
    open(path, 'wb').write(struct.pack('<Q', len(text)) + text + body)
def n(*shape):  # small whole numbers: every order of sums gives the same
    count = 1
    for s in shape: count *= s
    return (list(shape), [(i * 7 + len(shape)) % 5 - 2.0 for i in range(count)])
unet = {'down.0.attn.to_q.weight': n(4, 3), 'down.0.attn.to_out.0.weight': n(3, 4), 'down.0.conv.weight': n(4, 2, 3, 3),
        'down.0.proj.weight': n(4, 3, 1, 1), 'down.0.norm.bias': n(4)}
text = {'text_model.layers.0.q_proj.weight': n(3, 3), 'text_model.layers.1.q_proj.weight': n(3, 3)}
write('pipe/unet/model.safetensors', unet)
write('pipe/text_encoder/model.safetensors', text)
k = {}
def kohya(module, a, b, alpha):
    k.update({f'{module}.lora_down.weight': n(*a), f'{module}.lora_up.weight': n(*b), f'{module}.alpha': ([], [alpha])})
kohya('lora_unet_down_0_attn_to_q', (2, 3), (4, 2), 1.0)
kohya('lora_unet_down_0_conv', (2, 2, 3, 3), (4, 2, 1, 1), 3.0)
kohya('lora_unet_down_0_proj', (2, 3), (4, 2), 2.0)  # a matrix for a convolution of 1 x 1
kohya('lora_te_text_model_layers_1_q_proj', (1, 3), (3, 1), 0.5)
write('kohya.safetensors', k)
write('diffusers.safetensors', {'unet.down.0.attn.to_q.lora_A.weight': n(2, 3), 'unet.down.0.attn.to_q.lora_B.weight': n(4, 2),
      'unet.down.0.attn.processor.to_out_lora.down.weight': n(2, 4), 'unet.down.0.attn.processor.to_out_lora.up.weight': n(3, 2)},
      {'lora_adapter_metadata': json.dumps({'unet.r': 2, 'unet.lora_alpha': 6, 'unet.alpha_pattern': {'to_out.0': 2}})})
def adapter(path, tensors, **config):
    write(f'{path}/adapter_model.safetensors', tensors)
    json.dump({'peft_type': 'LORA', 'r': 2, 'lora_alpha': 2, **config}, open(f'{path}/adapter_config.json', 'w'))
p = 'base_model.model.down.0.attn.to_q.'
good = {p + 'lora_A.weight': n(2, 3), p + 'lora_B.weight': n(4, 2)}
adapter('bad/ia3', {p + 'ia3_l': n(4, 1)}, peft_type='IA3')
adapter('bad/shape', {**good, p + 'lora_B.weight': n(5, 2)})
adapter('bad/rank', {**good, p + 'lora_B.weight': n(4, 3)})
adapter('bad/half', {p + 'lora_A.weight': n(2, 3)})
adapter('bad/other', {'base_model.model.h.0.q.lora_A.weight': n(2, 3), 'base_model.model.h.0.q.lora_B.weight': n(4, 2)})
adapter('bad/tucker', {**good, p + 'lora_mid.weight': n(2, 2)})
adapter('bad/pissa', good, init_lora_weights='pissa_niter_4')
adapter('bad/experts', good, target_parameters=['experts.w'])
adapter('bad/saved', {**good, 'base_model.model.down.0.norm.bias': n(5)})
adapter('bad/magnitude', {**good, p + 'lora_magnitude_vector': n(3)}, use_dora=True)
adapter('bad/dora', good, use_dora=True)
adapter('named/near', good, base_model_name_or_path='./pipe/unet/')
adapter('named/far', good, base_model_name_or_path='org/gone')
adapter('named/several', good, base_model_name_or_path='twice')
write('one/twice/model.safetensors', unet)
write('two/twice/model.safetensors', unet)
PY
ckptdb import pipe kohya.safetensors diffusers.safetensors bad named 2>&1 | sed 's/^/import: /'
echo '-- kohya, diffusers'
ckptdb --list "SELECT checkpoint, base_name, component, name, rank, alpha, scale, status FROM adapter
    WHERE checkpoint IN ('kohya.safetensors', 'diffusers.safetensors')"
values() { ckptdb -d :memory: -c ".import $1" -c "SELECT name, (SELECT group_concat(value, ' ') FROM tensor_values(t.id, 0, 12)) FROM tensor t WHERE name REGEXP '$2'" 2>/dev/null; }
ckptdb export unet/model.safetensors k.safetensors --merge kohya.safetensors && values k.safetensors 'to_q|conv|proj'
ckptdb export text_encoder/model.safetensors t.safetensors --merge kohya.safetensors && values t.safetensors .
ckptdb export unet/model.safetensors d.safetensors --merge diffusers.safetensors && values d.safetensors attn
ckptdb diff unet/model.safetensors kohya.safetensors | cut -f 1-7 # (the file has its scale)
echo '-- several, with factors; maps, casts, parts'
ckptdb export unet/model.safetensors s.safetensors --merge kohya.safetensors:0.5 --merge diffusers.safetensors:-1 --names to_q && values s.safetensors .
ckptdb map load up - <<<'{"dialect": "convert", "rules": [["down\\.(\\d)\\.attn\\.to_q\\.weight", "q\\1", {"ops": [["transpose"]]}], [".*", null]]}'
ckptdb export unet/model.safetensors m.safetensors --merge kohya.safetensors --map up --dtype float16 && values m.safetensors .
ckptdb export unet/model.safetensors parts.safetensors --merge kohya.safetensors --shard-size 100 && ls parts* && values parts-00001-of-00003.safetensors .
ckptdb export unet/model.safetensors k.zarr --merge kohya.safetensors && values k.zarr to_q
ckptdb --csv export unet/model.safetensors n.safetensors --merge kohya.safetensors --names to_q --dry-run; ls n.safetensors
head -c 600 s.safetensors | grep -ao '"ckptdb_merge":"[^"]*"' | sed "s|$PWD||g"

echo '-- what cannot be merged'
for name in ia3 shape rank half other tucker pissa experts saved magnitude dora; do
    ckptdb export unet/model.safetensors never.safetensors --merge "bad/$name"; echo "$name: status $?"
done
ckptdb export unet/model.safetensors never.safetensors --merge text_encoder/model.safetensors
ckptdb export unet/model.safetensors never.safetensors --merge nothing
ckptdb export --sql 'SELECT 1' never.safetensors --merge kohya.safetensors
ckptdb export unet/model.safetensors kohya.safetensors --merge kohya.safetensors --force
ckptdb export classifier/base/model.safetensors never.safetensors --merge cases/classifier/adapter --map strip_prefixes
ckptdb diff unet/model.safetensors bad/other; echo "status $?"
ckptdb --list "SELECT checkpoint, kind, status FROM adapter WHERE checkpoint_id IN (SELECT id FROM checkpoint WHERE path LIKE '%/bad/%')"
cp -r named/near changed && ckptdb import changed 2>/dev/null && printf x >>changed/adapter_model.safetensors
ckptdb export unet/model.safetensors never.safetensors --merge changed/adapter_model.safetensors 2>&1 | sed "s|$PWD||g"
ls never.safetensors 2>&1

echo '-- whose adapters they are'
ckptdb --list "SELECT a.checkpoint, a.base_name, c.name, a.kind, a.name, a.status FROM adapter a LEFT JOIN checkpoint c ON c.id = a.base
    WHERE a.checkpoint_id IN (SELECT id FROM checkpoint WHERE path LIKE '%/named/%')"
ckptdb import one two 2>/dev/null
ckptdb --list "SELECT a.checkpoint, a.base_name, c.name, a.kind, a.name, a.status FROM adapter a LEFT JOIN checkpoint c ON c.id = a.base
    WHERE a.checkpoint_id IN (SELECT id FROM checkpoint WHERE path LIKE '%/named/%')"
ckptdb export two/twice/model.safetensors w.safetensors --merge named/near; echo "status $?"

echo '-- beside an adapter in its step: an optimizer and a full model are none, and the adapter stays one'
(
    mkdir mixed && cd mixed && cp -r ../cases/classifier/base ../cases/classifier/adapter .
    mkdir -p run/checkpoint-2 && cp adapter/* run/checkpoint-2/
    cp base/config.json base/model.safetensors run/checkpoint-2/
    export CKPTDB=$PWD/mixed.db
    ckptdb -d :memory: export base/model.safetensors run/checkpoint-2/optimizer.pt --names layernorm --rename '^=state.' 2>/dev/null
    ckptdb import base run 2>&1
    ckptdb --list "SELECT checkpoint, kind, count(*) FROM adapter GROUP BY 1, 2"
    ckptdb diff base run@2:adapter_model --names 'q_proj|score'; echo "status $?"
    ckptdb diff base run@2; echo "status $?"
    ckptdb diff base run@2:optimizer --names 'layers.1.*norm'; echo "status $?"
)
