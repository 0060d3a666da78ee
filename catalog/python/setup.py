"""Builds the package: libckptdb, the program and the extension by make, then the binding to the library.

A source distribution carries what make needs in src/; in a checkout that is two folders up.
"""
import os
import re
import shutil
import subprocess
import sys

from setuptools import setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import binding

BUILT = os.path.join(binding.ROOT, "build", "release")
LIB = os.path.join(binding.HERE, "build", "carried")
# What make reads; from tests, the script that installs Debian's packages.
SOURCES = ("catalog", "importer", "shell", "schema", "Makefile", "README.md", "tests/deps.sh", "tests/building.sh")
# The libraries of codecs, which libckptdb loads on first use (catalog/data/codec/shared_library.c).
CODECS = ("libzstd.so.1", "libdeflate.so.0", "liblz4.so.1", "libbz2.so.1.0", "liblzma.so.5", "libblosc.so.1",
          "libaec.so.0", "libsz.so.2", "libsnappy.so.1")


def version():
    with open(os.path.join(binding.ROOT, "catalog", "base", "version.h"), encoding="utf-8") as file:
        return re.search(r'CKPTDB_VERSION "(.*)"', file.read())[1]


def found(soname):
    """The path of a shared library of this system; None if it is not installed."""
    listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    paths = re.findall(rf"^\s*{re.escape(soname)} \(.*x86-64.*\) => (\S+)", listed, re.M) or \
        re.findall(rf"^\s*{re.escape(soname)} .*=> (\S+)", listed, re.M)
    return paths[0] if paths else None


def collect():
    """Collect the package's libraries in its folder lib; they find each other there."""
    subprocess.run(["make", "-C", binding.ROOT, "QUIET=1", f"-j{os.cpu_count()}", "all"], check=True)
    shutil.rmtree(LIB, ignore_errors=True)
    os.makedirs(LIB)
    shutil.copy(os.path.join(BUILT, "libckptdb.so"), os.path.join(LIB, "libckptdb.so.0"))
    shutil.copy(os.path.join(BUILT, "ckptdb.so"), LIB)
    shutil.copy(os.path.join(BUILT, "ckptdb"), LIB)
    for soname in CODECS:
        path = found(soname)
        if path:
            shutil.copy(path, os.path.join(LIB, soname))
    patchelf = shutil.which("patchelf")
    for name in os.listdir(LIB):
        subprocess.run(["strip", "--strip-unneeded", os.path.join(LIB, name)], check=True)
        if patchelf:
            subprocess.run([patchelf, "--set-rpath", "$ORIGIN", os.path.join(LIB, name)], check=True)


class Build(build_ext):
    def run(self):
        collect()
        super().run()
        shutil.copytree(LIB, os.path.join(self.build_lib, "ckptdb", "lib"), dirs_exist_ok=True)


class Sources(sdist):
    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        for name in SOURCES:
            path, to = os.path.join(binding.ROOT, name), os.path.join(base_dir, "src", name)
            if os.path.isdir(path):
                shutil.copytree(path, to, ignore=shutil.ignore_patterns("python", "__pycache__"))
            else:
                os.makedirs(os.path.dirname(to), exist_ok=True)
                shutil.copy(path, to)
        for name in ("binding.py", "native.c", "native.h"):
            shutil.copy(os.path.join(binding.HERE, name), base_dir)


setup(version=version(),
      ext_modules=[binding.make(BUILT).distutils_extension(os.path.join("build", "binding"))],
      cmdclass={"build_ext": Build, "sdist": Sources},
      options={"bdist_wheel": {"py_limited_api": "cp39"}})
