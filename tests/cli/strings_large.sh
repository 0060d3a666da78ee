# Texts of more than 64 MiB: read, hashed and written in memory of their own size.
python3 -c '
head = b"{\"descr\": \"|S70000000\", \"fortran_order\": False, \"shape\": (1,), }"
head += b" " * (117 - len(head)) + b"\n"
with open("s.npy", "wb") as f:
    f.write(b"\x93NUMPY\1\0" + len(head).to_bytes(2, "little") + head + b"a" * 70000000)'
export STATUS=always
try import s.npy
try export s.npy s.zarr
try import s.zarr
try hash s.npy
try hash s.zarr
