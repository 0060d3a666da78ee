"""NumPy's dtypes for the catalog's."""
from __future__ import annotations

import functools
import re
from importlib.util import find_spec
from typing import Any, Optional

import numpy as np

from . import errors
from ._native import ffi, lib

_NUMPY = {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
          "float64", "complex64", "complex128"}
# ml_dtypes has one byte per element; stored packed, they are read as a dtype that holds all their values.
_THROUGH = {"int4": "int8", "int2": "int8", "uint4": "uint8", "uint2": "uint8", "int1": "int8", "uint1": "uint8"}
_BLOCK = re.compile(r"(i?q\d|tq\d|mxfp|nvfp)")


def is_block(name: str) -> bool:
    """Whether it is one of GGML's block types."""
    return _BLOCK.match(name) is not None


@functools.lru_cache(maxsize=None)
def numpy_dtype(name: str) -> Optional["np.dtype[Any]"]:
    """The dtype of NumPy, or of ml_dtypes where that is installed; None where neither has one."""
    if name in _NUMPY or re.fullmatch(r"(datetime|timedelta)64\[.*\]", name):
        return np.dtype(name)
    if name == "string":
        return np.dtype(object)
    void = re.fullmatch(r"void(\d+)", name)
    if void and int(void[1]) % 8 == 0:
        return np.dtype((np.void, int(void[1]) // 8))
    if name.endswith("_x2"):
        return None
    try:
        import ml_dtypes
    except ImportError:
        return None
    made = getattr(ml_dtypes, name, None)
    return np.dtype(made) if isinstance(made, type) else None


def read_as(name: str) -> Optional[str]:
    """The dtype to read `name` as, for NumPy's astype() to convert from; None: read it as it is."""
    if name in _THROUGH:
        return _THROUGH[name]
    return "float32" if re.match(r"float[46]_", name) else None


def name_of(dtype: Any) -> str:
    """The catalog's name for a caller's dtype."""
    if isinstance(dtype, str) or type(dtype).__module__ == "torch":
        near = ffi.new("char **")
        if lib.ckptdb_dtype(str(dtype).encode(), near):
            return errors.text(near[0]) or str(dtype)
        raise errors.Argument(f"{dtype} is no dtype" + (f"; near it: {errors.text(near[0])}" if near[0] else ""))
    try:
        return str(np.dtype(dtype).name)
    except TypeError:
        raise errors.Argument(f"{dtype!r} is no dtype") from None


def advice(name: str) -> str:
    """Advice on a dtype that NumPy lacks."""
    wanting = name.startswith(("bfloat", "float4", "float6", "float8", "int", "uint")) and not find_spec("ml_dtypes")
    return ": install ml_dtypes, or ask for numpy(dtype='float32')" if wanting else ": ask for numpy(dtype=…)"
