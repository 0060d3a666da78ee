#!/bin/sh
# embed.sh FILE... - print a C table of { path, text } of SQL files (catalog/db/schema.h).
set -eu
echo '#include "catalog/db/schema.h"'
n=0
for f in "$@"; do
    echo "static const char file_${n}[] = {"
    od -An -v -tu1 "$f" | sed 's/[0-9][0-9]*/&,/g'
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
