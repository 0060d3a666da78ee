"""Random names, patterns and templates: few letters, so that much collides, and what is odd."""
import re

PLAIN = ["a", "b", "c", "ab", "w", "layers_0", "layers_10", "kernel", "x1"]
ODD = [
    "", "0", "1", "01", "a.b", "a b", "é", "ß", "Σ", "İ", "\u212a", "٣", "²", "a\u0301", "it's",
    '"', "\\", "$", "^", "(", "[a]", "a*", "n\n", "\n", "\t", "a-b", "\x1c", "\u2028", "漢", "🙂"
]


def component(rng, odd=0.08):
    return rng.choice(ODD if rng.random() < odd else PLAIN)


def name(rng, odd=0.08, depth=3):
    return "/".join(component(rng, odd) for _ in range(rng.randint(1, depth)))


HOLES = [
    r"(.*)", r"(.+)", r"(.*?)", r"([^/]*)", r"([^/]+)", r"(\w+)", r"(\w*)", r"(?P<n>.*)",
    r"(?P<n>\w+)", r"(\d+)", r"(a|b)", r"(a|ab)", r"(a)?.*", r".*", r".+", r"\w", r"[a-c]+",
    r"(?:a|b|)", r"((.)\2?)", r"(?:(a)|(b)|.)+", r"(\S+)", r"[^\d/]*", r"(?=.)(.*)", r"(?!a).*",
    r"(?i:A|B)", r"(.*)/(.*)", r"(?:.*/)?", r"(.)(.*)", r"\b\w+\b", r"(x(?P<m>y)?)?.*", r".{1,2}",
    r"a{,2}", r"(?s:.*)", r".*(?<=l)", r"(?>a*)", r".*+", r"(a)?(?(1).|b)", r"[\w.]*", r"(.)?",
    r"\D*"
]
TAILS = [r"$", r"\Z", r"(?<!b)", r"(?!\n)", r"\n?", r"|b", r"|.*", r"()", r".*", r"/.*", r"^"]
# (No \N{NAME}: the program has no table of names, and says so.)
BAD = [
    r"(", r")", r"[", r"*a", r"a**", r"(?P<n", r"(?P<1>a)", r"(?P=zz)", r"\3", r"a(?i)", r"\h",
    r"\p{L}", r"(?<n>a)", r"[b-a]", r"(?<=a*)b", r"\Q", "\\", r"\x4", r"\u12", r"(?z)",
    r"(?P<n>a)(?P<n>b)", r"a{2,1}", r"(?#", r"(a\1)", r"[\Z]", r"(?(2)a)", r"(?", r"(?P", r"(?P>",
    r"a{99999999999}", r"\400"
]
PIECES = [
    r"\1", r"\2", r"\g<1>", r"\g<2>", r"\g<0>", r"\g<n>", r"\g<1>0", r"\g<01>", "$1", "&", r"\\",
    r"\n", r"\/", r"\.", r"\é", r"\101", r"\_"
]
BAD_PIECES = [
    r"\9", r"\10", r"\d", r"\Z", r"\x41", r"\g", r"\g<", r"\g<>", r"\g<1", r"\g<zz>", r"\g<-1>",
    r"\g<1a>", r"\g<7>", "\\", r"\400", r"\8", r"\g<a b>", r"\q", r"\u0041", r"\g<é>", r"\099"
]


def pattern(rng, names, bad=0.03):
    """A pattern that is likely to hit one of some names."""
    if rng.random() < bad:
        return rng.choice(["", "a", "(.*)"]) + rng.choice(BAD)
    if rng.random() < 0.05:
        return rng.choice(HOLES) + rng.choice(["", rng.choice(TAILS), rng.choice(HOLES)])
    parts = rng.choice(names).split("/") if names else [component(rng)]
    parts = [
        part if part.isidentifier() or rng.random() < 0.2 else re.escape(part) for part in parts
    ]
    for _ in range(rng.choice([0, 0, 1, 1, 1, 2])):
        parts[rng.randrange(len(parts))] = rng.choice(HOLES)
    if rng.random() < 0.2 and len(parts) > 1:
        parts[:] = [rng.choice(HOLES[:8])] + parts[rng.randrange(1, len(parts)):]
    text = "/".join(parts)
    if rng.random() < 0.08:
        text += rng.choice(TAILS)
    if rng.random() < 0.03:
        text = rng.choice(["(?i)", "(?s)", "(?x)", "(?m)", "(?a)", "(?is)", "^", r"\A"]) + text
    return text


def relative(rng, text):
    """A pattern that matches much of what another one does."""
    at = rng.randint(0, len(text))
    return rng.choice([
        text.replace("/", ".", 1), text[:at] + ".*", text[:at] + "(.*)", "(.*)" + text[at:],
        text[:at] + ".?" + text[at:], f"({text})", text + "/?", text[:at] + "|" + text[at:]
    ])


def groups_of(text, name):
    """What the groups of a pattern hold for a name that it matches, by number."""
    try:
        match = re.fullmatch(text, name)
    except (re.error, OverflowError):
        match = None
    return list(match.groups()) if match else []


def template(rng, names, groups=(), bad=0.02):
    """A template that is likely to make one of some names, of groups that hold these texts."""
    if rng.random() < bad:
        return rng.choice(["", "a/", r"\1"]) + rng.choice(BAD_PIECES)
    if names and rng.random() < 0.75:
        parts = rng.choice(names).replace("\\", "\\\\").split("/")
        for k, held in enumerate(groups):
            for at, part in enumerate(parts):
                if held and part == held and rng.random() < 0.7:
                    parts[at] = rng.choice([f"\\{k + 1}", f"\\g<{k + 1}>"])
        text = "/".join(parts)
        for k, held in enumerate(groups):
            if held and "/" in held and rng.random() < 0.5:
                text = text.replace(held, f"\\{k + 1}", 1)
        return text
    mine = [
        piece for k in range(len(groups))
        for piece in (f"\\{k + 1}", f"\\g<{k + 1}>", f"\\g<0{k + 1}>")
    ]
    parts = [
        rng.choice((mine or PLAIN) + [r"\g<0>"]) if rng.random() < 0.6 else
        rng.choice(PIECES) if rng.random() < 0.1 else component(rng, 0.02)
        for _ in range(rng.randint(1, 3))
    ]
    return rng.choice(["/", "/", "/", ""]).join(parts)
