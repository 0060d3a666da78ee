"""Orbax: index a checkpoint of many arrays, against Orbax's own look at what it holds. Only the call is
counted there, not the start of Python and JAX."""
import statistics

WRITE = """
import sys, numpy as np, orbax.checkpoint as ocp
rng, shapes = np.random.default_rng(0), [(8,), (4, 4), (), (16, 2)]
tree = {}
for i in range(int(sys.argv[2])):
    tree.setdefault(f"layer_{i // 10:04d}", {})[f"w{i % 10}"] = rng.random(shapes[i % 4])
with ocp.Checkpointer(ocp.PyTreeCheckpointHandler()) as checkpointer:
    checkpointer.save(sys.argv[1], tree)
"""
LOOK = """
import sys, time, jax, orbax.checkpoint as ocp
with ocp.Checkpointer(ocp.PyTreeCheckpointHandler()) as checkpointer:
    started = time.perf_counter()
    found = checkpointer.metadata(sys.argv[1])
    took = time.perf_counter() - started
tree = getattr(found, "item_metadata", found)
print(len(jax.tree.leaves(getattr(tree, "tree", tree))), took)
"""


def run(bench):
    name, goal = "index 10,000 arrays of Orbax", 0.1
    if not bench.wants(name):
        return
    python = bench.python_with("orbax.checkpoint")
    if not python:
        bench.leave_out(name, "there is no Orbax")
        return
    folder, catalog, count = bench.root / "orbax", bench.root / "orbax.db", bench.count(10000)
    bench.run([python, "-c", WRITE, str(folder), str(count)])
    ratios, ours, theirs = [], [], []
    for pair in range(bench.pairs + 1):
        catalog.unlink(missing_ok=True)
        took, _ = bench.run([bench.ckptdb, "-d", str(catalog), "import", str(folder)])
        _, looked = bench.run([python, "-c", LOOK, str(folder)])
        leaves, reference = looked.split()
        if int(leaves) != count:
            raise SystemExit(f"{name}: Orbax sees {leaves.decode()} arrays, not {count}")
        if pair:
            ratios.append(took / float(reference))
            ours.append(took)
            theirs.append(float(reference))
    _, tensors = bench.run([bench.ckptdb, "-d", str(catalog), "SELECT sum(tensors) FROM checkpoint"])
    if int(tensors) != count:
        raise SystemExit(f"{name}: {tensors.decode()} tensors, not {count}")
    bench.row(name, statistics.median(ratios), min(ratios), max(ratios), goal,
              f"{statistics.median(ours) * 1000:.1f} ms against {statistics.median(theirs) * 1000:.1f} ms")
