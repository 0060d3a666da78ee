"""HTML for notebooks: names are data here, never markup."""
from __future__ import annotations

import html
import json
from typing import TYPE_CHECKING, Any, Dict

if TYPE_CHECKING:
    from .checkpoint import Tensors
    from .tensor import Tensor

ROWS = 2000 # tensors of a tree; the rest are counted


def tensor(t: "Tensor") -> str:
    """Name, shape, dtype, place, and the histogram where statistics are known."""
    facts = {"name": t.name, "dtype": t.dtype_name, "shape": "×".join(map(str, t.shape)) or "scalar",
             "bytes": f"{t.nbytes:,}", "storage": t.storage}
    row = None
    if t.id is not None:
        row = t._owner.catalog.sql("SELECT min, max, mean, std, histogram FROM stats WHERE tensor_id = ?",
                                   [t.id]).fetchone()
    if row:
        facts.update(zip(("min", "max", "mean", "std"), (f"{v:.6g}" if isinstance(v, float) else str(v) for v in row)))
    cells = "".join(f"<tr><th>{k}</th><td>{html.escape(str(v))}</td></tr>" for k, v in facts.items())
    return f"<table>{cells}</table>" + (histogram(row[4]) if row and row[4] else "")


def histogram(text: Any) -> str:
    """Bars for the counts of the column `histogram`."""
    held = json.loads(text)
    counts = held.get("counts", []) if isinstance(held, dict) else held
    most = max(counts, default=0)
    if not most:
        return ""
    bars = "".join(f'<rect x="{4 * i}" y="{40 - 40 * n / most:.1f}" width="3" height="{40 * n / most:.1f}"/>'
                   for i, n in enumerate(counts))
    return f'<svg width="{4 * len(counts)}" height="40" role="img" aria-label="histogram" fill="currentColor">{bars}</svg>'


def tree(tensors: "Tensors") -> str:
    """A checkpoint as a folded tree."""
    budget = [ROWS]
    body = branch(tensors.tree(), budget)
    more = len(tensors) - ROWS
    return (f"<details open><summary>{html.escape(repr(tensors))}</summary>{body}" +
            (f"<p>… {more} more</p>" if more > 0 else "") + "</details>")


def branch(nodes: Dict[str, Any], budget: "list[int]") -> str:
    rows = []
    for name, node in nodes.items():
        if budget[0] <= 0:
            break
        if isinstance(node, dict):
            rows.append(f"<li><details><summary>{html.escape(name)}</summary>{branch(node, budget)}</details></li>")
        else:
            budget[0] -= 1
            shape = "×".join(map(str, node.shape))
            rows.append(f"<li>{html.escape(name)} <code>{html.escape(node.dtype_name)} {shape}</code></li>")
    return f"<ul>{''.join(rows)}</ul>"
