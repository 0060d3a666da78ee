"""The binding to libckptdb: cffi in its API mode, from the library's own public header.

setup.py builds it; `python binding.py OUT.c` writes its C, which make compiles for the tests.
"""
import os
import re
import sys

import cffi

HERE = os.path.dirname(os.path.abspath(__file__))
# The sources of the library: the checkout, or the copy in a source distribution beside this file.
ROOT = next((p for p in (os.path.join(HERE, "src"), os.path.dirname(os.path.dirname(HERE)))
             if os.path.exists(os.path.join(p, "catalog", "ckptdb.h"))), None)

SQLITE = """
typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;
int sqlite3_finalize(sqlite3_stmt *);
int sqlite3_column_count(sqlite3_stmt *);
const char *sqlite3_column_name(sqlite3_stmt *, int);
int sqlite3_bind_parameter_count(sqlite3_stmt *);
const char *sqlite3_bind_parameter_name(sqlite3_stmt *, int);
int sqlite3_bind_null(sqlite3_stmt *, int);
int sqlite3_bind_int64(sqlite3_stmt *, int, int64_t);
int sqlite3_bind_double(sqlite3_stmt *, int, double);
int sqlite3_bind_text64(sqlite3_stmt *, int, const char *, uint64_t, void (*)(void *), unsigned char);
int sqlite3_bind_blob64(sqlite3_stmt *, int, const void *, uint64_t, void (*)(void *));
const char *sqlite3_errmsg(sqlite3 *);
static void (*const native_transient)(void *);
"""

CALLBACKS = """
extern "Python" {
    bool python_signals(void);
    bool python_progress(void *, const char *, uint64_t, uint64_t);
    void python_say(void *, const char *);
    void python_issue(void *, const struct ckptdb_issue *);
    bool python_mapped(void *, const struct ckptdb_mapped *);
    bool python_pair(void *, const struct ckptdb_pair *);
    bool python_string(void *, uint64_t, const void *, size_t);
    bool python_format(void *, const struct ckptdb_format *);
}
"""


def declarations(path):
    """The part of a header that cffi can read: no comments, no preprocessor, no linkage."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    text = re.sub(r"#ifdef __cplusplus\n.*?#endif\n", "", text, flags=re.S)
    text = re.sub(r"^#(.*\\\n)*.*\n", "", text, flags=re.M)
    return text


def make(libraries):
    """The FFI of a module ckptdb._native that is linked with the library in a folder."""
    ffi = cffi.FFI()
    header = os.path.join(ROOT, "catalog", "ckptdb.h")
    ffi.cdef(SQLITE + declarations(header) + declarations(os.path.join(HERE, "native.h")) + CALLBACKS +
             "#define CKPTDB_NO_OFFSET ...\n")
    ffi.set_source(
        "ckptdb._native",
        '#include <sqlite3.h>\n#include "catalog/ckptdb.h"\n#include "native.c"\n'
        "static void (*const native_transient)(void *) = SQLITE_TRANSIENT;\n",
        include_dirs=[ROOT, HERE], library_dirs=[libraries], libraries=["ckptdb", "sqlite3"],
        extra_compile_args=["-std=gnu17", "-O2"], extra_link_args=["-Wl,-rpath,$ORIGIN/lib"],
        py_limited_api=True)
    return ffi


if __name__ == "__main__":
    make(".").emit_c_code(sys.argv[1])
