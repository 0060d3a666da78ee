"""The program and the extension that the package carries."""
import os
import sys

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib")


def extension() -> str:
    """The path of the extension, for load_extension() of any SQLite."""
    return os.path.join(HERE, "ckptdb.so")


def main() -> None:
    """The console script: it becomes the program."""
    program = os.path.join(HERE, "ckptdb")
    os.execv(program, ["ckptdb", *sys.argv[1:]])
