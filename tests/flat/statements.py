"""The statements that both sides are asked: statements.sql with its values filled in, and random ones."""
import pathlib
import random
import re

# What stands in braces in statements.sql, from the flat tables; of the checkpoints that runs.py wrote, where there
# are such. `like` and `glob` make patterns of a value.
CHOSEN = ("SELECT id FROM checkpoint WHERE step = 400 AND run GLOB '*run0*' AND tensors > 20 "
          "ORDER BY id LIMIT 1 OFFSET (SELECT count(*) / 2 FROM checkpoint WHERE step = 400 AND run GLOB '*run0*' AND tensors > 20)")
VALUES = {
    "cid": CHOSEN,
    "cid2": "SELECT min(id) FROM checkpoint WHERE run = (SELECT run FROM checkpoint WHERE id = {cid}) AND id <> {cid}",
    "cid3": "SELECT max(id) FROM checkpoint WHERE step = 200 AND format = (SELECT format FROM checkpoint WHERE id = {cid})",
    "hashed": "SELECT min(checkpoint_id) FROM tensor WHERE hash IS NOT NULL",
    "id": "SELECT id FROM tensor WHERE checkpoint_id = {cid} AND ord = 7",
    "id2": "SELECT id FROM tensor WHERE checkpoint_id = {cid2} AND ord = 1",
    "id3": "SELECT max(id) FROM tensor",
    "checkpoint": "SELECT checkpoint FROM tensor WHERE id = {id}",
    "path": "SELECT path FROM checkpoint WHERE id = {cid}",
    "cname": "SELECT name FROM checkpoint WHERE id = {cid}",
    "run": "SELECT run FROM checkpoint WHERE id = {cid}",
    "name": "SELECT name FROM tensor WHERE checkpoint_id = {cid} AND ord = 10",
    "name2": "SELECT name FROM tensor WHERE checkpoint_id = {cid3} AND ord = 12",
    "file": "SELECT file FROM tensor WHERE id = {id}",
    "dtype": "SELECT dtype FROM tensor WHERE dtype IS NOT NULL GROUP BY dtype ORDER BY count(*) DESC, dtype LIMIT 1 OFFSET 1",
    "rare_dtype": "SELECT dtype FROM tensor WHERE dtype IS NOT NULL GROUP BY dtype ORDER BY count(*), dtype LIMIT 1",
    "shape": "SELECT shape FROM tensor WHERE shape IS NOT NULL GROUP BY shape ORDER BY count(*) DESC, shape LIMIT 1 OFFSET 2",
    "rare_shape": "SELECT shape FROM tensor WHERE shape IS NOT NULL GROUP BY shape ORDER BY count(*), shape LIMIT 1",
    "hash": "SELECT hash FROM tensor WHERE checkpoint_id = {hashed} AND ord = 5",
    "large": "SELECT max(nbytes) / 2 FROM tensor WHERE checkpoint_id = {cid}",
    "file_size": "SELECT max(size) * 3 / 4 FROM file WHERE checkpoint_id = {cid}",
    "name_prefix": "SELECT substr(name, 1, length(name) - 3) || '*' FROM tensor WHERE id = {id}",
    "checkpoint_like": "SELECT '%' || substr(checkpoint, -28) FROM tensor WHERE id = {id}",
    "path_like": "SELECT '%' || substr(path, -40) FROM checkpoint WHERE id = {cid}",
    "file_like": "SELECT '%' || substr(file, -40) FROM tensor WHERE id = {id}",
    "run_glob": "SELECT '*/' || replace(run, rtrim(run, replace(run, '/', '')), '') || '*' FROM checkpoint WHERE id = {cid}",
}


class Statement:
    def __init__(self, title, sql, limit=3.0, how="rows"):
        self.title, self.sql, self.limit, self.how = title, sql, limit, how


def blocks():
    """Limit, how, title and text of each statement of statements.sql."""
    text = (pathlib.Path(__file__).parent / "statements.sql").read_text()
    return re.findall(r"^-- ([0-9]+) (?:(ordered|counted) )?(.*)\n((?:[^-\n].*\n)+)", text, re.M)


def titles():
    return [title for _, _, title, _ in blocks()]


def fixed(flat):
    """The statements of statements.sql about the tables of a connection, in order."""
    values = {}

    def fill(sql):
        return re.sub(r"\{(\w+)\}", lambda match: values[match[1]], sql)

    for name, sql in VALUES.items():
        values[name] = flat.execute(f"SELECT quote(({fill(sql)}))").fetchone()[0]
    return [Statement(title, fill(sql.strip()), float(limit), how or "rows") for limit, how, title, sql in blocks()]


# What can be joined: columns of one kind, of one domain. "many" kinds meet too often to join by them alone.
KINDS = {
    "tensor": "id:tensor checkpoint_id:checkpoint checkpoint:cname path:cpath ord:number name:name dtype:dtype shape:shape "
              "rank:number elements:number nbytes:number stored:number storage:word file:file offset:number hash:hash",
    "checkpoint": "id:checkpoint name:cname path:cpath format:word run:run step:number item:word state:word layout:number "
                  "tensors:number parameters:number nbytes:number stored:number files:number hash:word",
    "metadata": "checkpoint_id:checkpoint checkpoint:cname key:word value:value",
    "file": "id:file_id checkpoint_id:checkpoint path:file size:number role:word",
    "issue": "id:issue_id checkpoint_id:checkpoint checkpoint:cname path:file severity:word code:word",
    "node": "checkpoint_id:checkpoint name:name kind:word",
    "by_dtype": "checkpoint_id:checkpoint checkpoint:cname dtype:dtype tensors:number nbytes:number",
    "by_module": "checkpoint_id:checkpoint checkpoint:cname module:word depth:number tensors:number",
    "by_folded_module": "checkpoint_id:checkpoint checkpoint:cname module:word depth:number tensors:number",
    "by_name": "name:name dtype:dtype shape:shape elements:number nbytes:number checkpoints:number",
    "largest": "checkpoint_id:checkpoint checkpoint:cname name:name dtype:dtype shape:shape nbytes:number",
    "disk": "run:run folder:word files:number bytes:number",
    "content": "hash:hash tensor_id:tensor checkpoint_id:checkpoint",
    "stats": "checkpoint_id:checkpoint checkpoint:cname tensor_id:tensor name:name dtype:dtype shape:shape",
}
OTHERS = [view for view in KINDS if view != "tensor"]
ALONE, MANY = ("checkpoint", "tensor", "cname", "cpath", "file", "hash", "name"), ("dtype", "shape")
TEXT = ("cname", "cpath", "name", "dtype", "shape", "file", "hash", "word", "run", "value")


class Random:
    """Random statements about the tables of a connection; what they compare with are values from there."""

    def __init__(self, flat, seed):
        self.r = random.Random(seed)
        self.kinds, self.values = {}, {}
        for view, listed in KINDS.items():
            there = {row[1] for row in flat.execute(f"PRAGMA table_info({view})")}
            self.kinds[view] = dict(pair.split(":") for pair in listed.split() if pair.split(":")[0] in there)
            for column in self.kinds[view]:
                found = [row[0] for row in flat.execute(f"SELECT DISTINCT {column} FROM {view} WHERE {column} IS NOT NULL "
                                                        f"AND instr({column}, char(0)) = 0 AND length({column}) < 120 ORDER BY 1")]
                self.values[view, column] = self.r.sample(found, min(len(found), 60)) or ["x"]

    def chance(self, p):
        return self.r.random() < p

    def view(self):
        return "tensor" if self.chance(0.6) else self.r.choice(OTHERS)

    def quoted(self, value):
        if isinstance(value, str):
            return "'" + value.replace("'", "''") + "'"
        return "9e999" if value == float("inf") else repr(value)

    def literal(self, view, column):
        if self.chance(0.03):
            return self.r.choice(["NULL", "'none such'", "-1", "0", "1 << 40"])
        return self.quoted(self.r.choice(self.values[view, column]))

    def column(self, sources, kinds=None):
        """A column of some source, (alias, view, name), of one of these kinds."""
        found = [(alias, view, name) for alias, view in sources for name, kind in self.kinds[view].items()
                 if not kinds or kind in kinds]
        return self.r.choice(found) if found else None

    def pattern(self, full, view, name):
        value = str(self.r.choice(self.values[view, name]))
        start = self.r.randrange(len(value)) if value and self.chance(0.5) else 0
        part = value[start:start + self.r.choice([1, 3, 8, 100])]
        head, tail = start > 0 or self.chance(0.3), self.chance(0.8)
        kind = self.r.choice(["LIKE", "GLOB", "REGEXP"])
        if kind == "REGEXP":
            text = ("" if head else "^") + re.sub(r"([^A-Za-z0-9_/ -])", r"\\\1", part.replace("\n", " ")) + ("" if tail else "$")
            text = text if text.isascii() else "a"
        else:
            any_text = "%" if kind == "LIKE" else "*"
            text = any_text * head + (part if kind == "LIKE" else re.sub(r"([*?[])", r"[\1]", part)) + any_text * tail
        return f"{full} {'NOT ' * self.chance(0.15)}{kind} {self.quoted(text)}"

    def condition(self, sources, depth=0):
        if depth < 2 and self.chance(0.25):
            a, b = self.condition(sources, depth + 1), self.condition(sources, depth + 1)
            return f"({a} {self.r.choice(['AND', 'OR', 'OR'])} {b})"
        alias, view, name = self.column(sources)
        full, kind = f"{alias}.{name}", self.kinds[view][name]
        form = self.r.choice("= = = = in in sub range between pattern pattern null not exists expression".split())
        if form == "pattern" and kind in TEXT:
            return self.pattern(full, view, name)
        if form == "in":
            return f"{full} {'NOT ' * self.chance(0.2)}IN ({', '.join(self.literal(view, name) for _ in range(self.r.randint(1, 4)))})"
        if form == "sub" and kind in ALONE:
            other = self.view()
            inner = self.column([("s", other)], (kind,))
            if inner:
                return f"{full} {'NOT ' * self.chance(0.2)}IN (SELECT {inner[2]} FROM {other} s WHERE {self.simple('s', other)})"
        if form == "exists" and kind in ALONE:
            other = self.view()
            inner = self.column([("e", other)], (kind,))
            if inner:
                return (f"{'NOT ' * self.chance(0.3)}EXISTS (SELECT 1 FROM {other} e WHERE e.{inner[2]} = {full}"
                        f" AND {self.simple('e', other)})")
        if form == "range":
            return f"{full} {self.r.choice(['<', '<=', '>', '>='])} {self.literal(view, name)}"
        if form == "between":
            return f"{full} BETWEEN {self.literal(view, name)} AND {self.literal(view, name)}"
        if form == "null":
            return f"{full} IS {'NOT ' * self.chance(0.5)}NULL"
        if form == "not":
            return f"{full} {self.r.choice(['<>', 'IS NOT'])} {self.literal(view, name)}"
        if form == "expression":
            return f"length({full}) % 3 = {self.r.randrange(3)}"
        return f"{full} {'=' if self.chance(0.9) else 'IS'} {self.literal(view, name)}"

    def simple(self, alias, view):
        _, _, name = self.column([(alias, view)])
        return f"{alias}.{name} {self.r.choice(['=', '>', '<=', 'IS NOT'])} {self.literal(view, name)}"

    def on(self, sources, alias, view):
        """How a view joins the tables so far: by a column that both have, or None."""
        pairs = [(f"{a}.{x}", f"{alias}.{y}", kind) for a, v in sources for x, kind in self.kinds[v].items()
                 for y, other in self.kinds[view].items() if kind == other and kind in ALONE + MANY]
        good = [pair for pair in pairs if pair[2] in ALONE]
        if not good:
            return None
        chosen = [self.r.choice(good)]
        if self.chance(0.3):
            chosen.append(self.r.choice(pairs))
        text = " AND ".join(f"{x} = {y}" if self.chance(0.5) else f"{y} = {x}" for x, y, _ in chosen)
        if self.chance(0.3):
            text += " AND " + self.condition([(alias, view)], 1)
        return text

    def source(self):
        """FROM's text and its sources."""
        view = self.view()
        sources, text = [("a", view)], f"{view} a"
        if self.chance(0.1):
            text = f"(SELECT * FROM {view} a WHERE {self.condition(sources, 1)}) a"
        for alias in "bc"[:self.r.choice([0, 0, 0, 1, 1, 1, 1, 2])]:
            other = self.view()
            on = self.on(sources, alias, other)
            if on:
                kind = self.r.choice(["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
                text += f" {kind} {other} {alias} ON {on}"
                sources.append((alias, other))
        return text, sources

    def where(self, sources):
        if len(sources) == 1 and self.chance(0.25):
            return ""
        return " WHERE " + " AND ".join(self.condition(sources) for _ in range(self.r.choice([1, 1, 2])))

    def aggregate(self, sources):
        numbers, any_one = self.column(sources, ("number",)), self.column(sources)
        of, count = (f"{numbers[0]}.{numbers[2]}" if numbers else "1"), f"{any_one[0]}.{any_one[2]}"
        return self.r.choice(["count(*)", f"sum({of})", f"total({of})", f"avg({of})", f"min({count})", f"max({count})",
                              f"count({count})", f"count(DISTINCT {count})", f"sum({of}) FILTER (WHERE {count} IS NOT NULL)",
                              f"sum(CASE WHEN {self.condition(sources, 2)} THEN 1 ELSE 0 END)"])

    def limited(self, width, always=False):
        if not always and self.chance(0.4):
            return ""
        way = [f"{i + 1}{' DESC' * self.chance(0.3)}" for i in self.r.sample(range(width), width)]
        return f" ORDER BY {', '.join(way)} LIMIT {self.r.choice([0, 1, 5, 50, 300])}" + \
            (f" OFFSET {self.r.choice([0, 1, 20, 500])}" if self.chance(0.4) else "")

    def names(self, sources, most):
        chosen = [self.column(sources) for _ in range(self.r.randint(1, most))]
        return list(dict.fromkeys(f"{alias}.{name}" for alias, _, name in chosen))

    def select(self):
        """A statement, and whether its order is total."""
        text, sources = self.source()
        where = self.where(sources)
        form = self.r.choice("rows rows rows aggregate aggregate group group distinct compound scalar window with".split())
        listed = self.names(sources, 4)
        if form == "aggregate":
            return f"SELECT {', '.join(self.aggregate(sources) for _ in range(self.r.randint(1, 3)))} FROM {text}{where}", False
        if form == "group":
            keys = listed[:2]
            shown = keys + [self.aggregate(sources) for _ in range(self.r.randint(1, 2))]
            having = f" HAVING count(*) > {self.r.choice([0, 1, 3])}" if self.chance(0.3) else ""
            order = self.limited(len(shown))
            return f"SELECT {', '.join(shown)} FROM {text}{where} GROUP BY {', '.join(keys)}{having}{order}", bool(order)
        if form == "distinct":
            order = self.limited(len(listed))
            return f"SELECT DISTINCT {', '.join(listed)} FROM {text}{where}{order}", bool(order)
        if form == "compound":
            other, others = self.source()
            kinds = [next(k for a, v in sources for n, k in self.kinds[v].items() if f"{a}.{n}" == name) for name in listed]
            right = [self.column(others, (kind,)) or self.column(others) for kind in kinds]
            order = self.limited(len(listed), True)
            return (f"SELECT {', '.join(listed)} FROM {text}{where} {self.r.choice(['UNION', 'UNION ALL', 'INTERSECT', 'EXCEPT'])} "
                    f"SELECT {', '.join(f'{a}.{n}' for a, _, n in right)} FROM {other}{self.where(others)}{order}"), True
        if form == "scalar":
            outer = self.column(sources, ALONE)
            view = self.view()
            inner = outer and self.column([("s", view)], (self.kinds[outer[1]][outer[2]],))
            if inner:
                listed.append(f"(SELECT {self.aggregate([('s', view)])} FROM {view} s WHERE s.{inner[2]} = {outer[0]}.{outer[2]})")
        if form == "window":
            key, _, name = self.column(sources)
            number = self.column(sources, ("number",)) or (key, None, name)
            listed.append(self.r.choice([f"sum({number[0]}.{number[2]}) OVER (PARTITION BY {key}.{name})",
                                         f"rank() OVER (ORDER BY {key}.{name})", f"count(*) OVER (PARTITION BY {key}.{name})",
                                         f"dense_rank() OVER (PARTITION BY {key}.{name} ORDER BY {number[0]}.{number[2]})"]))
        order = self.limited(len(listed), True)
        if form == "with":
            named = [f"{name} AS x{i}" for i, name in enumerate(listed)]
            return (f"WITH w AS {self.r.choice(['', 'MATERIALIZED '])}(SELECT {', '.join(named)} FROM {text}{where}) "
                    f"SELECT * FROM w{order}"), True
        return f"SELECT {', '.join(listed)} FROM {text}{where}{order}", True

    def statement(self, title):
        sql, ordered = self.select()
        return Statement(title, sql + ";", how="ordered" if ordered else "rows")
