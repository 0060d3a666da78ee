#!/bin/sh
# deps.sh PKG_CONFIG "TOOLS" "MODULES" "HEADERS" "DEBIAN PACKAGES" - install what building and testing lack.
# Says nothing and needs neither root nor network where nothing is missing.
set -eu
pkg_config=$1 tools=$2 modules=$3 headers=$4 packages=$5

missing=
for tool in $tools "$pkg_config"; do
    command -v "$tool" >/dev/null 2>&1 || missing="$missing $tool"
done
for module in $modules; do
    command -v "$pkg_config" >/dev/null 2>&1 && "$pkg_config" --exists "$module" || missing="$missing $module"
done
for header in $headers; do
    echo "#include <$header>" | gcc -E - >/dev/null 2>&1 || missing="$missing $header"
done
# The Python package is tested with the system's own Python.
/usr/bin/python3 -c 'import cffi, numpy' 2>/dev/null && command -v /usr/bin/python3-config >/dev/null 2>&1 ||
    missing="$missing python3-cffi"
# The shell loads libedit when it runs; without it, it has plain lines.
[ -n "$(find /usr/lib /lib /usr/local/lib -name libedit.so.2 2>/dev/null | head -n 1)" ] ||
    missing="$missing libedit"
[ -n "$missing" ] || exit 0

echo "missing:$missing" >&2
if ! command -v apt-get >/dev/null 2>&1; then
    echo "this is no Debian: install what corresponds to these packages yourself:" >&2
    echo "  $packages" >&2
    exit 1
fi
if [ "$(id -u)" -eq 0 ]; then
    as_root=
elif command -v sudo >/dev/null 2>&1; then
    as_root=sudo
else
    echo "neither root nor sudo here; as root run:  apt-get install -y $packages" >&2
    exit 1
fi
echo "+ $as_root apt-get install -y $packages" >&2
$as_root apt-get update -qq
# shellcheck disable=SC2086
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null
