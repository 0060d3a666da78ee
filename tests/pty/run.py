#!/usr/bin/env python3
"""Drive the shell on a pseudo-terminal, as a person would.

    run.py CKPTDB [CASE]...

Prints each case that fails with what was on the screen and, last, "N passed, N failed".
"""
import codecs
import json
import os
import re
import select
import signal
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
import time
import zipfile

try:
    import fcntl
    import pty
    import termios
except ImportError as missing:
    print(f"SKIP: this Python has no {missing.name}")
    print("0 passed, 0 failed, 1 skipped")
    sys.exit(0)

UP, TAB, CTRL_C, CTRL_D, CTRL_R = "\x1b[A", "\t", "\x03", "\x04", "\x12"
PROMPT, MORE = "ckptdb> ", r"   \.\.\.> "
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>()][0-9A-B]?|\r")
BEGUN = re.compile(r"\x1b(\[[0-9;?]*|[()])?\Z")


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


class Shell:
    """The program on a terminal of its own."""

    def __init__(self, binary, folder, *args, columns=100, env=None):
        self.output = ""
        self.raw = b""
        self.rest = ""
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.at = 0
        environment = {"HOME": folder, "TERM": "xterm", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8",
                       "PATH": os.environ["PATH"], "CKPTDB": os.path.join(folder, "c.db"),
                       "NO_COLOR": "1", "PAGER": "",
                       "ASAN_OPTIONS": "detect_leaks=0",  # libedit keeps what it is told
                       **(env or {})}
        environment = {name: value for name, value in environment.items() if value is not None}
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execve(binary, [binary, *args], environment)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))

    def send(self, text):
        os.write(self.fd, text.encode())

    def line(self, text):
        self.send(text + "\r")

    def read(self, seconds):
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return False
        self.raw += data
        # A read may end within a character, or within a sequence that a terminal does not show.
        text = self.rest + self.decoder.decode(data)
        cut = BEGUN.search(text)
        self.rest = text[cut.start():] if cut else ""
        self.output += ESCAPES.sub("", text[:cut.start()] if cut else text)
        return bool(data)

    def expect(self, pattern, seconds=10):
        """Wait until the pattern appears after the previous match."""
        end = time.monotonic() + seconds
        while True:
            found = re.compile(pattern).search(self.output, self.at)
            if found:
                self.at = found.end()
                if pattern.endswith(PROMPT) or pattern == MORE:
                    self.settle()
                return found
            if time.monotonic() > end or not self.read(0.5) and self.ended():
                raise Failed(f"did not see {pattern!r}")

    def settle(self):
        """After a prompt, wait until keys go to the editor and not to the terminal's own."""
        for _ in range(50):
            if not termios.tcgetattr(self.fd)[3] & termios.ICANON:
                return
            time.sleep(0.01)

    def ended(self):
        done, self.status = os.waitpid(self.pid, os.WNOHANG)
        if done:
            self.pid = 0
        return done != 0

    def wait(self, seconds=10):
        end = time.monotonic() + seconds
        while self.pid and not self.ended():
            self.read(0.1)
            if time.monotonic() > end:
                raise Failed("did not leave")
        return os.waitstatus_to_exitcode(self.status)

    def close(self):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)


class Case:
    """What a case has: a fresh folder, and shells in it."""

    def __init__(self, binary, folder):
        self.binary, self.folder, self.shells = binary, folder, []

    def shell(self, *args, binary=None, **options):
        shell = Shell(binary or self.binary, self.folder, *args, **options)
        self.shells.append(shell)
        return shell

    def ready(self, *args, **options):
        shell = self.shell(*args, **options)
        shell.expect(PROMPT)
        return shell

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as out:
            out.write(text)

    def names(self, name, tensors):
        self.write(name, json.dumps({"ckptdb": "names", "tensors": {
            key: {"dtype": "float32", "shape": shape} for key, shape in tensors.items()}}))


def equal(left, right):
    if left != right:
        raise Failed(f"{left!r} is not {right!r}")


# --- cases ------------------------------------------------------------------------------------

def case_greeting_query_and_leaving(t):
    s = t.shell()
    s.expect(r"c\.db: 0 checkpoints; \.help lists the commands")
    s.expect(PROMPT)
    s.line("SELECT 1 AS one, 'two' AS two;")
    s.expect(r"│ one │ two │")
    s.expect(r"│   1 │ two │")
    s.expect(PROMPT)
    s.send(CTRL_D)
    equal(s.wait(), 0)


def case_statement_over_lines(t):
    s = t.ready()
    s.line("SELECT 'a")
    s.expect(MORE)
    s.line("b' AS x")
    s.expect(MORE)
    s.line(";")
    s.expect(r"│ a\\nb │")


def case_errors_do_not_end_it(t):
    s = t.ready()
    s.line("SELECT nosuch;")
    s.expect("no such column: nosuch")
    s.expect(PROMPT)
    s.line(".nosuch")
    s.expect("there is no command .nosuch")
    s.expect(PROMPT)
    s.line(".tab")
    s.expect("checkpoint +│ view")
    s.line(".quit 3")
    equal(s.wait(), 3)


def case_words_without_a_dot(t):
    s = t.ready()
    s.line("help")
    s.expect("Commands, also as .COMMAND in the shell")
    s.expect(PROMPT)
    s.line(".mode json;")
    s.expect(PROMPT)
    s.line("SELECT 1 AS one;")
    s.expect(r'\[\{"one":1\}\]')
    s.expect(PROMPT)
    t.names("model.json", {"enc/kernel": [2, 3]})
    s.send("import mod" + TAB + "\r")
    s.expect("1 new")
    s.expect(PROMPT)
    s.send("relo" + TAB)
    s.expect("relocate ")
    s.send("\x15ls --columns name;\r")
    s.expect(r'\[\{"name":"model\.json"\}\]')
    s.expect(PROMPT)
    s.line("SELECT 'a")  # nor where a statement goes on
    s.line("ls")
    s.line("';")
    s.expect(r'a\\nls\\n')
    s.expect(PROMPT)
    s.line("exit")
    equal(s.wait(), 0)


def case_control_c_drops_the_line(t):
    s = t.ready()
    s.line("SELECT (")
    s.expect(MORE)
    s.send("1 +")
    s.expect(r"1 \+")
    s.send(CTRL_C)
    s.expect(r"\^C\s+" + PROMPT)
    s.line("SELECT 42 AS answer;")
    s.expect(r"│     42 │")


def case_control_c_interrupts_a_statement(t):
    s = t.ready()
    s.line("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n;")
    time.sleep(0.5)
    s.send(CTRL_C)
    s.expect("interrupted")
    s.expect(PROMPT)
    s.line("SELECT 42 AS answer;")
    s.expect(r"│     42 │")


def case_control_c_ends_a_command(t):
    s = t.shell("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n")
    time.sleep(0.5)
    s.send(CTRL_C)
    equal(s.wait(), 130)


def case_completion_of_sql(t):
    s = t.ready()
    s.send("sel" + TAB)
    s.expect("select ")
    s.send("count(*) from ten" + TAB)
    s.expect("from tensor")
    s.send(CTRL_C)
    s.expect(PROMPT)
    s.send("SEL" + TAB + "impor" + TAB)
    s.expect("SELECT imported ")
    s.send(CTRL_C)
    s.expect(PROMPT)
    s.send("SELECT checkpoint_i" + TAB)  # the column, and the function
    s.send("(1);\r")
    s.expect("no checkpoint with the id 1")
    s.expect(PROMPT)
    s.send(CTRL_C)
    s.expect(PROMPT)
    s.send("select * from check" + TAB)
    s.expect("select \\* from checkpoint")
    s.send(CTRL_C)
    s.expect(PROMPT)
    s.send("select * from _check" + TAB)
    s.expect(r"_checkpoint_hashes +_checkpoints\s+_checkpoint_tensors +_checksums")
    s.expect(r"select \* from _check")


def case_completion_of_commands(t):
    t.names("a_model.json", {f"enc/layers_{i}/kernel": [2, 3] for i in range(4)})
    s = t.ready()
    s.send(".impo" + TAB + "a_m" + TAB + "\r")
    s.expect(r"\.import a_model\.json")
    s.expect("1 new")
    s.expect(PROMPT)
    s.send(".tens" + TAB + "a_mo" + TAB + "\r")
    s.expect(r"\.tensors a_model\.json")
    s.expect("enc/layers_3/kernel")
    s.expect(PROMPT)
    s.send(".show a_model.json enc/l" + TAB + "2" + TAB + "\r")
    s.expect(r"\.show a_model\.json enc/layers_2/kernel")
    s.expect(r"shape = \[2,3\]")
    s.expect(PROMPT)
    s.send("select id from tensor where name = 'enc/l" + TAB + "1" + TAB)
    s.expect(r"'enc/layers_1/kernel'")
    s.send(CTRL_C)
    s.expect(PROMPT)
    s.send("select 'a'" + TAB + " x from ten" + TAB)  # the string has ended
    s.expect(r"'a'\x07 x from tensor")
    s.send(CTRL_C)
    s.expect(PROMPT)
    s.send(".mode js" + TAB)
    s.expect("json")
    s.send(CTRL_C)
    s.expect(PROMPT)
    s.send(".forget --d" + TAB)
    s.expect("--dry-run")


def case_completion_quotes_and_goes_by_levels(t):
    os.mkdir(t.path("My Models"))
    t.names("My Models/a b.json", {"w w": [2]})
    t.names("large.json", {**{f"model.layers.{i}.{part}.w": [2] for i in range(200) for part in ("mlp", "attn")},
                           "model.norm": [2]})
    s = t.ready()
    s.line(".import .")
    s.expect("2 new")
    s.expect(PROMPT)
    s.send(".show My" + TAB + " w" + TAB + "\r")
    s.expect(r"'My Models/a b\.json' .*'w w'")
    s.expect(r"shape = \[2\]")
    s.expect(PROMPT)
    s.send(".show 'My M" + TAB + " \"w" + TAB + "\r")
    s.expect(r"My Models/a b\.json' \"w")
    s.expect(r"name = w w")
    s.expect(r"shape = \[2\]")
    s.expect(PROMPT)
    s.send(".show large.json m" + TAB)
    s.expect(r"\.show large\.json model\.")
    s.send(TAB)
    s.expect(r"model\.layers\. +model\.norm")
    s.send("l" + TAB)
    s.expect(r"model\.layers\.")
    s.send("77." + TAB + "m" + TAB + "\r")
    s.expect(r"shape = \[2\]")
    s.expect(PROMPT)
    s.send(".map run t5_to" + TAB + "lar" + TAB)
    s.expect(r"\.map run t5_to_t5x large\.json ")
    s.send(CTRL_C)
    s.expect(PROMPT)
    s.send("select * from translation where ruleset = 't5_t" + TAB)
    s.expect("ruleset = 't5_to_t5x'")
    s.send(CTRL_C)
    s.expect(PROMPT)
    s.send("select * from tensor_v" + TAB)
    s.expect(r"from tensor_values\(")


def case_statements_are_recalled_whole(t):
    s = t.ready()
    s.line("SELECT 'first',")
    s.expect(MORE)
    s.line("       'line' AS x;")
    s.expect("│ line │")
    s.expect(PROMPT)
    s.line(".mode box")
    s.expect(PROMPT)
    s.send(UP + UP + "\r")
    s.expect("│ first +│ line │")
    s.expect(PROMPT)
    s.line(".quit")
    s.wait()
    s = t.ready()
    s.send(UP + UP + "\r")
    s.expect("│ first +│ line │")
    with open(t.path(".local/state/ckptdb/history"), encoding="utf-8") as lines:
        equal(len(lines.readlines()), 5)


def case_long_results_are_paged(t):
    s = t.ready(env={"PAGER": "sed s/^/paged:/"})
    many = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < {}) SELECT x FROM n;"
    s.line(many.format(60))
    s.expect(r"paged:│  1 │")
    s.expect(r"paged:│ 60 │")
    s.expect(r"paged:└────┘")
    s.expect(PROMPT)
    s.line(many.format(6))
    s.expect(r"\n│ 6 │")
    s.expect(PROMPT)
    s.line(".schema")
    s.expect(r"paged:CREATE TABLE")
    s.expect(PROMPT)
    begun = len(s.output)
    s.line(".pager head -n 3")
    s.line(".pager")
    s.expect(r"\nhead -n 3\s")
    s.line(many.format(100000))  # a reader that leaves is not an error
    s.expect(r"├─+┤\s+" + PROMPT)
    s.line(".pager off")
    s.line(many.format(60))
    s.expect(r"\n│ 60 │")
    # What the schema says of interruptions may still be on its way: a complaint is a line of ours.
    if re.search(r"ckptdb: .*(cannot write|interrupted)", s.output[begun:]):
        raise Failed("complains of the reader")
    s.expect(PROMPT)
    s.send(CTRL_D)
    equal(s.wait(), 0)
    s = t.shell(many.format(60), env={"PAGER": "sed s/^/paged:/"})  # a single statement, too
    s.expect(r"paged:│ 60 │")
    equal(s.wait(), 0)
    s = t.shell(many.format(60), env={"PAGER": "sed s/^/paged:/", "TERM": "dumb"})
    s.expect(r"\n│ 60 │")
    equal(s.wait(), 0)


def case_less_is_the_pager_where_none_is_named(t):
    many = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < {}) SELECT x FROM n"
    os.mkdir(t.path("bin"))
    t.write("bin/less", "#!/bin/sh\nsed s/^/less:/\n")
    os.chmod(t.path("bin/less"), 0o755)
    path = {"PATH": t.path("bin") + ":" + os.environ["PATH"], "PAGER": None}
    s = t.ready(env=path)
    s.line(".pager")
    s.expect(r"\nless\s")
    s.line(many.format(60) + ";")
    s.expect("less:│ 60 │")
    s.expect(PROMPT)
    s.line(".help import")  # fits
    s.expect("\nckptdb import")
    s = t.shell(many.format(60), env={**path, "PAGER": ""})  # none is wanted
    s.expect(r"\n│ 60 │")
    s = t.shell(many.format(60), env={"PAGER": "no-such-pager"})  # which is no reason to lose the rows
    s.expect(r"\n│ 60 │")
    for i in range(60):
        t.names(f"m{i}.json", {"w": [2]})
    s = t.shell("import", ".", env=path)
    equal(s.wait(), 0)
    for command in ("ls",), ("tensors", "m7.json"), ("hash",), ("verify", "--quick"):
        s = t.shell(*command, env=path)
        s.expect("less:│" if command[0] in ("ls", "hash") else "float32|60 checkpoints verified")
        s.wait()


def case_messages_stay_behind_what_they_are_about(t):
    s = t.ready(columns=40, env={"PAGER": "sed s/^/paged:/"})
    s.line("SELECT 1 AS a, 12345678901234567 AS b, 12345678901234567 AS c;")
    s.expect("┘")
    s.expect("c is left out")
    s.expect(PROMPT)
    s.line("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 60)"
           " SELECT x AS a, 12345678901234567 AS b, 12345678901234567 AS c FROM n;")
    s.expect("paged:└")
    s.expect("paged:ckptdb: c is left out")


def case_settings_of_the_shell(t):
    t.names("m.json", {"w": [2]})
    s = t.ready()
    s.line(".nullvalue -")
    s.line("SELECT NULL AS x;")
    s.expect("│ - +│")
    s.expect(PROMPT)
    s.line(".nullvalue auto")
    s.line("SELECT NULL AS x;")
    s.expect("│ NULL +│")
    s.expect(PROMPT)
    s.line(".width 6 0")
    s.line("SELECT 'abcdefghijk' AS a, 'lm' AS b;")
    s.expect("│ …ghijk │ lm │")
    s.expect(PROMPT)
    s.line(".width")
    s.line("SELECT 'abcdefghijk' AS a;")
    s.expect("│ abcdefghijk │")
    s.expect(PROMPT)
    s.line(".shell echo 'a  b' | tr a x; exit 3")
    s.expect(r"\nx  b\s+ckptdb: the command ended with status 3")
    s.expect(PROMPT)
    s.line(".open nosuch.db")
    s.expect("there is no catalog at nosuch.db; --new makes one")
    s.expect(PROMPT)
    s.line(".open m.json")
    s.expect("m.json")
    s.expect(PROMPT)
    s.line("SELECT count(*) AS still FROM checkpoint;")
    s.expect("│ +0 │")
    s.expect(PROMPT)
    s.line(".open other.db --new")
    s.expect("made a new catalog, other.db")
    s.expect(PROMPT)
    s.line(".import m.json")
    s.expect("1 new")
    s.expect(PROMPT)
    equal(subprocess.run([t.binary, "-d", t.path("other.db"), "SELECT count(*) FROM checkpoint"],
                         capture_output=True, check=True).stdout, b"1\n")


def case_the_users_own_commands_come_first(t):
    os.makedirs(t.path("config/ckptdb"))
    t.write("config/ckptdb/rc", ".mode json\nSELECT 'rc' AS from_rc;\n.nosuch\nSELECT 'not reached';\n")
    s = t.shell(env={"XDG_CONFIG_HOME": t.path("config")})
    s.expect(r'\[\{"from_rc":"rc"\}\]')
    s.expect("there is no command .nosuch")
    s.expect("rc:3: stopped by this command")
    s.expect(PROMPT)
    s.line("SELECT 1 AS one;")
    s.expect(r'\[\{"one":1\}\]')
    s = t.shell("--no-rc", env={"XDG_CONFIG_HOME": t.path("config")})
    s.expect(PROMPT)
    s.line("SELECT 1 AS one;")
    s.expect("│   1 │")
    equal("from_rc" in s.output, False)
    s = t.shell("SELECT 1 AS one", env={"XDG_CONFIG_HOME": t.path("config")})  # for people, not for scripts
    s.expect("│   1 │")
    equal("from_rc" in s.output, False)


def case_history_is_kept_and_private(t):
    s = t.ready()
    s.line("SELECT 'first';")
    s.expect("│ first")
    s.expect(PROMPT)
    s.line("SELECT 'second';")
    s.expect("│ second")
    s.expect(PROMPT)
    s.send(UP + UP + "\r")
    s.expect("│ first")
    s.expect(PROMPT)
    s.line(".quit")
    s.wait()
    path = t.path(".local/state/ckptdb/history")
    equal(stat.S_IMODE(os.stat(path).st_mode), 0o600)
    s = t.ready()
    s.send(CTRL_R + "second" + "\r")
    s.expect("│ second")


def case_without_line_editing(t):
    s = t.shell(env={"TERM": "dumb"})
    s.expect(PROMPT)
    s.line("SELECT 1 AS one;")
    s.expect("│   1 │")
    s.send(CTRL_D)
    equal(s.wait(), 0)


def case_too_wide_for_the_screen(t):
    s = t.ready(columns=40)
    s.line("SELECT 'begin_" + "a" * 40 + "_end' AS a, 'begin " + "b" * 40 + "_end' AS b;")
    s.expect(r"│ a +│ b +│\s")
    s.expect(r"│ …a+_end +│ begin b+… │\s")
    s.expect(r"texts are cut, as the screen is\s+narrow: .mode line")
    s.expect(PROMPT)
    s.line(".mode line")
    s.line("SELECT 'begin_" + "a" * 40 + "_end' AS a, 7 AS b;")
    s.expect("a = begin_a+_end")
    for line in s.output.splitlines():
        if line.startswith("│") and len(line) > 40:
            raise Failed(f"too wide: {line!r}")


def case_columns_are_left_out_with_a_word(t):
    s = t.ready(columns=60)
    query = "SELECT 1 AS a, 'bbbbbbbbbbbbbbbbbbbbbbb' AS b, NULL AS c, 'dddddddddddddddddddddddd' AS d, 12345678901 AS e"
    s.line(query + ";")
    s.expect(r"│ a │ b +│ d +│\s")
    s.expect(r"c, e are left out, as the screen is narrow: .mode\n  line shows all")
    s.expect(PROMPT)
    s.line(".mode line")
    s.line(query + ";")
    s.expect(r"c = NULL")
    s = t.shell(query, columns=60)
    s.expect(r"c, e are left out, as the screen is narrow: --line\n  shows all")
    s = t.shell("SELECT NULL AS empty, 'b' AS b, 'c' AS c WHERE 0", columns=16)
    s.expect(r"│ empty │ b │\s")
    s = t.ready(columns=60)  # numbers are whole, or not there
    s.line("SELECT " + ", ".join(f"1234567890123{i} AS n{i}" for i in range(5)) + ";")
    s.expect(r"│ 12345678901230 │ 12345678901231 │ 12345678901232 │\s")


def case_trees_and_help_fit_the_screen(t):
    t.names("m.json", {f"layers.{i}.attention_layernorm.weight": [8, 16] for i in range(2)})
    for columns, parameters in (80, False), (120, True):
        s = t.ready(columns=columns)
        s.line(".tree m.json")
        s.expect(r"tensors parameters +bytes\s" if parameters else r"tensors +bytes\s")
        s.expect(r"attention_layernorm.weight .*\[8,16\]\s")
        s.expect(PROMPT)
        s.line(".help track")
        s.expect(r"change > 1")
        for line in ESCAPES.sub("", s.output).splitlines():
            if len(line) > columns and " checkpoints; .help" not in line:
                raise Failed(f"too wide: {line!r}")


def case_messages_are_never_left_out(t):
    t.names("m.json", {**{f"layer_{i}/kernel_of_some_length": [2] for i in range(40)}, "odd": [1],
                        **{f"an_odd_parameter_of_a_name_like_this/{i}": [1] for i in range(5)}})
    t.write("renames.json", json.dumps({"dialect": "t5x-translator", "rules": [
        ["layer_(.*)/kernel_of_some_length", r"block_\1/a_weight_with_a_rather_long_name"]]}))
    s = t.ready(columns=70)
    for line in ".import m.json", ".map load renames renames.json":
        s.line(line)
        s.expect(PROMPT)
    s.line(".map check renames m.json")
    s.expect(r"│ severity │ finding +│")
    s.expect(r'  names: \["[^\r\n]*…')
    s.expect(r"  meaning: [a-z]")
    s.expect(PROMPT)
    s.line(".map run renames m.json")
    s.expect(r"  new_name: block_0/a_weight_with_a_rather_long_name")
    s.expect(r"│ odd +│ unmatched │")
    s.expect(PROMPT)
    s.line(".map why m.json block_7/a_weight_with_a_rather_long_name")
    s.expect(r" new_name = block_7/a_weight")
    s.expect(r" pattern = layer_")
    s.expect(PROMPT)
    for line in s.output.splitlines():
        if len(line) > 70 and not line.startswith("ckptdb"):
            raise Failed(f"too wide: {line!r}")


def case_progress_holds_over_many_checkpoints(t):
    """dedup's bar: one total from the first line to the last, in which five links to a file count once."""
    size, copies = 24 << 20, 6
    os.mkdir(t.path("many"))
    head = b"{'descr': '|u1', 'fortran_order': False, 'shape': (%d,), }" % size
    head = b"\x93NUMPY\1\0" + struct.pack("<H", 118) + head.ljust(117) + b"\n"
    for i in range(copies):
        path = t.path(f"many/m{i}.npz")
        if i:
            shutil.copy(t.path("many/m0.npz"), path)
            continue
        with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as out:  # slow to decode
            out.writestr("w.npy", head + bytes(size))
        for link in range(4):
            os.link(path, t.path(f"many/link{link}.npz"))
    subprocess.run([t.binary, "-d", t.path("c.db"), "import", t.path("many")], capture_output=True, check=True)
    s = t.shell("dedup", "--jobs", "1")
    s.wait(60)
    seen = re.findall(r"hashing  ([\d.]+) MB of ([\d.]+) MB  (\d+)%", s.output)
    if len(seen) < 2 or " to go" not in s.output:
        raise Failed("no progress was shown")
    equal({float(total) for _, total, _ in seen}, {float(f"{size * copies / 1e6:.3g}")})
    done = [int(percent) for _, _, percent in seen]
    equal(done, sorted(done))
    s.expect(r"w +│ +25\.2 MB")


def case_alike_findings_are_one(t):
    t.names("m.json", {"w": [2]})
    t.write("many.json", json.dumps({"dialect": "t5x-translator", "rules": [
        ["w", "v"], *([f"nosuch_{i}", f"x_{i}"] for i in range(9))]}))
    s = t.ready()
    for line in ".import m.json", ".map load many many.json":
        s.line(line)
        s.expect(PROMPT)
    s.line(".map check many m.json")
    s.expect(r"│ note +│ unused +│ 2 \.\. 10 \(9\) +│")
    s.expect(PROMPT)
    equal(s.output.count("the rule decides no name"), 1)
    s.line(".map check many m.json --list")
    s.expect(PROMPT)
    equal(s.output.count("the rule decides no name"), 10)


def case_listings_fit_the_screen(t):
    folder = os.path.join(t.folder, "a_rather_long_name_of_a_folder/and_another_one_below_it")
    os.makedirs(folder)
    t.names(os.path.join(folder, "model.json"), {"w": [1000, 1000]})
    s = t.ready(columns=80)
    s.line(".import .")
    s.expect("1 new")
    s.expect(PROMPT)
    s.line(".ls")
    s.expect(r"│  1 │ model.json │ names  │ ")
    s.expect(PROMPT)
    s.line(".tensors 1")
    s.expect(r"4.00 MB")
    s.expect(PROMPT)
    s.line(".tensors 1 --json")
    s.expect(r'"nbytes":4000000')


def case_long_names_leave_room_for_sizes(t):
    for name in "a", "b":
        t.names(os.path.join(t.folder, "model_with_a_name_that_takes_most_of_a_screen_of_80_" + name + ".json"), {"w": [10]})
    s = t.ready(columns=80)
    s.line(".import .")
    s.expect("2 new")
    s.expect(PROMPT)
    s.line(".ls")
    s.expect(r"│ id │ name +│ format │ tensors │ nbytes │")
    s.expect(r"│  1 │ …[a-z_0-9]+_a.json │ names  │       1 │   40 B │")
    s.expect("state, ")


def case_names_in_a_narrow_table_stay_different(t):
    names = [f"model.layers.{i}.mlp.up_proj.weight" for i in range(3)]
    for step in 10, 20:
        os.makedirs(t.path(f"run/checkpoint-{step}"))
        with open(t.path(f"run/checkpoint-{step}/model.safetensors"), "wb") as out:
            header = json.dumps({name: {"dtype": "F32", "shape": [3], "data_offsets": [12 * i, 12 * i + 12]}
                                 for i, name in enumerate(names)}).encode()
            out.write(struct.pack("<Q", len(header)) + header + 3 * struct.pack("<3f", -step / 8123, step / 79, float("nan")))
    s = t.ready(columns=75)
    s.line(".import .")
    s.expect(PROMPT)
    s.line(".stats run")
    s.expect(r"│ name +│ step │ mean +│ std +│ min +│ max +│ l2 +│ nans │")
    for i in range(3):
        s.expect(rf"│ (model|…)[a-z.]*\.{i}… +│ +10 │")


def case_adapters_fit_the_screen(t):
    runs = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../fixtures/real/torch/trainer/data")
    s = t.shell("tree", os.path.join(runs, "lora-run@10"), columns=80)
    s.expect(r"│  ├─ lora_A.weight +128 B  float32 \[2,8\]\n")
    s.expect(r"changes in [^\n]{,78}\n")
    s.expect(r" tensors\n└─ model.layers.\{0,1\}.self_attn       4\n   ├─ q_proj.weight                   2  lora r2 x2\n")
    s = t.shell("diff", os.path.join(runs, "sft-run@30"), os.path.join(runs, "lora-run@10"), columns=80)
    s.expect(r"   ├─ q_proj.weight                   2  lora r2  \[8,8\]  rel up to 0.00786\n")
    s.expect("delta_l2 is left out, as the screen is narrow")
    s = t.shell("diff", os.path.join(runs, "sft-run@30"), os.path.join(runs, "lora-run@10"), columns=120)
    s.expect(r"  lora r2 \[8,8\]  rel up to 0.00786, delta_l2 0.00138\n")


def case_what_is_not_known_is_no_absence(t):
    with open(t.path("m.safetensors"), "wb") as out:
        header = b'{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
        out.write(struct.pack("<Q", len(header)) + header + struct.pack("<f", float("nan")))
    s = t.ready()
    s.line(".import .")
    s.expect("1 new")
    s.line("SELECT name FROM stats WHERE nans;")
    s.expect("statistics are known of 0 of 1 checkpoints: ckptdb stats works out the rest")
    s.line("stats m.safetensors")
    s.expect(PROMPT)
    s.line("SELECT name, 1 + 1 FROM stats WHERE nans;")
    s.expect(r"│ w +│ +2 │")
    s.line("SELECT 'the end';")
    s.expect("the end")
    equal("are known of" in s.output[s.output.index("1 + 1 FROM"):], False)


def case_what_is_not_known_is_counted_of_what_was_asked(t):
    """Of three steps of two tensors each: of the tensors and checkpoints that the statement's conditions leave."""
    for step in (1, 2, 3):
        os.makedirs(t.path(f"run/checkpoint-{step}"))
        with open(t.path(f"run/checkpoint-{step}/model.safetensors"), "wb") as out:
            header = json.dumps({n: {"dtype": "F32", "shape": [1], "data_offsets": [i * 4, i * 4 + 4]} for i, n in enumerate("vw")})
            out.write(struct.pack("<Q", len(header)) + header.encode() + struct.pack("<2f", step, 2))
    s = t.ready()
    s.line(".import .")
    s.expect("3 new")
    s.line("stats run@1")
    s.expect(PROMPT)
    s.line("stats run@2 w")
    s.expect(PROMPT)
    says = lambda known: f"statistics are known of {known}: ckptdb stats works out the rest"
    for where, known in (("", "2 of 3 checkpoints"), ("WHERE name = 'w'", "2 of 3 tensors"), ("WHERE x.name LIKE 'v' AND nans = 0", "1 of 3 tensors"),
                         ("WHERE checkpoint = 'run@2'", "1 of 2 tensors"), ("WHERE checkpoint = 'run@1'", None),
                         ("WHERE checkpoint_id = checkpoint_id('run@3')", "0 of 2 tensors"),
                         ("WHERE checkpoint_id = (SELECT id FROM checkpoint WHERE name = 'run@3')", "0 of 2 tensors"),
                         ("JOIN checkpoint c ON c.id = checkpoint_id WHERE c.step IN (1, 2) AND x.name = 'w'", None),
                         ("JOIN checkpoint c ON c.id = checkpoint_id WHERE step >= 2 ORDER BY l2", "1 of 4 tensors"),
                         ("WHERE name = 'w' OR checkpoint = 'run@3'", "2 of 3 checkpoints"), ("WHERE name = 'w' || 'x'", "2 of 3 checkpoints"),
                         ("WHERE name = 'none'", "2 of 3 checkpoints")):
        start = len(s.output)
        s.line(f"SELECT x.name, l2 FROM stats x {where};")
        if known: s.expect(says(known))
        s.line(f"SELECT 'after {len(s.output)}';")
        s.expect(f"│ after")
        s.expect(PROMPT)
        if not known: equal("known of" in s.output[start:], False)


def case_an_alias_of_a_dtype_is_told(t):
    t.names("m.json", {"w": [1]})
    s = t.ready()
    s.line(".import .")
    s.expect("1 new")
    said = "no dtype is called 'bf16' in the catalog: dtype = 'bfloat16' is meant"
    for statement in ("SELECT name FROM tensor t WHERE t.dtype = 'bf16';", "SELECT sum(nbytes) FROM tensor WHERE \"dtype\" IS 'bf16';",
                      "SELECT name FROM tensor WHERE dtype NOT IN ('float32', 'bf16') AND rank > 9;"):
        s.line(statement)
        s.expect(said)
        s.expect(PROMPT)
    for statement in ("SELECT name FROM tensor WHERE dtype = 'bfloat16';", "SELECT name FROM tensor WHERE dtype > 'x' AND name = 'bf16';",
                      "SELECT value FROM json_each('[1, 2]') WHERE 'bf16' <> '' OR 'dtype' = '';"):
        s.line(statement)
        s.expect(PROMPT)
    s.line("SELECT 'the end';")
    s.expect("the end")
    equal(s.output.count(said), 3)


def case_an_odd_name_takes_no_columns(t):
    for i in range(20):
        t.names(f"m{i}.json", {"w": [1]})
    t.names("x" * 70 + ".json", {"w": [1]})
    s = t.ready(columns=80)
    s.line(".import .")
    s.expect("21 new")
    s.line("ls")
    s.expect("format.*state.*tensors")
    s.expect("…x+\\.json")
    s.expect(PROMPT)
    s.line("verify --quick")  # and no rows are a word
    s.expect("21 checkpoints verified, nothing found")


def case_get_and_export(t):
    header = json.dumps({name: {"dtype": "F32", "shape": [2], "data_offsets": [8 * i, 8 * i + 8]}
                         for i, name in enumerate(("enc.w", "enc.b", "dec.w"))}).encode()
    data = struct.pack("<6f", 1, 2, 3, 4, 5, 6)
    with open(t.path("in.safetensors"), "wb") as out:
        out.write(struct.pack("<Q", len(header)) + header + data)
    s = t.ready()
    s.line(".import in.safetensors")
    s.expect("1 new")
    s.expect(PROMPT)
    s.send(".get in.safe" + TAB + "enc.w\r")
    s.expect(r"\[1\.0 2\.0\]")
    s.expect(PROMPT)
    s.line(".export in.safetensors out.safetensors --names ^enc")
    s.expect(PROMPT)
    s.send(CTRL_D)
    equal(s.wait(), 0)
    values = {name: struct.unpack("<2f", data)
              for name, (_, _, data) in read_safetensors(t.path("out.safetensors")).items()}
    equal(values, {"enc.w": (1, 2), "enc.b": (3, 4)})


def case_get_shows_a_part(t):
    header = json.dumps({"w": {"dtype": "I32", "shape": [50, 40], "data_offsets": [0, 8000]}}).encode()
    with open(t.path("in.safetensors"), "wb") as out:
        out.write(struct.pack("<Q", len(header)) + header + struct.pack("<2000i", *range(2000)))
    s = t.ready()
    s.line(".import in.safetensors")
    s.expect("1 new")
    s.expect(PROMPT)
    s.line(".get 1 w")
    s.expect(r"\[\[   0    1    2 ...   37   38   39\]\n \[  40")
    s.expect(r"\n \.\.\.\n \[1880 1881 1882 \.\.\. 1917 1918 1919\]")
    s.expect(r"1999\]\]")
    s.expect(PROMPT)
    s.line(".get 1 w --slice ':, 0' --format csv")
    s.expect(r"\n1960\n")
    s.expect(PROMPT)
    s.line(".get 1 w --full")
    s.expect(r"\[ 800  801 ")
    s.expect(PROMPT)
    s.line(".get 1 w --format raw")
    s.expect("not to a terminal")


def read_safetensors(path):
    with open(path, "rb") as file:
        length = struct.unpack("<Q", file.read(8))[0]
        entries = json.loads(file.read(length))
        body = file.read()
    entries.pop("__metadata__", None)
    return {name: (entry["dtype"], entry["shape"], body[slice(*entry["data_offsets"])])
            for name, entry in entries.items()}


def case_translate_t5(t):
    """A TensorFlow checkpoint of T5 becomes a file with T5X's names, bytes untouched."""
    source = os.path.join(os.path.dirname(__file__), "../fixtures/real/tf/t5_mesh/data")
    s = t.ready()
    s.line(".import " + os.path.abspath(source))
    s.expect("2 new")
    s.expect(PROMPT)
    s.send(".get 1 shared/emb" + TAB + " -o old --form" + TAB + "raw\r")
    s.expect("--format raw")
    s.expect(PROMPT)
    s.send(".export 1 new.safetensors --map t5_to" + TAB + "--names '^shared/embedding$|block_001/.*/q$'\r")
    s.expect("--map t5_to_t5x --names")
    s.expect(PROMPT)
    s.line(".quit")
    equal(s.wait(), 0)
    tensors = read_safetensors(t.path("new.safetensors"))
    equal(sorted(tensors), ["target/decoder/layers_1/encoder_decoder_attention/query/kernel",
                            "target/decoder/layers_1/self_attention/query/kernel",
                            "target/encoder/layers_1/attention/query/kernel",
                            "target/token_embedder/embedding"])
    with open(t.path("old"), "rb") as old:
        equal(tensors["target/token_embedder/embedding"], ("BF16", [40, 16], old.read()))


def case_control_characters_are_shown(t):
    t.write("q.sql", "SELECT char(27) || '[31m' || char(0x9b, 0x202e) || 'ü日' AS x;")
    for mode in ("box", "list", "line", "csv", "tsv", "markdown"):
        s = t.shell("--" + mode, "-f", "q.sql")
        mark = r"\\\\" if mode == "tsv" else r"\\"  # TSV doubles a backslash of its own
        s.expect(mark + r"x1b\[31m" + mark + "xc2" + mark + "x9b" + mark + "xe2" + mark + "x80" +
                 mark + "xaeü日")
        equal(s.wait(), 0)
    for mode in ("json", "jsonl"):
        s = t.shell("--" + mode, "-f", "q.sql")
        s.expect(r"\\u001b\[31m\\u009b\\u202eü日")
        equal(s.wait(), 0)


def case_color_only_where_wanted(t):
    raw = {}
    for name, args, env in (("auto", (), {"NO_COLOR": ""}), ("none", (), {"NO_COLOR": "1"}),
                            ("never", ("--color=never",), {"NO_COLOR": ""})):
        s = t.shell(*args, "SELECT NULL AS x", env=env)
        data = b""
        while select.select([s.fd], [], [], 2)[0]:
            try:
                data += os.read(s.fd, 4096)
            except OSError:
                break
        s.wait()
        raw[name] = b"\x1b[" in data
    equal(raw, {"auto": True, "none": False, "never": False})


def case_syntax_has_colors(t):
    s = t.ready(env={"NO_COLOR": ""})
    s.send("select 'a', 12")
    s.expect("12")
    s.read(1)
    for part in b"\x1b[0;1;34mselect", b"\x1b[0;32m'a'", b"\x1b[0;35m12":
        if part not in s.raw:
            raise Failed(f"no {part!r} in {s.raw!r}")
    s.line("3 as x;")
    s.expect(r"│ a +│ 123 │")
    s = t.ready()
    s.send("select 'a', 12")
    s.expect("12")
    s.read(1)
    equal(b"[0;1;34m" in s.raw, False)


def case_no_words_on_stdout_of_a_script(t):
    """Statements from a terminal, results to a file: no prompt in it."""
    s = t.shell("-c", ".output rows", "-c", "SELECT 5")
    equal(s.wait(), 0)
    with open(t.path("rows"), encoding="utf-8") as rows:
        equal(rows.read(), "5\n")


def case_a_build_shows_how_far_it_is(t):
    """make check and make demo: a count on a terminal, which ends with the build's own status."""
    t.write("Makefile", "all: a b c; @:\na b c:\n\t@printf '  %-5s %s\\n' CC $@.c\n\t@test -z '$(filter b,$@)' || "
                        "{ sleep 0.2; echo warned >&2; exit $(STATUS); }\n")
    building = os.path.abspath(os.path.join(os.path.dirname(__file__), "../building.sh"))
    s = t.shell(building, "make", "--no-print-directory", "STATUS=0", binary=shutil.which("bash"))
    s.expect(r"building: 1 of 3 \(V=1 shows commands\) a\.c")
    s.expect(r"building: 2 of 3.* b\.c")
    s.expect("warned\n")
    s.expect("building: 3 of 3")
    equal(s.wait(), 0)
    s = t.shell(building, "make", "--no-print-directory", "STATUS=3", binary=shutil.which("bash"))
    s.expect("warned\n.*Error 3")
    equal(s.wait(), 2)
    quiet = subprocess.run(["bash", building, "make", "STATUS=0"], cwd=t.folder, capture_output=True, text=True, check=True)
    equal((quiet.stdout.splitlines()[0], "of 3" in quiet.stdout), ("building (V=1 shows what) ...", False))


# --- what other shells complete ---------------------------------------------------------------

COMPLETION = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../shell/line/completion."))


def foreign_shell(t, program, *args):
    """A user's shell, in a folder whose catalog has names with characters at which shells break words."""
    if not shutil.which(program):
        raise Skipped(f"no {program} here")
    for name in ("sft-run/checkpoint-1900/model", "sft-run/checkpoint-1900/optimizer", "sft-run/checkpoint-2000/model",
                 "a b@c", "x=y"):
        header = b'{"v@1":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
        os.makedirs(os.path.dirname(t.path(name)), exist_ok=True)
        with open(t.path(name + ".safetensors"), "wb") as out:
            out.write(struct.pack("<Q", len(header)) + header + bytes(4))
    subprocess.run([t.binary, "-d", t.path("c.db"), "import", t.folder], capture_output=True, check=True)
    os.mkdir(t.path("bin"))
    os.symlink(t.binary, t.path("bin/ckptdb"))
    for name in "file@1", "file:2", "file=3":
        t.write("F" + name, "")
    os.mkdir(t.path("Folder d"))
    s = t.shell(*args, binary=shutil.which(program),
                env={"PATH": t.path("bin") + ":" + os.environ["PATH"], "XDG_CONFIG_HOME": t.path("config"),
                     "XDG_DATA_HOME": t.path("data"), "PS1": "", "fish_greeting": ""})
    # The words that the shell passes to a command, in brackets: what is typed, and what it becomes.
    t.write("bin/show", "#!/bin/sh\nprintf 'words:'; printf ' <%s>' \"$@\"; echo ' end'\n")
    os.chmod(t.path("bin/show"), 0o755)
    return s


def completes(s, typed, words):
    """What the keys make of the command's line: its words, once `ckptdb` is put out of the way."""
    s.send(typed)
    time.sleep(0.4)
    while s.read(0.4):
        pass
    s.send("\x01show \r")  # to the line's beginning: `show ckptdb ...` prints the words
    s.expect("words: <ckptdb>" + "".join(f" <{re.escape(word)}/?>" for word in words) + " end")


def names_are_completed(s):
    for typed, word in (("sft-run@19" + TAB + ":" + TAB, "sft-run@1900:optimizer"), ("sft-run@20" + TAB, "sft-run@2000"),
                        ("sft-run@1900:o" + TAB, "sft-run@1900:optimizer"), ("x=" + TAB, "x=y.safetensors"),
                        ("'sft-run@1900:o" + TAB, "sft-run@1900:optimizer"), ("a" + TAB, "a b@c.safetensors"),
                        ("a\\ b@" + TAB, "a b@c.safetensors"), ("'a b@" + TAB, "a b@c.safetensors")):
        completes(s, "ckptdb tree " + typed, ["tree", word])
    completes(s, "ckptdb show x=y.safetensors v@" + TAB, ["show", "x=y.safetensors", "v@1"])
    completes(s, "ckptdb diff sft-run@2000 sft-run@1900:" + TAB, ["diff", "sft-run@2000", "sft-run@1900:optimizer"])
    for typed, word in (("Ffile@" + TAB, "Ffile@1"), ("Ffile:" + TAB, "Ffile:2"), ("Ffile=" + TAB, "Ffile=3"),
                        ("Fo" + TAB, "Folder d")):
        completes(s, "ckptdb import " + typed, ["import", word])


def case_bash_completes_names(t):
    s = foreign_shell(t, "bash", "--norc", "--noprofile")
    s.line(f"bind 'set enable-bracketed-paste off'; . {COMPLETION}bash; echo re''ady")
    s.expect("ready")
    names_are_completed(s)
    completes(s, "ckptdb tree sft-run@19" + TAB + TAB, ["tree", "sft-run@1900"])


def case_zsh_completes_names(t):
    s = foreign_shell(t, "zsh", "-f")
    os.symlink(COMPLETION + "zsh", t.path("bin/_ckptdb"))
    s.line(f"PROMPT= fpath=({t.path('bin')} $fpath); autoload -Uz compinit; compinit -u -D; echo re''ady")
    s.expect("ready")
    names_are_completed(s)


def case_fish_completes_names(t):
    s = foreign_shell(t, "fish", "--no-config")
    s.line(f"function fish_prompt; end; source {COMPLETION}fish; echo re''ady")
    s.expect("ready")
    names_are_completed(s)


def main():
    binary, wanted = os.path.abspath(sys.argv[1]), sys.argv[2:]
    passed = failed = skipped = 0
    try:
        for fd in pty.openpty():
            os.close(fd)
    except OSError as why:  # a container without /dev/pts
        print(f"SKIP: no pseudo-terminal here: {why}")
        print("0 passed, 0 failed, 1 skipped")
        return 0
    for name, case in list(globals().items()):
        if not name.startswith("case_") or wanted and name[5:] not in wanted:
            continue
        folder = tempfile.mkdtemp(prefix="ckptdb-pty.")
        t = Case(binary, folder)
        try:  # scripts want a catalog
            subprocess.run([binary, "-d", t.path("c.db"), "import", folder], capture_output=True, check=True)
            case(t)
            passed += 1
        except Skipped as why:
            skipped += 1
            print(f"SKIP {name[5:]}: {why}")
        except (Failed, OSError, subprocess.CalledProcessError) as error:
            failed += 1
            print(f"FAIL {name[5:]}: {error}")
            for shell in t.shells[-1:]:
                print("    " + shell.output[-1500:].replace("\n", "\n    "))
        finally:
            for shell in t.shells:
                shell.close()
            shutil.rmtree(folder, ignore_errors=True)
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
