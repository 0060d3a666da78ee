# How a run's tensors change from step to step: changes, the first NaN, items of a step, files that no catalog holds.
python3 - <<'PY'
import os, struct
from make_safetensors import save
nan, inf = float("nan"), float("inf")
f32 = lambda *x: struct.pack("<%df" % len(x), *x)
values = {5: (1, 2), 10: (2, 2), 100: (4, nan), 200: (-8, inf), 1000: (16, nan)}
for step, (a, b) in values.items():
    os.makedirs("gpt/checkpoint-%d" % step)
    t = [("z.weight", "F32", [2], f32(a, 0)), ("layers.10.w", "F32", [2], f32(b, 3)), ("layers.2.w", "F32", [1], f32(0 if step < 200 else 5))]
    save("gpt/checkpoint-%d/model.safetensors" % step, t + ([("late", "I64", [1], struct.pack("<q", step))] if step > 50 else []))
os.makedirs("one")
save("one/x.safetensors", [("w", "F32", [1], f32(1))])
PY
"$CKPTDB_BIN" import .
"$CKPTDB_BIN" track gpt
echo "status $?"
echo '-- a row a tensor'
"$CKPTDB_BIN" --json track gpt --by name
"$CKPTDB_BIN" --box track gpt 'z|10' --stat max,nans
echo '-- several statistics, of some tensors; any name of the run'
"$CKPTDB_BIN" --csv track gpt@10 '^z' --stat l2,min,l2
for run in gpt gpt/ ./gpt "$PWD/gpt" gpt@latest gpt/checkpoint-5; do "$CKPTDB_BIN" track "$run" late | md5sum; done | uniq -c | cut -c 1-8
echo '-- in SQL: the same changes; by run, by name, joined'
"$CKPTDB_BIN" "SELECT step, l2, change FROM trend WHERE run = 'gpt' AND name = 'z.weight' ORDER BY step"
"$CKPTDB_BIN" "SELECT name, min(step) FROM trend WHERE nans + infs > 0 GROUP BY name"
"$CKPTDB_BIN" "SELECT c.name, t.name, t.change FROM checkpoint c JOIN trend t ON t.checkpoint_id = c.id WHERE c.step = 200 ORDER BY t.name"
for where in "run = 'gpt'" "name = 'z.weight'" "checkpoint = 'gpt@10'" 'checkpoint_id = 1' 'tensor_id = 1' "run = 'gpt' AND step = 5"; do
    "$CKPTDB_BIN" "EXPLAIN QUERY PLAN SELECT * FROM trend WHERE $where" | grep SCAN
done
"$CKPTDB_BIN" "EXPLAIN QUERY PLAN SELECT * FROM main.stats WHERE name = 'z.weight'" | grep SCAN
echo '-- only what is known; a step between'
"$CKPTDB_BIN" -d few.db import . && "$CKPTDB_BIN" -d few.db stats gpt@5 >/dev/null && "$CKPTDB_BIN" -d few.db stats gpt@100 >/dev/null
"$CKPTDB_BIN" -d few.db "SELECT step, change FROM trend WHERE name = 'z.weight' ORDER BY step"
"$CKPTDB_BIN" -d few.db --readonly track gpt z 2>&1
echo '-- of no catalog; in the shell'
"$CKPTDB_BIN" -d none.db track ./gpt z
ls none.db 2>/dev/null
printf '.track gpt layers.2 --by name\n.mode json\n.track gpt layers.2 --stat mean\n' | "$CKPTDB_BIN"
echo '-- one thread, several: the same'
"$CKPTDB_BIN" track gpt --again --jobs 1 --stat l2,mean,std >one.txt
"$CKPTDB_BIN" track gpt --again --jobs 4 --stat l2,mean,std | cmp - one.txt && echo same
echo '-- an item of each step'
mkdir tr && cp -r gpt/checkpoint-5 gpt/checkpoint-10 tr
python3 - <<'PY'
import os, sys
sys.path.insert(0, os.environ["TESTS"] + "/fixtures")
import make_torch, struct
for step in (5, 10):
    raw = struct.pack("<2f", step, step)
    with open("tr/checkpoint-%d/optimizer.pt" % step, "wb") as f:
        f.write(make_torch.saved({"z.weight": make_torch.tensor((2,), (1,), 0, make_torch.storage("0", "Float", 2))}, data={"0": raw}))
PY
"$CKPTDB_BIN" import tr && "$CKPTDB_BIN" track tr z && "$CKPTDB_BIN" track tr@latest:optimizer z && "$CKPTDB_BIN" stats tr z | cut -f 1-4
"$CKPTDB_BIN" "SELECT item, step, change FROM trend WHERE run = 'tr' AND name = 'z.weight' ORDER BY 1, 2"
echo '-- mistakes'
for args in 'gpt --stat l2,foo' 'gpt --stat ,' 'gpt --by size' 'gpt (' nothing x.safetensors 'gpt --stat l2 --stat mean'; do
    "$CKPTDB_BIN" track $args
    echo "status $?"
done
echo '-- columns of stats'
"$CKPTDB_BIN" --csv stats gpt '^z' --columns 'step, MAX,item'
"$CKPTDB_BIN" stats gpt@5 --columns name,size
echo "status $?"
echo '-- histograms of the steps of a tensor have one scale'
"$CKPTDB_BIN" --box stats gpt '^z' --columns step,min,max,histogram
