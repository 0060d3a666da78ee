#!/bin/sh
# page.sh - print page.html as three C strings: what is before, between and after its two parts of data (page.h).
#
# A line @STYLE@ or @SCRIPTS@ is replaced by the files; @STYLE_HASH@ and @SCRIPTS_HASH@ by their digests: by
# these alone the page lets a style or a script run.
set -eu
cd "$(dirname "$0")"

style=$(cat page.css)
scripts=$(cat d3/d3-array.min.js d3/d3-color.min.js d3/d3-interpolate.min.js d3/d3-format.min.js d3/d3-time.min.js \
    d3/d3-time-format.min.js d3/d3-scale.min.js d3/d3-hierarchy.min.js &&
    echo "'use strict';" && cat data.js text.js grid.js charts.js pages.js main.js)

digest() { # of the element's contents: the text and the line ends around it
    printf '\n%s\n' "$1" | sha256sum | cut -c1-64 | sed 's/../\\x&/g' | xargs -0 env printf '%b' | head -c 32 | base64
}

part() { # FIRST LAST: the lines of page.html between two that hold these
    sed -n "/$1/,/$2/p" page.html | while IFS= read -r line; do
        case $line in
        @STYLE@) printf '%s\n' "$style" ;;
        @SCRIPTS@) printf '%s\n' "$scripts" ;;
        @DATA@ | @LATER@) ;;
        *) printf '%s\n' "$line" ;;
        esac
    done | sed "s|@STYLE_HASH@|$(digest "$style")|; s|@SCRIPTS_HASH@|$(digest "$scripts")|"
}

array() { # NAME
    echo "const char $1[] = {"
    od -An -v -tu1 | sed 's/[0-9][0-9]*/&,/g'
    echo '0};'
}

echo '#include "shell/view/page.h"'
part '<!doctype' @DATA@ | array page_head
part @DATA@ @LATER@ | array page_middle
part @LATER@ '<\/html>' | array page_tail
