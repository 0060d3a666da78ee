"""The Python package: what it says, reads and writes, against naive readers and NumPy's own indexing.

    PYTHONPATH=build/release/python python3 tests/python/test_package.py
"""
import asyncio
import collections
import contextlib
import doctest
import gc
import http.server
import importlib
import io
import json
import os
import pickle
import random
import signal
import sqlite3
import struct
import sys
import tempfile
import threading
import time
import unittest
import warnings

import numpy as np

import ckptdb
import ckptdb.views

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
REAL = os.path.join(TESTS, "fixtures", "real")
NUMBERS = {"F64": "f8", "F32": "f4", "F16": "f2", "I64": "i8", "I32": "i4", "I16": "i2", "I8": "i1", "U8": "u1",
           "BOOL": "?"}

UNTYPED = ["adafactor_axis.axis", "adafactor_axis.word", "metadata.value", "optax_function.arguments", "optax_function.chain",
           "optax_slot.dtype", "optax_slot.scope", "optax_slot.shape", "optax_slot.slot", "optax_slot.transformation",
           "optax_slot.when", "optax_unregistered.transformation", "optax_unregistered.when", "optimizer_candidate.spec",
           "torch_state.more", "torch_state.rank", "torch_state.slots"]


def write(path, arrays, metadata=None):
    """A safetensors file, by the format's own words."""
    names = {np.dtype(v): k for k, v in NUMBERS.items()}
    header, data = {"__metadata__": metadata} if metadata else {}, b""
    for name, a in arrays.items():
        header[name] = {"dtype": names[a.dtype], "shape": list(a.shape),
                        "data_offsets": [len(data), len(data) + a.nbytes]}
        data += a.tobytes()
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def read(path):
    """All tensors of a safetensors file, naively."""
    with open(path, "rb") as file:
        held = file.read()
    length = struct.unpack("<Q", held[:8])[0]
    for name, t in json.loads(held[8:8 + length]).items():
        if name != "__metadata__" and t["dtype"] in NUMBERS:
            a, b = t["data_offsets"]
            yield name, np.frombuffer(held[8 + length + a:8 + length + b], NUMBERS[t["dtype"]]).reshape(t["shape"])


def some_index(shape, rng):
    """An index of NumPy's basic kind."""
    def one(size):
        kind = rng.randrange(4)
        if kind == 0 and size:
            return rng.randrange(-size, size)
        ends = [rng.choice([None, rng.randrange(-size - 2, size + 3)]) for _ in range(2)]
        return slice(*ends, rng.choice([None, 1, 2, 3, -1, -2])) if kind != 3 else slice(None)
    index = [one(size) for size in shape[:rng.randrange(len(shape) + 1)]]
    if rng.randrange(3) == 0:
        index.insert(rng.randrange(len(index) + 1), Ellipsis)
    if rng.randrange(5) == 0:
        index.insert(rng.randrange(len(index) + 1), None)
    return tuple(index)


class Case(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.at = held.name
        self.db = ckptdb.open(os.path.join(self.at, "catalog.db"))
        self.addCleanup(self.db.close)
        rng = np.random.default_rng(7)
        self.arrays = {"enc/layer_0/kernel": rng.normal(size=(6, 4)).astype("f4"),
                       "enc/layer_0/bias": rng.normal(size=4).astype("f4"),
                       "enc/layer_1/kernel": rng.normal(size=(6, 4)).astype("f4"),
                       "step": np.array(7, "i8"), "none": np.zeros((0, 3), "f4")}
        self.file = os.path.join(self.at, "model.safetensors")
        write(self.file, self.arrays, {"author": "x"})

    def checkpoint(self):
        self.db.index(self.file)
        return self.db["model.safetensors"]


class Catalogs(Case):
    def test_index_reports(self):
        with open(os.path.join(self.at, "cut.safetensors"), "wb") as file:
            file.write(b"\xff" * 20)
        seen = []
        report = self.db.index(self.at, progress=lambda *a: seen.append(a))
        self.assertEqual((report.added, report.failed), (1, 1))
        self.assertEqual(report.issues[0].severity, "error")
        self.assertTrue(report.issues[0].path.endswith("cut.safetensors"))
        self.assertEqual(self.db.index(self.at).unchanged, 1)
        self.assertTrue(all(isinstance(a[0], str) for a in seen))
        with self.assertRaises(ckptdb.Missing) as caught:
            self.db.index(os.path.join(self.at, "absent"))
        self.assertIn("absent", str(caught.exception))

    def test_checkpoint_is_a_mapping(self):
        ck = self.checkpoint()
        self.assertEqual(list(ck), list(self.arrays))
        self.assertEqual(len(ck), 5)
        self.assertIn("step", ck)
        self.assertNotIn("stop", ck)
        self.assertEqual(ck.format, "safetensors")
        self.assertEqual(ck.path, os.path.realpath(self.file))
        self.assertEqual(ck.metadata, {"author": "x"})
        self.assertEqual(ck.issues, [])
        self.assertEqual([c.id for c in self.db.checkpoints("*model*")], [ck.id])
        self.assertEqual(self.db.checkpoints("nothing"), [])
        self.assertEqual(set(ck.tree()["enc"]["layer_0"]), {"kernel", "bias"})
        for name, tensor in ck.items():
            np.testing.assert_array_equal(tensor[...], self.arrays[name])

    def test_unknown_names(self):
        ck = self.checkpoint()
        for ask in (lambda: self.db["modle"], lambda: ck["enc/layer_0/kernl"], lambda: self.db[99]):
            with self.assertRaises(KeyError) as caught:
                ask()
            self.assertIsInstance(caught.exception, ckptdb.Missing)
        with self.assertRaises(KeyError) as caught:
            ck["enc/layer_0/kernl"]
        self.assertIn("enc/layer_0/kernel", str(caught.exception))
        self.assertFalse("modle" in self.db)
        with self.assertRaises(ckptdb.Argument):
            self.db["a\0b"]

    def test_reading_only(self):
        self.checkpoint()
        path = self.db.path
        self.db.close()
        with ckptdb.open(path, "r") as db:
            self.assertEqual(len(db), 1)
            with self.assertRaises(ckptdb.Error):
                db.index(self.file)
            with self.assertRaises(ckptdb.Error):
                db.maps["x"] = {"dialect": "t5x-translator", "rules": []}
        with self.assertRaises(ckptdb.Missing):
            ckptdb.open(os.path.join(self.at, "none.db"), "r")
        with self.assertRaises(ckptdb.Argument):
            ckptdb.open(self.file)
        with self.assertRaises(ckptdb.Argument):
            self.db.sql("SELECT 1")

    def test_files_without_a_catalog(self):
        held = ckptdb.load_file(self.file)
        self.assertEqual(set(held), set(self.arrays))
        np.testing.assert_array_equal(held["step"], 7)
        self.assertEqual(held["step"].shape, ())
        with self.assertRaises(ckptdb.Error) as caught:
            ckptdb.open_file(__file__)
        self.assertIn("test_package.py", str(caught.exception))

    def test_copies_the_catalog(self):
        copy = os.path.join(self.at, "copy.db")
        self.db.snapshot(copy)
        with self.assertRaises(ckptdb.Argument):
            self.db.snapshot(copy)
        self.db.snapshot(copy, force=True)
        with ckptdb.open(copy, "r") as other:
            self.assertEqual([c.path for c in other.checkpoints()], [c.path for c in self.db.checkpoints()])

    def test_merges(self):
        self.checkpoint()
        with ckptdb.open(":memory:") as all_of_them:
            self.assertEqual(all_of_them.merge(self.db.path, host="a", relocate={self.at: "/b"}),
                             {"added": 1, "changed": 0, "known": 0, "kept": 0})
            with self.assertRaises(ckptdb.Missing):
                all_of_them.merge(os.path.join(self.at, "none.db"), self.db.path, host="c")
            self.assertEqual(sorted(c.path for c in all_of_them.checkpoints()),
                             ["/b/model.safetensors", f"file://c{self.file}"])

    def test_forgets(self):
        ck = self.checkpoint()
        self.db.forget(ck)
        self.assertEqual(len(self.db), 0)
        with self.assertRaises(ckptdb.Missing):
            ck["step"][...]


class Reading(Case):
    def test_random_slices_of_every_format(self):
        """Equal to NumPy's slices of the whole; whole safetensors equal to a naive reader's."""
        rng = random.Random(os.environ.get("CKPTDB_SEED", "1"))
        db = ckptdb.open(":memory:")
        db.index(REAL)
        tensors = [t for ck in db for t in ck.values() if t.storage != "none"]
        formats, tried = set(), 0
        rng.shuffle(tensors)
        turn = collections.Counter()
        order = []
        for t in tensors: # of each format the first, of each the second, ...
            turn[t._owner.format] += 1
            order.append((turn[t._owner.format], len(order)))
        for t in [tensors[i] for _, i in sorted(order)][:1000]:
            try:
                whole = t[...]
            except ckptdb.Unsupported:
                continue
            self.assertEqual(np.shape(whole), t.shape)
            formats.add(t._owner.format)
            for _ in range(3):
                index = some_index(t.shape, rng)
                try:
                    want = whole[index]
                except IndexError:
                    self.assertRaises(IndexError, t.__getitem__, index)
                    continue
                got = t[index]
                self.assertEqual(np.shape(got), np.shape(want), (t, index))
                self.assertEqual(np.asarray(got).tobytes() if whole.dtype != object else np.asarray(got, object).tolist(),
                                 np.asarray(want).tobytes() if whole.dtype != object else np.asarray(want, object).tolist(), (t, index))
                tried += 1
        self.assertGreater(tried, 2000)
        self.assertGreater(len(formats), 10)
        for ck in db.checkpoints("*.safetensors"):
            for name, array in read(ck.path):
                self.assertEqual(ck[name][...].tobytes(), array.tobytes(), (ck, name))

    def test_wrong_indexes(self):
        self.assertRaises(AttributeError, setattr, self.checkpoint()["step"], "shape", (1,))
        t = self.checkpoint()["enc/layer_0/kernel"]
        for index in (6, (0, 4), (0, 0, 0), (Ellipsis, Ellipsis), "a", [0, 1], 1.0, True, -7):
            with self.assertRaises(IndexError, msg=index):
                t[index]
        with self.assertRaises(ValueError):
            t[::0]
        with self.assertRaises(TypeError):
            len(self.db["model.safetensors"]["step"])

    def test_what_it_says(self):
        t = self.checkpoint()["enc/layer_0/kernel"]
        self.assertEqual((t.shape, t.ndim, t.size, t.nbytes, len(t), t.storage), ((6, 4), 2, 24, 96, 6, "range"))
        self.assertEqual(t.dtype, np.float32)
        self.assertIsNone(t.block)
        self.assertEqual(t.sha256(), __import__("hashlib").sha256(self.arrays[t.name].tobytes()).hexdigest())
        alone = t.hash()
        self.assertEqual(self.db.sql("SELECT count(hash) FROM tensor").fetchone(), (0,)) # no other is hashed for it
        self.db.hash()
        self.assertEqual(self.db.sql("SELECT hash FROM tensor WHERE id = ?", [t.id]).fetchone(), (alone,))
        self.assertAlmostEqual(t.stats()["mean"], float(self.arrays[t.name].astype("f8").mean()), 6)
        self.assertEqual(t.numpy("float64").dtype, np.float64)
        np.testing.assert_array_equal(np.asarray(t), self.arrays[t.name])
        with self.assertRaises(ckptdb.Argument):
            t.numpy("no dtype")

    def test_mmap(self):
        ck = self.checkpoint()
        view = ck["enc/layer_1/kernel"].mmap()
        np.testing.assert_array_equal(view, self.arrays["enc/layer_1/kernel"])
        self.assertFalse(view.flags.writeable)
        self.assertEqual(ck["none"].mmap().shape, (0, 3))
        self.db.index(os.path.join(REAL))
        chunked = self.db.sql("SELECT id, checkpoint_id, name FROM tensor WHERE storage = 'chunks' LIMIT 1").fetchone()
        with self.assertRaises(ValueError):
            self.db[chunked[1]][chunked[2]].mmap()

    def test_a_value_that_does_not_fit(self):
        write(self.file, {"x": np.array([300], "i8")})
        t = self.checkpoint()["x"]
        with self.assertRaises(ckptdb.Value):
            t.numpy("int8")

    def test_files_that_changed(self):
        ck = self.checkpoint()
        t = ck["enc/layer_0/kernel"]
        os.truncate(self.file, 500)
        with self.assertRaises(ckptdb.Changed) as caught:
            t[...]
        self.assertIn("model.safetensors", caught.exception.source)
        for ask in (t.hash, t.sha256, t.stats):
            with self.assertRaises(ckptdb.Changed) as caught, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ask()
            self.assertIn("model.safetensors", caught.exception.source)
        with self.assertWarnsRegex(RuntimeWarning, "model.safetensors.* changed"):
            self.db.hash(ck)
        os.unlink(self.file)
        with self.assertRaises(ckptdb.Error):
            ck["step"][...]
        with self.assertRaises(ckptdb.Error):
            ck["step"].mmap()

    def test_indexed_anew(self):
        """A handle of before does not read another tensor of the same place."""
        old = self.checkpoint()
        names = list(old)
        write(self.file, dict(reversed(self.arrays.items())))
        os.utime(self.file, ns=(1, 1))
        self.db.index(self.file)
        for i, name in enumerate(names):
            if names[-1 - i] != name: # else the place has the same name
                with self.assertRaises(ckptdb.Changed):
                    old[name][...]
                with self.assertRaises(ckptdb.Changed):
                    old[name][..., None]
            np.testing.assert_array_equal(self.db["model.safetensors"][name][...], self.arrays[name])

    def test_replaced_between_reads(self):
        """Each read looks, also where the file stays open."""
        ck = self.checkpoint()
        ck["step"][...]
        other = self.file + ".new"
        write(other, {n: a + 1 for n, a in self.arrays.items()})
        os.replace(other, self.file)
        with self.assertRaises(ckptdb.Changed):
            ck["step"][...]

    def test_frameworks(self):
        """Arrays of PyTorch and JAX, where these are installed."""
        ck = self.checkpoint()
        for name, want in self.arrays.items():
            with contextlib.suppress(ImportError):
                import torch
                made = ck[name].torch()
                self.assertIs(type(made), torch.Tensor)
                self.assertEqual((tuple(made.shape), made.numpy().tobytes()), (want.shape, want.tobytes()))
            with contextlib.suppress(ImportError):
                import jax
                made = ck[name].jax()
                self.assertIsInstance(made, jax.Array)
                np.testing.assert_array_equal(np.asarray(made), want)

    def test_blocks(self):
        self.db.index(os.path.join(REAL))
        row = self.db.sql("SELECT checkpoint_id, name FROM tensor WHERE dtype = 'q8_0' LIMIT 1").fetchone()
        t = self.db[row[0]][row[1]]
        self.assertIsNone(t.dtype)
        self.assertEqual(t.block, "q8_0")
        self.assertEqual(t[...].dtype, np.float32)
        self.assertEqual(t[...].shape, t.shape)


    def test_small_reads_are_read_ahead(self):
        sizes = [16] * 1500 + [8191, 8192, 8193, 0, 3] + [16] * 1500 + [65535, 65536, 65537, 1] + [4096] * 40
        arrays = {f"t{i:05}": np.random.default_rng(i).integers(0, 255, n, "u1") for i, n in enumerate(sizes)}
        write(self.file, arrays)
        ck = self.checkpoint()

        def calls():
            with open("/proc/self/io", encoding="ascii") as io:
                return int(io.read().split()[5])
        before = calls()
        forward = {name: t[...] for name, t in ck.items()}
        self.assertLess(calls() - before, 100)
        shuffled = list(ck)
        random.Random(3).shuffle(shuffled)
        for name in [*ck, *reversed(list(ck)), *shuffled]:
            self.assertEqual(forward[name].tobytes(), arrays[name].tobytes())
            self.assertEqual(ck[name][...].tobytes(), arrays[name].tobytes())
        write(self.file, {**arrays, "t00000": arrays["t00001"]})
        with self.assertRaises(ckptdb.Changed):
            ck["t00002"][...]

    def test_leading_slices_look_nothing_up(self):
        ck = self.checkpoint()
        for name, index in (("enc/layer_0/kernel", slice(1, 3)), ("enc/layer_0/kernel", -1), ("enc/layer_0/kernel", np.int64(2)),
                            ("enc/layer_0/bias", 3), ("enc/layer_0/bias", slice(9, 2)), ("none", slice(None))):
            tensor, want = ck[name], self.arrays[name][index]
            np.testing.assert_array_equal(tensor[index], want)
            self.assertEqual((type(tensor[index]), tensor[index].dtype), (type(want), want.dtype))
            self.assertFalse(hasattr(tensor, "_opened"))
        for index in (6, -7, True):
            with self.assertRaises(IndexError):
                ck["enc/layer_0/kernel"][index]


class Asking(Case):
    def test_rows(self):
        rows = self.db.sql("SELECT 1 AS a, 2.5, 'x', x'00ff', NULL UNION ALL SELECT NULL, 'text', 3, 4, 5")
        self.assertEqual(rows.columns[0], "a")
        self.assertEqual(rows.fetchone(), (1, 2.5, "x", b"\x00\xff", None))
        self.assertEqual(rows.fetchall(), [(None, "text", 3, 4, 5)])
        self.assertIsNone(rows.fetchone())

    def test_many_rows(self):
        """Sizes around a batch's."""
        for count in (0, 1, 63, 64, 65, 16447, 16448, 16449, 40000):
            rows = self.db.sql("WITH RECURSIVE n(i) AS (SELECT 1 WHERE ?1 > 0 UNION ALL SELECT i + 1 FROM n"
                               " WHERE i < ?1) SELECT i, 'é' || i, i / 2.0 FROM n", [count])
            self.assertEqual(rows.fetchall(), [(i, f"é{i}", i / 2) for i in range(1, count + 1)])

    def test_parameters(self):
        ask = lambda p: self.db.sql("SELECT ?", [p]).fetchone()[0]
        for value in (None, 0, -(1 << 63), (1 << 63) - 1, 1.5, "ü\0x", "", b"", b"\0\1", "\udcff"):
            self.assertEqual(ask(value), value)
        self.assertEqual(ask(np.int64(3)), 3)
        self.assertEqual(self.db.sql("SELECT :a || $b", {"a": "x", "b": "y"}).fetchone(), ("xy",))
        for wrong in ([], [1, 2], {"c": 1}, [1 << 63], [object()]):
            with self.assertRaises(ckptdb.Argument):
                self.db.sql("SELECT ?" if not isinstance(wrong, dict) else "SELECT :a", wrong)

    def test_errors(self):
        for sql in ("SELEC 1", "SELECT * FROM absent", "SELECT regexp_match('(', 'a')"):
            with self.assertRaises(ckptdb.Error):
                self.db.sql(sql)
        with self.assertRaises(ckptdb.Argument):
            self.db.sql("SELECT 1; SELECT 2")
        self.checkpoint()
        with self.assertRaises(ckptdb.Error) as caught:
            self.db.sql("DELETE FROM checkpoint")
        self.assertIn("forget", str(caught.exception))
        self.assertEqual(self.db.sql("  -- nothing").fetchall(), [])

    def test_frames(self):
        pandas = pyarrow = None
        with contextlib.suppress(ImportError):
            import pandas
        with contextlib.suppress(ImportError):
            import pyarrow
        sql = ("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)"
               " SELECT i AS i, i * 0.5 AS x, 'name ' || i AS name, iif(i % 2, i, NULL) AS some, NULL AS none FROM n")
        if pandas:
            df = self.db.sql(sql).df()
            self.assertEqual(df.shape, (300001, 5))
            self.assertEqual(df["i"].dtype, np.int64)
            self.assertEqual((df["name"][7], df["x"][3], df["some"][3]), ("name 7", 1.5, 3))
            self.assertTrue(df["none"].isna().all())
            rows = self.db.sql(sql)
            rows.fetchone()
            self.assertEqual(len(rows.df()), 300000)
            self.assertEqual(len(self.db.sql("SELECT 1 WHERE 0").df()), 0)
        if pyarrow:
            table = self.db.sql(sql).arrow()
            self.assertEqual((table.num_rows, table.column("name")[299999].as_py()), (300001, "name 299999"))
            self.assertEqual(table.column("i").to_pylist()[-1], 300000)

    def test_publish(self):
        """Without pyarrow the message says what to install; tests/interop/publish_tables.py has the tests with it."""
        self.checkpoint()
        out = os.path.join(self.at, "out")
        try:
            import pyarrow.parquet
        except ImportError:
            with self.assertRaises(ckptdb.Unsupported) as caught:
                self.db.publish(out)
            self.assertIn("ckptdb[parquet]", str(caught.exception))
            self.assertEqual(sorted(os.listdir(self.at)), ["catalog.db", "model.safetensors"])
            return
        self.assertEqual(self.db.publish(out)["tensor"], 5)
        self.assertEqual(pyarrow.parquet.read_table(os.path.join(out, "tensor"))["name"].to_pylist(), list(self.arrays))

    def test_columns_have_types(self):
        """Every column of the public views: what SQLite does not say is in views.py, or text on purpose."""
        untyped = {f"{view}.{c.name}" for view in ckptdb.views.names(self.db) for c in ckptdb.views.columns(self.db, view)
                   if not c.kind}
        self.assertEqual(sorted(untyped), UNTYPED)
        checkpoint = self.checkpoint()
        self.db.hash(checkpoint)
        self.db.stats(checkpoint)
        for view in ckptdb.views.names(self.db):
            listed = ckptdb.views.columns(self.db, view)
            with contextlib.suppress(ckptdb.Error): # that want a condition
                for row in self.db.sql(f"SELECT * FROM {view} LIMIT 100"):
                    for column, value in zip(listed, row):
                        kinds = {"INTEGER": int, "REAL": float, "TEXT": str}
                        self.assertTrue(value is None or isinstance(value, kinds.get(column.kind, object)), (view, column, value))

    def test_interrupted(self):
        """Ctrl-C ends a statement, which raises what the signal's handler raised."""
        def ring(*_):
            raise TimeoutError("now")
        before = signal.signal(signal.SIGALRM, ring)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            with self.assertRaises(TimeoutError):
                self.db.sql("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n")
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        self.assertEqual(self.db.sql("SELECT 1").fetchone(), (1,))

    def test_interrupted_waiting(self):
        """Ctrl-C ends a wait for another machine, and leaves nothing under a final name."""
        header = json.dumps({n: {"dtype": "F32", "shape": [4], "data_offsets": [at, at + 16]}
                             for n, at in (("a", 0), ("b", 16))}).encode()
        held = struct.pack("<Q", len(header)) + header + bytes(32)
        silent, over = threading.Event(), threading.Event()

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                if silent.is_set():
                    over.wait(20)
                first, last = self.headers["Range"].removeprefix("bytes=").split("-")
                part = held[int(first):int(last or len(held)) + 1]
                self.send_response(206)
                self.send_header("ETag", '"one"')
                self.send_header("Content-Range", f"bytes {first}-{int(first) + len(part) - 1}/{len(held)}")
                self.send_header("Content-Length", str(len(part)))
                self.end_headers()
                with contextlib.suppress(OSError):
                    self.wfile.write(part)

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = False # server_close() waits for them: no descriptor stays
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url, out = f"http://127.0.0.1:{server.server_port}/m.safetensors", os.path.join(self.at, "stopped")
        os.mkdir(out)
        # Who starts the tests in the background has them ignore Ctrl-C.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        with ckptdb.open(":memory:") as db:
            db.index(url)
            ck = db[url]
            tensor = ck["a"]
            silent.set()
            for work in (lambda: tensor[...], lambda: tensor[::2], tensor.hash, tensor.sha256, lambda: db.hash(ck),
                         lambda: db.stats(ck), db.verify, lambda: ck.export(os.path.join(out, "o.safetensors")),
                         lambda: ck.export(os.path.join(out, "o.zarr"), format="zarr"), lambda: ckptdb.open_file(url)):
                began = time.monotonic()
                timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
                timer.start()
                with self.assertRaises(KeyboardInterrupt):
                    work()
                    timer.join()
                self.assertLess(time.monotonic() - began, 10)
                self.assertEqual(os.listdir(out), [])
        over.set()
        server.shutdown()
        server.server_close()

    def test_numbers_out_of_range(self):
        self.db.index(self.file)
        ck = self.db[self.file]
        for step in 1 << 64, -1 << 64:
            name = "enc/layer_0/kernel"
            np.testing.assert_array_equal(ck[name][::step, 1:], self.arrays[name][::step, 1:])
        out = os.path.join(self.at, "never.safetensors")
        for number in -1, 1 << 32, 1 << 64:
            with self.assertRaisesRegex(ckptdb.Argument, "threads: .* is out of range"):
                ck.export(out, threads=number)
            with self.assertRaises(ckptdb.Argument):
                self.db.index(self.at, threads=number)
        for number in -1, 1 << 64:
            with self.assertRaises(ckptdb.Argument):
                ck.export(out, shard_size=number)
        for number in -1, 1 << 63, 1 << 70, -1 << 70:
            self.assertNotIn(number, self.db)
            with self.assertRaises(ckptdb.Missing):
                self.db[number]
        self.assertFalse(os.path.exists(out))

    def test_progress_that_raises(self):
        """ends the work, and is what the call raises."""
        def tell(*_):
            raise TimeoutError("now")
        watch = ckptdb.calls.Watch()
        watch.begin(tell)
        watch.call.told = 0
        ckptdb.calls.lib.native_progress(watch.call, b"x", 1, 2)
        self.assertTrue(ckptdb.calls.lib.native_stop(watch.call))
        self.assertIsInstance(watch.caught, TimeoutError)
        self.assertRaises(TimeoutError, self.db.hash, self.checkpoint(), progress=tell)
        ck = self.db["model.safetensors"]
        for work in (self.db.close, lambda: self.db.sql("SELECT 1")): # under the work's feet
            self.assertRaises(ckptdb.Argument, self.db.hash, again=True, progress=lambda *_: work())
            with self.assertRaises(ckptdb.Argument): # whose last word may come from a thread of the library
                ck.export(os.path.join(self.at, "out.npz"), progress=lambda *_: work(), force=True)
        self.assertEqual(len(self.db.hash(self.db["model.safetensors"], again=True, progress=lambda *_: None).fetchall()), 1)

    def test_checkpoints_of_another_catalog(self):
        ck = self.checkpoint()
        with ckptdb.open(":memory:") as other:
            other.index(self.file)
            self.assertRaises(ckptdb.Argument, other.diff, ck, ck)
        self.assertEqual(len(self.db.diff(ck, pickle.loads(pickle.dumps(ck))).fetchall()), len(ck))

    def test_pictures_escape(self):
        write(self.file, {"<script>alert(1)</script>": np.zeros(3, "f4")})
        ck = self.checkpoint()
        ck.catalog.stats(ck)
        tensor = next(iter(ck.values()))
        for picture in (ck._repr_html_(), tensor._repr_html_(), self.db.sql("SELECT name FROM tensor")._repr_html_(),
                        self.db._repr_html_()):
            self.assertNotIn("<script>", picture)
        self.assertIn("&lt;script&gt;", ck._repr_html_())

    def test_datasette(self):
        try:
            from datasette.app import Datasette
            from datasette.plugins import pm
        except ImportError:
            self.skipTest("there is no datasette")
        plugin = importlib.import_module("ckptdb.datasette")
        if not pm.is_registered(plugin): # of a build tree; an installed package is found by its entry point
            pm.register(plugin)
        ck = self.checkpoint()
        other = os.path.join(self.at, "other.db")
        sqlite3.connect(other).execute("CREATE TABLE t(x)")

        def ask(sql, of="catalog", **plugins):
            async def answer():
                client = Datasette([self.db.path, other], metadata={"plugins": {"ckptdb": plugins}}).client
                got = (await client.get(f"/{of}.json", params={"sql": sql})).json()
                return got["rows"] if got["ok"] else got["error"]
            return asyncio.run(answer())
        self.assertEqual(ask("SELECT count(*) FROM tensor WHERE name REGEXP 'layer_[0-9]+/k'"), [[2]])
        self.assertEqual(ask("SELECT count(*) FROM t", "other"), [[0]])
        digest = f"SELECT tensor_sha256({ck['step'].id})"
        self.assertIn("no such function", ask(digest))
        self.assertEqual(ask(digest, read=True), [[ck["step"].sha256()]])

        async def pages():
            client = Datasette([self.db.path, other]).client
            return [(await client.get(path)).text for path in ("/catalog", "/catalog/tensors_named?regex=bias", "/catalog/tensor")]
        first, named, tensors = asyncio.run(pages())
        self.assertIn("tensors_named", first)
        self.assertNotIn("_layout_tensors", first)
        self.assertIn("enc/layer_0/bias", named)
        self.assertIn("One tensor of one checkpoint", tensors)


class Writing(Case):
    def test_exports(self):
        ck = self.checkpoint()
        out = os.path.join(self.at, "out.npz")
        done = ck.export(out, names="kernel$", dtype="float16")
        self.assertEqual((done.format, done.tensors, done.files), ("npz", 2, 1))
        with np.load(out) as held:
            np.testing.assert_array_equal(held["enc/layer_0/kernel"],
                                          self.arrays["enc/layer_0/kernel"].astype("f2"))
        with self.assertRaises(ckptdb.Error):
            ck.export(out)
        ck.export(out, force=True, rename={"^enc/": "encoder/"})
        with np.load(out) as held:
            self.assertIn("encoder/layer_0/bias", held)
        with self.assertRaises(ckptdb.Error) as caught:
            ck.export(os.path.join(self.at, "x.npz"), rename={"layer_[01]": "layer"})
        self.assertIn("enc/layer/kernel", str(caught.exception))
        with self.assertRaises(ckptdb.Argument):
            ck.export(os.path.join(self.at, "x.npz"), no_such_option=1)
        self.assertFalse(os.path.exists(os.path.join(self.at, "x.npz")))

    def test_maps(self):
        rules = {"dialect": "t5x-translator", "options": {}, "rules": [["^enc/(.*)", r"target/\1"], ["^step$", "n"],
                                                                        ["^none$", None]]}
        self.db.maps["mine"] = rules
        self.assertEqual(self.db.maps["mine"]["rules"], rules["rules"])
        self.assertIn("t5_to_t5x", list(self.db.maps))
        mapped = self.checkpoint().mapped("mine")
        self.assertEqual(set(mapped), {"target/layer_0/kernel", "target/layer_0/bias", "target/layer_1/kernel", "n"})
        np.testing.assert_array_equal(mapped["target/layer_0/kernel"][2:4], self.arrays["enc/layer_0/kernel"][2:4])
        self.assertEqual(mapped["target/layer_0/kernel"].shape, (6, 4))
        out = os.path.join(self.at, "mapped.safetensors")
        mapped.export(out)
        self.assertEqual(dict(read(out)).keys(), set(mapped))
        with self.assertRaises(ckptdb.Missing):
            self.db.maps["absent"]
        with self.assertRaises(ckptdb.Error):
            self.db.maps["bad"] = {"dialect": "t5x-translator", "rules": [["(", "x"]]}
        del self.db.maps["mine"]
        self.assertNotIn("mine", self.db.maps)

    def test_maps_that_collide(self):
        self.db.maps["one"] = {"dialect": "t5x-translator", "rules": [["^.*$", "same"]]}
        with self.assertRaises(ckptdb.Error) as caught:
            self.checkpoint().mapped("one")
        self.assertIn("same", str(caught.exception))

    def test_contents(self):
        ck = self.checkpoint()
        other = os.path.join(self.at, "other.safetensors")
        changed = dict(self.arrays)
        changed["enc/layer_0/bias"] = self.arrays["enc/layer_0/bias"] + 1
        write(other, changed)
        self.db.index(other)
        hashes = dict((row[1], row[2]) for row in self.db.hash())
        self.assertEqual(len(set(hashes.values())), 2)
        rows = [row for row in self.db.diff(ck, "other.safetensors", values=True) if row[0] != "same"]
        self.assertEqual([row[:2] for row in rows], [("value", "enc/layer_0/bias")])
        self.assertEqual(json.loads(rows[0][-1])["max_abs"], 1.0)
        self.assertEqual(self.db.verify().fetchall(), [])
        self.assertEqual({row[1] for row in self.db.dedup()} and True, True)
        inferred = self.db.infer(ck, "other.safetensors")
        self.assertEqual({p[0] for p in inferred.pairs} - {"content", "name", "guess"}, set())
        self.assertEqual(len(self.db.stats(ck, tensors="bias$").fetchall()), 1)


class Named(collections.namedtuple("Named", "attribute value", defaults=(None,))):
    """A filter of pyspark.sql.datasource, which is told by the name of its class; here rows are what Spark would keep."""


FILTERS = {name: type(name, (Named,), {}) for name in
           ("EqualTo", "EqualNullSafe", "GreaterThan", "GreaterThanOrEqual", "LessThan", "LessThanOrEqual", "In", "IsNull",
            "IsNotNull", "StringStartsWith", "StringEndsWith", "StringContains", "Unknown")}
Not = collections.namedtuple("Not", "child")
KEEPS = {"EqualTo": lambda x, v: None if x is None else x == v, "EqualNullSafe": lambda x, v: x == v,
         "GreaterThan": lambda x, v: None if x is None else x > v,
         "GreaterThanOrEqual": lambda x, v: None if x is None else x >= v,
         "LessThan": lambda x, v: None if x is None else x < v, "LessThanOrEqual": lambda x, v: None if x is None else x <= v,
         "In": lambda x, v: None if x is None else x in v, "IsNull": lambda x, v: x is None,
         "IsNotNull": lambda x, v: x is not None, "StringStartsWith": lambda x, v: None if x is None else x.startswith(v),
         "StringEndsWith": lambda x, v: None if x is None else x.endswith(v),
         "StringContains": lambda x, v: None if x is None else v in x}


class Pushing(Case):
    """Filters as SQL (ckptdb/pushdown.py); Spark itself is in tests/interop/spark_tables.py."""

    def kept(self, filter, column, values):
        """The values that SQL keeps; None: the filter is left to Spark."""
        from ckptdb.pushdown import condition
        made = condition(filter, {"x": column})
        if made is None:
            return None
        self.db.sql("DROP TABLE IF EXISTS temp.held")
        self.db.sql(f"CREATE TEMP TABLE held(x {column})")
        for value in values:
            self.db.sql("INSERT INTO held VALUES (?)", [value])
        return [row[0] for row in self.db.sql(f"SELECT x FROM held WHERE {made[0]} ORDER BY rowid", made[1])]

    def test_filters_keep_what_spark_keeps(self):
        texts = [None, "", "a", "ab", "abc", "b", "a%", "a_", "a*", "[a", "é", "éa", "aé", "a\0b", "a\U0010ffff", "\ud7ff", "Z",
                 "caf\udce9", "caf\udce9s"]
        numbers = [None, 0, 1, -1, 2**53 + 1, 2**63 - 1, -2**63]
        reals = [None, 0.0, -0.0, 1.5, -2.25, 1e300, float("inf")]
        seen = collections.Counter()
        for kind, values in (("TEXT", texts), ("INTEGER", numbers), ("REAL", reals)):
            as_spark = [v.encode("utf-8", "surrogateescape").decode("utf-8", "replace") if isinstance(v, str) else v
                        for v in values]
            for name, keeps in KEEPS.items():
                if name.startswith("String") and kind != "TEXT":
                    continue
                asked = [None] if name.startswith("Is") else [values[1:4], as_spark[-3:]] if name == "In" else as_spark[1:]
                for value in asked:
                    for negated in (False, True):
                        filter = FILTERS[name](("X",), value)
                        found = self.kept(Not(filter) if negated else filter, kind, values)
                        want = [(v, keeps(s, value)) for v, s in zip(values, as_spark)]
                        if found is not None:
                            seen[name] += 1
                            self.assertEqual(found, [v for v, k in want if k is not None and bool(k) != negated], (filter, negated))
        self.assertEqual(set(seen), set(KEEPS))

    def test_what_is_left_to_spark(self):
        made = FILTERS
        for kind, filter in (("INTEGER", made["EqualTo"](("x",), 1.0)), ("INTEGER", made["EqualTo"](("x",), True)),
                             ("INTEGER", made["EqualTo"](("x",), 2**63)), ("REAL", made["EqualTo"](("x",), float("nan"))),
                             ("TEXT", made["EqualTo"](("x",), "caf\ufffd")), ("TEXT", made["LessThan"](("x",), "é")),
                             ("TEXT", made["EqualTo"](("x",), None)), ("TEXT", made["In"](("x",), ["a", None])),
                             ("TEXT", made["In"](("x",), [str(i) for i in range(2000)])), ("", made["EqualTo"](("x",), "1")),
                             ("TEXT", made["EqualTo"](("x", "y"), "1")), ("TEXT", made["EqualTo"](("z",), "1")),
                             ("TEXT", made["Unknown"](("x",), "1"))):
            self.assertIsNone(self.kept(filter, kind, []), filter)
            self.assertIsNone(self.kept(Not(filter), kind, []), filter)
        self.assertEqual(self.kept(made["IsNull"](("x",)), "", [None, 1]), [None])


class Living(Case):
    def test_pickles(self):
        ck = self.checkpoint()
        again = pickle.loads(pickle.dumps(ck))
        self.assertEqual((again.id, list(again)), (ck.id, list(ck)))
        tensor = pickle.loads(pickle.dumps(ck["enc/layer_0/bias"]))
        np.testing.assert_array_equal(tensor[...], self.arrays["enc/layer_0/bias"])
        alone = pickle.loads(pickle.dumps(ckptdb.open_file(self.file)))
        self.assertEqual(len(alone), 5)
        with self.assertRaises(ckptdb.Argument):
            pickle.dumps(ckptdb.open(":memory:"))
        error = pickle.loads(pickle.dumps(ckptdb.Corrupt("what", "file", 3)))
        self.assertEqual((str(error), error.source, error.offset), ("what", "file", 3))

    def test_threads(self):
        """Two threads with a catalog each, and several that share one tensor."""
        ck = self.checkpoint()
        shared, wrong = ck["enc/layer_0/kernel"], []

        def work(own):
            db = ckptdb.open(self.db.path) if own else self.db
            for _ in range(50):
                held = db["model.safetensors"]
                if any((held[n][...] != a).any() for n, a in self.arrays.items()) or shared[0, 0] != \
                        self.arrays["enc/layer_0/kernel"][0, 0]:
                    wrong.append(1)
        threads = [threading.Thread(target=work, args=(i % 2 == 0,)) for i in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])

    def test_fork_is_told(self):
        self.checkpoint()
        out, into = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                self.db.sql("SELECT 1")
            except ckptdb.Argument:
                os.write(into, b"told")
            os._exit(0)
        os.waitpid(child, 0)
        self.assertEqual(os.read(out, 4), b"told")
        os.close(out)
        os.close(into)

    def test_nothing_stays_open(self):
        ck = self.checkpoint()
        path = self.db.path

        def once():
            with ckptdb.open(path, "r") as db:
                held = db[ck.id]
                held["enc/layer_0/kernel"][...]
                held["enc/layer_0/kernel"].mmap()
                rows = db.sql("SELECT * FROM tensor")
                rows.fetchone()
            ckptdb.open_file(self.file)["step"][...]
        opens = int(os.environ.get("CKPTDB_OPENS", "200"))
        for i in range(opens):
            if i == opens // 2: # malloc has by then the arenas that it keeps: some MB a thread of the library
                gc.collect()
                before, rss = len(os.listdir("/proc/self/fd")), resident()
            once()
        gc.collect()
        self.assertEqual(len(os.listdir("/proc/self/fd")), before)
        self.assertLess(resident() - rss, 32 << 20)
        gc.disable() # files do not wait for the collector
        try:
            once()
            self.assertEqual(len(os.listdir("/proc/self/fd")), before)
        finally:
            gc.enable()

    def test_rows_outlive_nothing(self):
        self.checkpoint()
        rows = self.db.sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT i FROM n")
        rows.fetchone()
        self.db.close()
        with self.assertRaises(ckptdb.Argument):
            rows.fetchall()


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


def load_tests(loader, tests, pattern):
    for name in ("errors", "rows", "catalog", "maps", "views", "publish", "pushdown"):
        tests.addTests(doctest.DocTestSuite(importlib.import_module(f"ckptdb.{name}"),
                                            optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL))
    tests.addTests(doctest.DocTestSuite(ckptdb, optionflags=doctest.ELLIPSIS))
    return tests


if __name__ == "__main__":
    out = io.StringIO()
    result = unittest.main(exit=False, testRunner=unittest.TextTestRunner(stream=out, verbosity=1)).result
    bad = len(result.failures) + len(result.errors)
    if bad:
        print(out.getvalue())
    print(f"{result.testsRun - bad} passed, {bad} failed")
    sys.exit(bool(bad))
