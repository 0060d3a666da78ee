#!/usr/bin/env python3
"""The blocks of README.md and of other pages, run as a reader would paste them.

    readme.py CKPTDB [PAGE]...    run all ```sh blocks of each page on a terminal, compare what they print with
                                  the ```text block that follows
    UPDATE=1 readme.py ...        write these blocks anew
    readme.py --demo PAGE         a script for bash that takes the tour of a page

A block that is marked (```sh make) is not run. Dates, folders and times are not compared.
"""
import os
import re
import select
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGES = ["README.md", "schema/rules/own-map.md", "catalog/python/README.md"]
MARK = "\x1e"  # between what two blocks print
SCREEN = (200, 112)  # lines, columns
FIRST = "## Your first hour"  # where the tour begins
BLOCK = re.compile(r"^```sh *(.*)\n((?:.*\n)*?)```\n(?:```text\n((?:.*\n)*?)```\n)?", re.M)


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as page:
        return page.read()


def blocks(text):
    """The blocks that are run: (match, commands, output or None)."""
    return [(m, m.group(2), m.group(3)) for m in BLOCK.finditer(text) if not m.group(1)]


def on_terminal(script, environment):
    """What a script prints on a terminal of its own, and its status."""
    import fcntl
    import pty
    import struct
    import termios
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(TOP)
        os.execve("/bin/bash", ["bash", "--norc", script], environment)
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", *SCREEN, 0, 0))
    output = b""
    while select.select([fd], [], [], 300)[0]:
        try:
            data = os.read(fd, 65536)
        except OSError:
            break
        if not data:
            break
        output += data
    os.close(fd)
    return output.decode(errors="replace"), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def shown(line):
    """A line as it is in the end, after progress that was overwritten."""
    line = line.rstrip("\r").rsplit("\r", 1)[-1]
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line).rstrip()


def run(page, binary):
    """What each block of a page prints."""
    parts = blocks(read(page))
    folder = os.path.dirname(os.path.abspath(binary))
    with tempfile.TemporaryDirectory(prefix="ckptdb-readme.") as home:
        script = os.path.join(home, "script")
        with open(script, "w", encoding="utf-8") as out:
            out.write("stty -onlcr 2>/dev/null\n")
            for _, commands, _ in parts:
                out.write(f"PATH={folder}:$PATH\n{commands}printf '{MARK}'\n")
        environment = {"HOME": home, "TMPDIR": home, "TERM": "dumb", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8",
                       "TZ": "UTC", "PATH": os.environ["PATH"]}
        output, _ = on_terminal(script, environment)
        printed = output.split(MARK)
        if len(printed) != len(parts) + 1:
            raise SystemExit(f"{page}: {len(printed) - 1} of {len(parts)} blocks were run:\n{output[-2000:]}")
        texts = []
        for text in printed[:-1]:
            lines = [shown(line) for line in text.split("\n")]
            text = "\n".join(lines).strip("\n")
            text = re.sub(re.escape(home) + r"/tmp\.\w+", "$tour", text.replace(TOP + "/", ""))
            texts.append(text + "\n" if text else "")
        return parts, texts


def masked(text):
    """Without the parts that differ between runs."""
    text = re.sub(r"20\d\d-\d\d-\d\d( \d\d:\d\d(:\d\d)?)?", "DATE", text)
    return re.sub(r"\d+\.\d+ s\b", "TIME", text)


def check(page, binary):
    parts, texts = run(page, binary)
    text, failed = read(page), 0
    if os.environ.get("UPDATE"):
        for (match, commands, _), printed in reversed(list(zip(parts, texts))):
            block = f"```sh\n{commands}```\n" + (f"```text\n{printed}```\n" if printed else "")
            text = text[:match.start()] + block + text[match.end():]
        with open(os.path.join(TOP, page), "w", encoding="utf-8") as out:
            out.write(text)
        return len(parts), 0
    for (_, commands, wanted), printed in zip(parts, texts):
        if masked(wanted or "") != masked(printed):
            failed += 1
            print(f"FAIL {page}: {commands.strip()}")
            print("  --- it says\n" + (wanted or "") + "  --- it prints\n" + printed)
    return len(parts) - failed, failed


def demo(page):
    """The tour as a script: headings, the text before each block, the block, and its effect."""
    text, at = read(page), 0
    print("plain= bold=; [ -t 1 ] && { bold=$'\\e[1m'; plain=$'\\e[0m'; }; failed=0")
    for match, commands, _ in blocks(text):
        before = re.sub(r"^```.*?^```$", "", text[at:match.start()], flags=re.M | re.S)
        at = match.end()
        before = before[max(before.find(FIRST), 0):]
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", before.strip()).replace("`", "")
        words = re.sub(r"\n{3,}", "\n\n", words)
        quote = words.replace("'", "'\\''")
        print(f"printf '\\n%s\\n\\n' '{quote}'")
        for line in commands.rstrip("\n").split("\n"):
            quoted = line.replace("'", "'\\''")
            print(f"printf '%s%s%s\\n' \"$bold\" '  {quoted}' \"$plain\"")
        print(f"{commands}[ $? -le 1 ] || failed=1")
    print("exit $failed")


def main():
    if sys.argv[1] == "--demo":
        demo(sys.argv[2])
        return 0
    try:
        import pty
        for fd in pty.openpty():
            os.close(fd)
    except (ImportError, OSError) as why:  # a container without /dev/pts
        print(f"SKIP: no pseudo-terminal here: {why}")
        print("0 passed, 0 failed, 1 skipped")
        return 0
    passed = failed = 0
    for page in sys.argv[2:] or PAGES:
        good, bad = check(page, sys.argv[1])
        passed, failed = passed + good, failed + bad
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
