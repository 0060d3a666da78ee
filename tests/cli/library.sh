# libckptdb as another program has it: installed, found by pkg-config, and the example that its header
# begins with built against it and run.
build=$(basename "$(dirname "$(readlink -f "$CKPTDB_BIN")")")
root=$(cd "$TESTS/.." && pwd)
env -u MAKEFLAGS make -s -C "$root" install-lib VARIANT="$build" PREFIX="$PWD/usr" >/dev/null || exit 1
(cd usr && find . -type f -o -type l | LC_ALL=C sort)
# It is outside of the loader's path, which is said, unless it is a package's.
env -u MAKEFLAGS -u LD_LIBRARY_PATH -u PKG_CONFIG_PATH make -s -C "$root" install-lib VARIANT="$build" PREFIX="$PWD/usr" |
    sed "s#$PWD#WORK#g"
LD_LIBRARY_PATH=$PWD/usr/lib PKG_CONFIG_PATH=$PWD/usr/lib/pkgconfig sh "$root/catalog/library/loader.sh" "$PWD/usr/lib" libckptdb.so.0
env -u MAKEFLAGS make -s -C "$root" install-lib VARIANT="$build" DESTDIR="$PWD/root" PREFIX=/opt/x
readlink usr/lib/libckptdb.so
readelf -d usr/lib/libckptdb.so | grep -o 'soname: .*'

# The example, out of the comment.
awk '{print} /^ \*   }$/ && ++ends == 2 {exit}' <(sed -n '/^ \*   #include <ckptdb.h>/,$p' usr/include/ckptdb.h) |
    sed -E 's/^ \* {0,3}//' >example.c
echo "lines of the example: $(wc -l <example.c)"
flags=()
case $build in
asan) flags=("-fsanitize=address,undefined") ;;
tsan) flags=(-fsanitize=thread) ;;
esac
export PKG_CONFIG_PATH=$PWD/usr/lib/pkgconfig LD_LIBRARY_PATH=$PWD/usr/lib
pkg-config --modversion libckptdb
# shellcheck disable=SC2046
${CC:-cc} -std=c11 -Wall -Wextra -Werror "${flags[@]}" -o example example.c $(pkg-config --cflags --libs libckptdb) || exit 1
folder=$TESTS/fixtures/real/safetensors/llama_tiny
./example "$folder" model.safetensors.index.json lm_head.weight | tail -n 2
"$CKPTDB_BIN" import "$folder" 2>/dev/null
"$CKPTDB_BIN" get model.safetensors.index.json lm_head.weight --slice '1, :4' --dtype float32 --format json
./example "$folder" nothing.here lm_head.weight; echo "status $?"
./example "$folder" 1 nothing.here >/dev/null; echo "status $?"
./example "$folder"; echo "status $?"
./example "$folder/none" 1 lm_head.weight; echo "status $?"

# As C++ and as an old C sees the header.
echo '#include <ckptdb.h>' >header.c
${CC:-cc} -std=c99 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -Iusr/include header.c && echo 'C99: fine'
if command -v c++ >/dev/null; then
    c++ -x c++ -std=c++11 -Wall -Wextra -Werror -fsyntax-only -Iusr/include header.c || echo 'C++: no'
fi
