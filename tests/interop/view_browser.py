#!/usr/bin/env python3
"""Open the pages of `ckptdb view` in Chromium, which Debian packages, and use them as people do.

    view_browser.py CKPTDB

$CHROMIUM is the browser. The last line is "N passed, N failed".
"""
import base64
import fcntl
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "fixtures"))
from make_safetensors import save  # noqa: E402

CKPTDB = os.path.abspath(sys.argv[1])
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")
passed = failed = 0


def check(what, good, found=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print("FAIL", what, found)


class Browser:
    """Chromium by its DevTools protocol, through a pipe: messages that end in a zero byte."""

    def __init__(self, profile):
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for pair in (os.pipe(), os.pipe()) for end in pair]
        self.process = subprocess.Popen(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank"],
            preexec_fn=lambda: (os.dup2(ends[0], 3), os.dup2(ends[3], 4)), pass_fds=(3, 4),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(ends[0])
        os.close(ends[3])
        self.to, self.of, self.number, self.heard, self.rest = ends[1], ends[2], 0, [], b""

    def message(self):
        while b"\0" not in self.rest:
            more = os.read(self.of, 1 << 20)
            if not more:
                raise EOFError("the browser is gone")
            self.rest += more
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, session=None, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params, **({"sessionId": session} if session else {})}
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.heard.append(answer)

    def close(self):
        try:
            self.call("Browser.close")
        except (EOFError, OSError):
            pass
        self.process.wait(30)


class Page:
    def __init__(self, browser, path, width=1440, dark=False):
        self.browser, self.path = browser, os.path.abspath(path)
        self.target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Performance.enable", timeDomain="threadTicks")
        browser.heard.clear()
        began = time.monotonic()
        self.call("Page.navigate", url="file://" + self.path)
        self.wait("document.documentElement?.dataset.ready === 'true'")
        self.seconds = time.monotonic() - began
        self.busy = {m["name"]: m["value"] for m in self.call("Performance.getMetrics")["metrics"]}["TaskDuration"]
        self.wait("document.documentElement.dataset.complete === 'true'")
        self.wait("document.querySelectorAll('tbody tr').length > 0")

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def run(self, script):
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, condition, seconds=120):
        end = time.monotonic() + seconds
        while not self.run(condition):
            if time.monotonic() > end:
                raise RuntimeError(f"{self.path}: never: {condition}")
            time.sleep(0.02)

    def keys(self, *names):
        for name in names:
            text = {"Enter": "\r", " ": " "}.get(name)
            for kind in ("keyDown", "keyUp"):
                self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name,
                          windowsVirtualKeyCode={"Enter": 13, "Tab": 9, "Escape": 27, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38,
                                                 "ArrowRight": 39, "ArrowDown": 40, "PageUp": 33, "PageDown": 34}.get(name, 0),
                          **({"text": text} if text and kind == "keyDown" else {}))

    def grid(self, label):
        return f"document.querySelector('table[aria-label=\"{label}\"]')"

    def cells(self, label, column=1):
        return self.run(f"[...{self.grid(label)}.querySelectorAll('tbody tr[aria-rowindex] td:nth-child({column})')].map(c => c.textContent)")

    def search(self, text, found):
        self.run("{const i = document.querySelector('input[aria-label^=\"Search names\"]'); i.value = ''; i.dispatchEvent(new Event('input')); i.focus()}")
        self.call("Input.insertText", text=text)
        self.wait(f"document.querySelector('main output').textContent.startsWith({json.dumps(found)})", 30)

    def close(self, what):
        """The console is empty, and no network was used."""
        self.run("0")
        said = [m for m in self.browser.heard if m["method"] in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")]
        asked = [m["params"]["request"]["url"] for m in self.browser.heard if m["method"] == "Network.requestWillBeSent"]
        check(f"{what}: no word on the console", not said, said)
        check(f"{what}: no request", [u for u in asked if u != "file://" + self.path and not u.startswith("data:")] == [], asked)
        self.browser.call("Target.closeTarget", targetId=self.target)


def view(out, *args):
    subprocess.run([CKPTDB, "view", *args, "-o", out], check=True, timeout=900)


def sql(text):
    return json.loads(subprocess.run([CKPTDB, "--json", text], check=True, capture_output=True, text=True).stdout)


HOSTILE = ["</script><script>document.title='owned'</script>", "<img src=x onerror=\"document.title='owned'\">", "<svg onload=alert(1)>", "--><!--",
           "a\"b'c`${d}", "\u202egnp.exe", "é.日本.🦙", "new\nline\ttab", "__proto__", "constructor", "{0..3}", "x" * 3000, "&lt;b&gt;", "[[]]", "%s%n"]


def visible(text):
    return re.sub("[\u0000-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]", lambda m: f"\\u{{{ord(m[0]):x}}}", text)


def make():
    def model(step):
        yield "embed.weight", "F32", [8, 4], struct.pack("<32f", *range(32))
        for i in range(12):
            for k in ("q", "k", "v"):
                yield f"layers.{i}.attn.{k}.weight", "F32", [4, 4], struct.pack("<16f", *[j + (step if i > 8 else 0) for j in range(16)])
            yield f"layers.{i}.norm", "BF16", [4], bytes(8)
        if step == 1:
            yield "head.weight", "F32", [8, 4], bytes(128)
    for step in (1, 2, 3):
        os.makedirs(f"run/checkpoint-{step}")
        save(f"run/checkpoint-{step}/model.safetensors", list(model(step)))
    save("hostile.safetensors", [(name, "F32", [1], bytes(4)) for name in HOSTILE])
    with open("million.json", "w", encoding="utf-8") as f:
        json.dump({"ckptdb": "names", "tensors": {
            f"model.layers.{l}.mlp.experts.{e}.{k}.weight": {"dtype": "bfloat16", "shape": [64, 128] if k != "w2" else [128, 64]}
            for l in range(100) for e in range(2500) for k in ("w1", "w2", "w3", "w4")}}, f)
    rng = random.Random(1) # names that do not fold
    save("wild.safetensors", [(f"{''.join(rng.choices('abcdefghij', k=6))}.{i:07}.{rng.getrandbits(24):x}", "F32", [1 + i % 5], rng.randbytes(4 * (1 + i % 5)))
                              for i in range(1000000)])
    subprocess.run([CKPTDB, "import", "."], check=True, stderr=subprocess.DEVNULL)
    for name in ("run@3", "wild.safetensors"):
        subprocess.run([CKPTDB, "stats", name], check=True, capture_output=True)


def contrast(page, element):
    return page.run("""(() => {
      const of = (c) => c.match(/[\\d.]+/g).slice(0, 3).map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
      const e = document.querySelector(%s); let b = e;
      while (getComputedStyle(b).backgroundColor === 'rgba(0, 0, 0, 0)') b = b.parentElement;
      const [x, y] = [of(getComputedStyle(e).color), of(getComputedStyle(b).backgroundColor)].sort((p, q) => q - p);
      return (x + 0.05) / (y + 0.05)})()""" % json.dumps(element))


def catalog_page(browser):
    view("catalog.html")
    page = Page(browser, "catalog.html")
    rows = sql("SELECT name, nbytes FROM checkpoint ORDER BY id")
    check("all checkpoints", page.cells("Checkpoints") == [r["name"] for r in rows], page.cells("Checkpoints"))
    header = f"{page.grid('Checkpoints')}.querySelector('th:nth-child(6)')"
    for state, order in (("descending", True), ("ascending", False)):
        page.run(f"{header}.querySelector('button').click()")
        by = [r["name"] for r in sorted(rows, key=lambda r: r["nbytes"], reverse=order)]
        check(f"sorted by bytes, {state}", page.run(f"{header}.getAttribute('aria-sort')") == state and page.cells("Checkpoints")[0] == by[0], page.cells("Checkpoints"))
    page.run(f"{header}.querySelector('button').click()")
    check("as they were", page.run(f"{header}.getAttribute('aria-sort')") == "none" and page.cells("Checkpoints")[0] == rows[0]["name"])
    check("steps", page.run("document.querySelectorAll('.steps circle').length") == 3)
    page.close("catalog")


def one_page(browser):
    view("one.html", "run@3")
    page = Page(browser, "one.html")
    tensors = [r["name"] for r in sql("SELECT name FROM tensor WHERE checkpoint_id = checkpoint_id('run@3')")]
    for pattern in (r"^layers\.1\d?\..*q", "NORM$", "no such"):
        wanted = [n for n in tensors if re.search(pattern, n, re.I)]
        page.search(pattern, f"{len(wanted)} tensor")
        check(f"search for {pattern}", page.cells("Tensors") == (wanted[:len(page.cells('Tensors'))]) and (wanted or not page.cells("Tensors")), page.cells("Tensors"))
    page.search("(", "not a regular expression")
    page.search("", f"{len(tensors)} tensors")
    # By keyboard alone.
    page.run(f"{page.grid('Modules')}.focus()")
    before = page.cells("Modules")
    page.keys("Home", "ArrowDown")
    row = f"document.getElementById({page.grid('Modules')}.getAttribute('aria-activedescendant'))"
    check("a module is active", page.run(f"{row}.textContent").startswith("▾layers"), page.run(f"{row}.textContent"))
    page.keys("ArrowLeft")
    check("folded", page.run(f"{row}.getAttribute('aria-expanded')") == "false" and len(page.cells("Modules")) < len(before))
    page.keys("ArrowRight")
    check("unfolded", page.run(f"{row}.getAttribute('aria-expanded')") == "true" and page.cells("Modules") == before)
    page.keys("Enter")
    inside = [n for n in tensors if n.startswith("layers.")]
    check("narrowed to a module", page.run("document.querySelector('main output').textContent").startswith(f"{len(inside)} tensors"))
    page.run("document.querySelector('.scope').focus()")
    page.keys("Enter")
    check("all again", page.run("document.querySelector('main output').textContent").startswith(f"{len(tensors)} tensors"))
    page.run(f"{page.grid('Tensors')}.focus()")
    page.keys("End", "Enter")
    check("details of the last", page.run("document.querySelector('.details h3').textContent") == tensors[-1])
    check("statistics", "not known" not in page.run("document.querySelector('.details').textContent"))
    page.keys("Home", "Enter")
    bars = page.run("[...document.querySelectorAll('.details .histogram title')].map(t => t.textContent)")
    check("histogram", sum(int(b.rsplit(" ", 1)[1]) for b in bars) == 32, bars)
    page.run(f"{page.grid('Tensors')}.scrollIntoView()")
    at = page.run(f"(({{x, y}}) => ({{x: x + 20, y: y + 9}}))({page.grid('Tensors')}.querySelector('tbody tr:nth-child(3)').getBoundingClientRect())")
    page.run("document.activeElement.blur()")
    for kind in ("mousePressed", "mouseReleased"):
        page.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at)
    check("details by the mouse", page.run("document.querySelector('.details h3').textContent") == tensors[2], at)
    page.run("document.querySelector('.treemap button[tabindex=\"0\"]').focus()")
    page.keys("Enter")
    check("into a box", page.run("!document.querySelector('.crumbs').hidden"))
    page.keys("Escape")
    check("out of it", page.run("document.querySelector('.crumbs').hidden"))
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    said = lambda n: n.get("name", {}).get("value", "")
    roles = {n["role"]["value"] for n in nodes if not n.get("ignored")}
    check("roles", {"treegrid", "grid", "columnheader", "heading", "main"} <= roles, roles)
    nameless = [n["role"]["value"] for n in nodes if not n.get("ignored") and n["role"]["value"] in ("button", "grid", "treegrid", "searchbox", "img", "checkbox") and not said(n)]
    check("all that is used has a name", not nameless, nameless)
    pdf = base64.b64decode(page.call("Page.printToPDF", printBackground=True)["data"])
    check("printed", pdf.startswith(b"%PDF") and len(pdf) > 20000, len(pdf))
    page.close("one checkpoint")


def two_page(browser):
    view("two.html", "run@1", "run@2", "--values")
    page = Page(browser, "two.html")
    differ = sql("SELECT name_a FROM diff('run@1', 'run@2') WHERE status IN ('only_a', 'only_b')")
    changed = [f"layers.{i}.attn.{k}.weight" for i in range(9, 12) for k in "qkv"]
    check("what differs", page.cells("Differences") == changed + [r["name_a"] for r in differ], page.cells("Differences"))
    check("how far", all(float(x) > 0 for x in page.cells("Differences", 6)[:9]), page.cells("Differences", 6))
    page.run("document.getElementById('all').click()")
    check("also the same", len(page.cells("Differences")) > 10)
    page.close("two")


def hostile_page(browser):
    view("hostile.html", "hostile.safetensors")
    page = Page(browser, "hostile.html")
    check("names as they are", page.cells("Tensors") == [visible(n) for n in HOSTILE], page.cells("Tensors"))
    check("none is markup", page.run("document.title").startswith("hostile") and page.run("document.querySelectorAll('main img, main script').length") == 0)
    page.search("onerror|</script>", "2 tensors")
    page.search("\\n", "1 tensor")
    page.close("hostile names")


def looks(browser):
    grounds = {}
    for path in ("catalog.html", "one.html", "two.html", "hostile.html"):
        for width in (390, 1440):
            for dark in (False, True):
                page = Page(browser, path, width, dark)
                check(f"{path} at {width}: as wide as the screen", page.run("document.documentElement.scrollWidth") <= width, page.run("document.documentElement.scrollWidth"))
                grounds[dark] = page.run("getComputedStyle(document.body).backgroundColor")
                for element in ("h1", ".made", "th", ".tiles dt", "tbody td", ".treemap .leaf, .treemap .group"):
                    seen = contrast(page, element) if page.run(f"!!document.querySelector({json.dumps(element)})") else 9
                    check(f"{path}, dark {dark}: {element} can be read", seen >= 4.5, seen)
                page.close(f"{path} at {width}")
    check("dark is another colour", grounds[True] != grounds[False])


def in_time(path, page):
    print(f"{path}: {os.path.getsize(path)} bytes, open in {page.seconds:.2f} s, of which {page.busy:.2f} s of the page's own work")
    check(f"{path} in three seconds", page.seconds < 3 or (page.busy < 3 and os.getloadavg()[0] > 2 * os.cpu_count()), page.seconds)


def wild_page(browser):
    view("wild.html", "wild.safetensors")
    page = Page(browser, "wild.html")
    in_time("wild.html", page)
    first = sql("SELECT min, max FROM stats JOIN tensor t ON t.id = tensor_id JOIN checkpoint c ON c.id = t.checkpoint_id WHERE c.name = 'wild.safetensors' ORDER BY t.id LIMIT 1")[0]
    shown = [float(page.cells("Tensors", column)[0]) for column in (6, 7)]
    check("statistics come later", all(abs(a - b) <= 0.01 * abs(b) for a, b in zip(shown, first.values())), (shown, first))
    page.close("a million other names")


def million_page(browser):
    view("million.html", "million.json")
    page = Page(browser, "million.html")
    in_time("million.html", page)
    check("counted", page.run("document.querySelector('main output').textContent").startswith("1,000,000 tensors"))
    page.run(f"{page.grid('Tensors')}.focus()")
    page.keys("End")
    check("to the last", page.cells("Tensors")[-1] == "model.layers.99.mlp.experts.2499.w4.weight", page.cells("Tensors")[-1:])
    page.keys("ArrowUp", "PageUp", "Home")
    check("and back", page.cells("Tensors")[0] == "model.layers.0.mlp.experts.0.w1.weight", page.cells("Tensors")[:1])
    began = time.monotonic()
    page.search(r"layers\.7\..*experts\.12\.", "4 tensors")
    print(f"search: {time.monotonic() - began:.2f} s")
    check("few elements", page.run("document.querySelectorAll('*').length") < 3000)
    page.close("a million")


def main():
    if not CHROMIUM:
        print("SKIP: no chromium (apt-get install chromium)\n0 passed, 0 failed")
        return
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["CKPTDB"] = os.path.join(folder, "catalog.db")
        make()
        browser = Browser(os.path.join(folder, "profile"))
        try:
            for part in (catalog_page, one_page, two_page, hostile_page, looks, million_page, wild_page):
                try:
                    part(browser)
                except (RuntimeError, IndexError, ValueError) as error:
                    check(part.__name__, False, error)
        finally:
            browser.close()
            os.chdir("/")
    print(f"{passed} passed, {failed} failed")


main()
sys.exit(failed > 0)
