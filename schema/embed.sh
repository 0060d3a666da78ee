#!/bin/sh
# embed.sh FILE... - print a C table of { path, text } of SQL files (catalog/db/schema.h).
#
# Rows are numbered by what owns them and their place there (catalog/base/limits.h). The files say
# so by name, and this puts in the numbers, as plain views have no constants:
#
#   ID_FIRST(layout)  (layout << 24)               the first id that an owner's rows can have
#   ID_LAST(layout)   ((layout << 24) + 16777215)  the last
#   ID_OWNER(id)      (id >> 24)
#   ID_ORD(id)        (id & 16777215)              the place, from 0
#
# What is in the brackets is a name or arithmetic, with brackets in it one deep, on one line.
# catalog/db/ids.h has the same for SQL in C.
set -eu
bits=$(sed -n 's/^#define TENSOR_ORD_BITS \([0-9]*\)$/\1/p' "$(dirname "$0")/../catalog/base/limits.h")
mask=$(((1 << bits) - 1))
of='(\([^()]*\(([^()]*)[^()]*\)*\))'

expand() { # FILE
    sed "
s/ID_OWNER$of/(\1 >> $bits)/g
s/ID_ORD$of/(\1 \& $mask)/g
s/ID_FIRST$of/(\1 << $bits)/g
s/ID_LAST$of/((\1 << $bits) + $mask)/g
" "$1"
}

echo '#include "catalog/db/schema.h"'
n=0
for f in "$@"; do
    text=$(expand "$f" && echo .)
    case $text in
    *ID_OWNER\(* | *ID_ORD\(* | *ID_FIRST\(* | *ID_LAST\(*)
        echo "$f: an ID_...(...) cannot be expanded" >&2
        exit 1 ;;
    esac
    echo "static const char file_${n}[] = {"
    printf %s "${text%.}" | od -An -v -tu1 | sed 's/[0-9][0-9]*/&,/g'
    echo '0};'
    n=$((n + 1))
done
echo 'const struct schema_file schema_files[] = {'
n=0
for f in "$@"; do
    echo "{\"schema/${f#*schema/}\", file_${n}},"
    n=$((n + 1))
done
echo '{0, 0}};'
