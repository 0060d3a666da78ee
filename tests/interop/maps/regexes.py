"""Python's re beside the functions regexp_*: what matches, what the groups hold, what templates
return; and the error for an invalid pattern."""
import re
import warnings

from maps import catalog, trees, words

warnings.simplefilter("ignore", FutureWarning) # about nested sets, which re does not have yet

LETTERS = list("aab/b1_ A") + ["é", "\n", "ß", "K", "."]
CLASSES = [
    r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", ".", "[ab]", "[^a]", "[a-c]", r"[\w/]", r"[^\d\n]",
    "[]a]", "[^]a]", "[a-]", r"[\x61-\x63]", "[^/]", r"[\n]", "[a\\]b]", "[[:alpha:]]", r"[\b]",
    "[é-ü]", "[^\\W_]"
]
EDGES = [r"\b", r"\B", "^", "$", r"\A", r"\Z"]
ESCAPES = [
    r"\n", r"\t", r"\x61", r"\u00e9", r"\101", r"\/", r"\.", r"\\", r"\-", r"\U00000061", r"\0",
    r"\ "
]
TIMES = [
    "*", "+", "?", "{2}", "{1,2}", "{,2}", "{1,}", "*?", "+?", "??", "{0}", "{0,1}?", "*+", "?+",
    "{1,2}+", "{,}", "{", "{a}"
]
# Python's own engine is irregular about groups in possessive repeats, and about repeats of what can
# be empty; pysyntax.h says so.
TIMES_OF_GROUPS = ["*", "+", "?", "*?", "+?", "??"]
DEPTH = 3


def never_empty(group):
    try:
        return not re.fullmatch(group, "")
    except (re.error, OverflowError): # of what it refers to
        return False


class Maker:
    def __init__(self, rng):
        self.rng, self.groups, self.closed = rng, 0, []

    def pattern(self, depth):
        return "|".join(self.sequence(depth) for _ in range(self.rng.choice([1, 1, 1, 2, 3])))

    def sequence(self, depth):
        return "".join(self.piece(depth) for _ in range(self.rng.randint(0 if depth else 1, 3)))

    def piece(self, depth):
        atom = self.atom(depth)
        if self.rng.random() > 0.35:
            return atom
        if atom[0] != "(":
            return atom + self.rng.choice(TIMES)
        return atom + self.rng.choice(TIMES_OF_GROUPS if never_empty(atom) else [""])

    def atom(self, depth):
        rng, kind = self.rng, self.rng.random()
        if depth == 0 or kind < 0.35:
            return rng.choice(LETTERS)
        if kind < 0.55:
            return rng.choice(CLASSES)
        if kind < 0.62:
            return rng.choice(EDGES)
        if kind < 0.66:
            return rng.choice(ESCAPES)
        if kind < 0.72 and self.groups:
            # A condition asks for a group that is closed, and not from within a repeat: pysyntax.h.
            if depth == DEPTH and self.closed and rng.random() < 0.3:
                return f"(?({rng.choice(self.closed)})a|b)"
            return rng.choice(["\\{}", "(?P=g{})"]).format(rng.randint(1, self.groups))
        if kind < 0.86:
            self.groups += 1
            group, name = self.groups, rng.choice(["", "", f"?P<g{self.groups}>"])
            inside = self.pattern(depth - 1)
            self.closed.append(group)
            return f"({name}{inside})"
        head = rng.choice([
            "?:", "?:", "?=", "?!", "?<=", "?<!", "?>", "?i:", "?s:", "?m:", "?-i:", "?x:", "?a:",
            "?#"
        ])
        # What PCRE2 can look behind for is refused where it is more than letters and classes.
        return f"({head}{self.pattern(0 if '<' in head else depth - 1)})"


def subjects(rng, pattern):
    for _ in range(3):
        yield "".join(rng.choice(LETTERS) for _ in range(rng.randint(0, 6)))
    yield "".join(c for c in pattern if c.isalnum() or c in "/_ ")[:8]


class Case:
    def __init__(self, rng, home):
        while True:
            self.make(rng)
            try:
                self.answer = self.original()
                break
            except SystemError: # CPython 3.11 loses its way in some groups, and says so
                pass
        self.ruleset = home.ruleset("t5x-assignment", {}, [(self.pattern, "x")])

    def make(self, rng):
        maker = Maker(rng)
        self.pattern = rng.choice(
            [""] * 12 + ["(?i)", "(?s)", "(?m)", "(?x)", "(?a)", "(?u)"]) + maker.pattern(DEPTH)
        if rng.random() < 0.05: # a fault
            at = rng.randrange(len(self.pattern) + 1)
            self.pattern = self.pattern[:at] + rng.choice(
                ["(", ")", "[", "*", "\\", "(?", "{", "|", "?"]) + self.pattern[at:]
        self.how = rng.choice(["search", "match", "fullmatch"])
        self.subjects = list(dict.fromkeys(subjects(rng, self.pattern)))
        try:
            groups = re.compile(self.pattern).groups
        except (re.error, OverflowError):
            groups = 0
        self.template = "".join(
            rng.choice(["x", r"\g<0>", "-", r"\n"] + [f"\\{k + 1}" for k in range(groups)] * 2)
            for _ in range(rng.randint(0, 3)))

    def question(self, _home):
        quoted = [catalog.quote(text) for text in (self.pattern, self.template)]
        pattern, template = quoted
        if isinstance(self.answer, str):
            return f"SELECT json_quote(rule_error('{self.ruleset}', 'a'))"
        parts = []
        for subject in map(catalog.quote, self.subjects):
            parts.append(f"json_array(json(regexp_groups({pattern}, {subject}, '{self.how}')), "
                         f"regexp_capture({pattern}, {subject}, 0, '{self.how}'), "
                         f"regexp_expand({pattern}, {subject}, {template}, '{self.how}'), "
                         f"regexp_replace({pattern}, {subject}, {template}))")
        return f"SELECT json_array({', '.join(parts)})"

    def wanted(self):
        return self.answer

    def original(self):
        try:
            compiled = re.compile(self.pattern)
        except (re.error, OverflowError) as error:
            # Errors of ours hold no control characters.
            return re.sub(r"[\0-\x1f]", lambda match: f"\\x{ord(match[0]):02x}", trees.said(error))
        answer = []
        for subject in self.subjects:
            match = getattr(compiled, self.how)(subject)
            answer.append([list(match.groups(
            )), match.group(), match.expand(self.template)] if match else [None, None, None])
            answer[-1].append(compiled.sub(self.template, subject))
        return answer

    def found(self, answer, _wanted):
        return answer
