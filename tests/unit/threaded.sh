#!/bin/sh
# threaded.sh - the unit tests that include what makes threads: those that ThreadSanitizer's build has.
cd "$(dirname "$0")" || exit 2
doors='catalog/export/|catalog/base/(work|threads)|catalog/db/ahead|importer/(import|job/|walk|array/array_tree)'
grep -lE "include \"($doors|tests/unit/import_place|catalog/ckptdb\.h)|pthread" test_*.c | sed 's/\.c$//'
