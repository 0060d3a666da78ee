# Rows of conversions are counted as they are made: random rule sets, with names that collide, parts that are split
# and joined, settings of the checkpoint, rules that fail; over random checkpoints, several of one layout, with nulls,
# empty containers and a name that is there twice. Then again after rules were edited on the same connection.
cat >trial.py <<'END'
import json, os, random, subprocess, sys
import make_safetensors
r = random.Random(4)
def ckptdb(*args):
    return subprocess.run([os.environ["CKPTDB_BIN"], "--list", *args], capture_output=True, text=True)
def name(): return "/".join(r.choice("ab") + r.choice(["", "0", "1", "2", "é"]) for _ in range(r.randint(1, 3)))
def leaf():
    return r.choice([f"float32[{r.choice('12')},{r.choice('246')}]"] * 4 + ["int8[4]", "?", "float32[]", None, {}, []])
def tree():
    out = {}
    for _ in range(r.randint(0, 30)):
        at, *path = name().split("/"), out
        node = out
        for key in at[:-1]:
            if not isinstance(node.setdefault(key, {}), dict): break
            node = node[key]
        else:
            if not isinstance(node.get(at[-1]), dict) or not node[at[-1]]: node[at[-1]] = leaf()
    return out
for i in range(40):
    if i % 4 == 3:      # a setting beside it
        os.mkdir(f"m{i}")
        names = dict.fromkeys([name() for _ in range(8)] if i % 8 == 3 or i < 8 else old)
        old = list(names)
        make_safetensors.save(f"m{i}/model.safetensors", {n: ("F32", [2, 4], bytes(32)) for n in names})
        open(f"m{i}/config.json", "w").write(json.dumps({"heads": r.choice([1, 2, 4, 3, "x"])} if i % 3 else {}))
    else:
        again = i % 4 == 1 and i > 4
        t = t if again else tree()
        open(f"t{i}.json", "w").write(json.dumps({"ckptdb": "names", "tree": t}))
PATTERNS = ["a(.*)", "b(.*)", "(.*)", "(\\w+)/(\\w)\\w*", "a0?/(.*)", "(.*)[012]", "(.*)é(.*)", ".*/b", "[ab]", "(.*)/(a|b).*",
            "(", "(a)|(b)"]
REPLACEMENTS = ["\\1", "a\\1", "x", "b/\\1", "\\2/\\1", None, "\\3", "\\g<s>", "\\g<0>", "\\g<p>\\1", "ab"]
OPS = [None] * 3 + [[["transpose"]], [["reshape", [-1, 2]]], [["split", 1, 2]], [["unstack", 0]], [["stack", 0, "\\1"]],
       [["concat", 0, "0"]], [["cast", "bfloat16"]], [["split", 1, "\\g<s>"]], [["fold"]], [["copies", ["q", "k"]]], [["stack", 0, "0"]]]
def ruleset():
    rules = []
    for _ in range(r.randint(0, 4)):
        more = {"compute": [["s", "setting", "heads"]] * r.randint(0, 1) + [["p", "part"]] * r.randint(0, 1)}
        ops = r.choice(OPS)
        rules.append([r.choice(PATTERNS), r.choice(REPLACEMENTS), more | ({"ops": ops} if ops else {})])
    options = r.choice([{}, {"unmatched": "keep"}, {"unmatched": "keep"}, {"unmatched": "drop"}])
    if r.random() < 0.5: options = options | {"settings": {"heads": {"from": ["config.json:heads"], "number": True}}}
    if r.random() < 0.05: options = options | {"unmatched": "lose"}
    return {"dialect": "convert", "options": options, "rules": rules}
if ckptdb("import", ".").returncode: sys.exit("import")
# Rows are made if a query asks for more than their count; otherwise they are counted and repeated.
MADE = "SELECT ruleset, checkpoint_id, status, count(coalesce(ord, 0)) AS rows FROM conversion GROUP BY 1, 2, 3"
LIKE = "SELECT ruleset, checkpoint_id, status, count(*) AS rows FROM conversion GROUP BY 1, 2, 3"
OR = ("SELECT '{0}', source_id, status, count(*) FROM conversion_rows WHERE ruleset = '{0}' AND (source_id < 9 OR status = 'ok' OR"
      " source = 12 OR checkpoint_id = 13 OR status > 'o' AND source_id = 14) GROUP BY 2, 3")
TWICE = ("SELECT '{0}', source_id, status, count(*) FROM conversion_rows WHERE ruleset = '{0}' AND source_id = 4"
         " AND status = 'error' OR ruleset = '{0}' AND checkpoint_id = 4 OR source_id = 14 AND status > 'e' AND ruleset = '{0}' OR"
         " source_id = 14 AND status < 'e' AND ruleset = '{0}' OR source_id = 14 AND ruleset = '{0}' AND status > 'm' GROUP BY 2, 3")
ALL = "SELECT r.name, checkpoint_id, status, rows FROM ruleset r JOIN conversion_counts(r.name)"
ONE = "SELECT '{0}', checkpoint_id, status, rows FROM conversion_counts('{0}')"
EACH = "SELECT r.name, c.id, status, rows FROM ruleset r, checkpoint c JOIN conversion_counts(r.name, c.id)"
# No file has a name twice; a catalog that somebody wrote to may.
values = ["INSERT INTO _layout_nodes(id, name, kind, before) SELECT max(id) + 1000, name, 'null', 1 FROM _layout_tensors GROUP BY id >> 24"
          " HAVING (id >> 24) % 5 = 0;"]
for i in range(1, 121):
    s = ruleset()
    values += [f"INSERT INTO ruleset(name, dialect, options) VALUES ('s{i}', 'convert', '{json.dumps(s['options'])}');"]
    for ord, (pattern, replacement, more) in enumerate(s["rules"], 1):
        text = lambda x: "NULL" if x is None else "'" + (x if isinstance(x, str) else json.dumps(x)) + "'"
        values += [f"INSERT INTO rule(ruleset, ord, pattern, replacement, compute, ops) VALUES ('s{i}', {ord}, {text(pattern)}, "
                   f"{text(replacement)}, {text(more['compute'])}, {text(more.get('ops'))});"]
check = [f"SELECT 'all differ', * FROM (SELECT * FROM ({MADE}) EXCEPT {ALL});",
         f"SELECT 'all differ', * FROM ({ALL} EXCEPT SELECT * FROM ({MADE}));",
         f"SELECT 'alike differ', * FROM (SELECT * FROM ({MADE}) EXCEPT {LIKE});",
         f"SELECT 'each differ', * FROM (SELECT * FROM ({MADE}) EXCEPT {EACH});"]
for i in range(1, 121, 7):
    one = MADE.replace(" GROUP", f" WHERE ruleset = 's{i}' GROUP")
    check += [f"SELECT 'one differs', * FROM (SELECT * FROM ({one}) EXCEPT {ONE.format(f's{i}')});",
              f"SELECT 'some differ', * FROM (SELECT * FROM ({OR.format(f's{i}')}) EXCEPT SELECT * FROM ({one}));",
              f"SELECT 'twice', * FROM ({TWICE.format(f's{i}')} EXCEPT SELECT * FROM ({one}));",
              f"SELECT 'once', * FROM (SELECT * FROM ({one}) WHERE checkpoint_id IN (4, 14) EXCEPT {TWICE.format(f's{i}')});",
              f"SELECT 'some are missing', * FROM (SELECT * FROM ({one}) WHERE checkpoint_id < 9 OR status = 'ok' OR checkpoint_id"
              f" IN (12, 13) EXCEPT {OR.format(f's{i}')});"]
edit = ["UPDATE rule SET pattern = 'b(.*)' WHERE pattern = 'a(.*)';", "UPDATE ruleset SET options = json_set(options, '$.unmatched', 'keep')"
        " WHERE name GLOB 's*[13]';", "DELETE FROM rule WHERE ord = 2;"]
sums = [f"SELECT 'sets ' || count(DISTINCT ruleset), status, sum(rows), count(DISTINCT checkpoint_id) FROM ({MADE}) GROUP BY 2;"]
subprocess.run(["sqlite3", os.environ["CKPTDB"], values.pop(0)], check=True)
open("trial.sql", "w").write("\n".join(values + sums + check + edit + sums + check))
p = ckptdb("-f", "trial.sql")
print(p.stdout[:3000] + p.stderr[:2000], end="")
END
python3 trial.py
