"""A catalog that many cases share: their checkpoints and rule sets, and one script of questions."""
import json
import os
import subprocess

from maps import trees


def quote(value):
    if value is None:
        return "NULL"
    if isinstance(value, (int, float)):
        return str(value)
    return "'" + str(value).replace("'", "''") + "'"


class Catalog:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.rows = []
        self.sets = self.files = 0
        self.ids = []
        os.mkdir(f"{folder}/checkpoints")

    def checkpoint(self, tree):
        """A checkpoint of names; gives the place of its id in `ids`."""
        self.files += 1
        with open(f"{self.folder}/checkpoints/{self.files}.json", "w", encoding="utf-8") as f:
            json.dump({"ckptdb": "names", "tree": trees.skeleton(tree)}, f)
        return self.files - 1

    def ruleset(self, dialect, options, rules):
        """Rules are [pattern, replacement]; gives the set's name."""
        self.sets += 1
        name = f"set {self.sets}"
        self.rows.append("INSERT INTO ruleset(name, dialect, options) VALUES "
                         f"('{name}', '{dialect}', {quote(json.dumps(options))});")
        for ord_, (pattern, replacement) in enumerate(rules):
            self.rows.append("INSERT INTO rule(ruleset, ord, pattern, replacement) VALUES "
                             f"('{name}', {ord_}, {quote(pattern)}, {quote(replacement)});")
        return name

    def load(self, document):
        """A rule set as `map load` makes it of a document; gives the set's name."""
        self.sets += 1
        name = f"set {self.sets}"
        done = self.run("map", "load", name, "-", text=json.dumps(document))
        if done.returncode:
            raise SystemExit(f"map load of {document}: {done.stderr}")
        return name

    def run(self, *words, text=None):
        return subprocess.run([self.program, "-d", "catalog.db", *words], cwd=self.folder,
                              input=text, capture_output=True, encoding="utf-8", check=False)

    def make(self):
        self.run("import", "checkpoints")
        done = self.run(
            "--list", "-f", "-", text="BEGIN;\n" + "\n".join(self.rows) + "\nCOMMIT;\n"
            "SELECT json_group_object(path, id) FROM checkpoint;\n")
        if done.returncode:
            raise SystemExit(f"making the catalog: {done.stderr}")
        ids = {os.path.basename(path): id_ for path, id_ in json.loads(done.stdout).items()}
        self.ids = [ids.get(f"{k + 1}.json") for k in range(self.files)]

    def answers(self, questions):
        """The value of each expression, or the text of its error."""
        script = [".bail off"] + [
            f"SELECT json_array({k}, json(({question})));" for k, question in enumerate(questions)
        ]
        done = self.run("--list", "-f", "-", text="\n".join(script) + "\n")
        found = dict(json.loads(line) for line in done.stdout.split("\n") if line)
        told = done.stderr.split("\n")
        return [
            found[k] if k in found else "no answer, of: " + "; ".join(told[:3])
            for k in range(len(questions))
        ]


def rows_of(columns, source):
    """An expression: the rows of a query as a JSON list of lists."""
    return f"SELECT json_group_array(json_array({columns})) FROM {source}"
