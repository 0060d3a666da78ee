#!/usr/bin/env bash
# demo.sh - the tour of README.md: prints what it says, each block, and what the block does. Ends with
# status 1 if one fails.
set -u
cd "$(dirname "$0")/.." || exit 2
script=$(mktemp) || exit 2
tours=$(mktemp -d) || exit 2
trap 'rm -rf "$script" "$tours"' EXIT
python3 tests/readme.py --demo README.md >"$script" || exit 2
TMPDIR=$tours PAGER='' bash "$script" || { echo "demo: that failed" >&2; exit 1; }
cat <<'END'

Now your own files:

  $ build/ckptdb import ~/models /data/runs      # again at any time: what did not change is not read
  $ build/ckptdb                                 # the shell: SQL, .help, Tab completes
END
