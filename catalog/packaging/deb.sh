#!/usr/bin/env bash
# deb.sh VERSION ROOT - build/deb/*.deb of what `make install` put into the folder ROOT (PREFIX=/usr): ckptdb (the
# program and the extension), libckptdb0 and libckptdb-dev. The same installation gives the same bytes.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=$1 root=$(realpath "$2")
out=$PWD/build/deb
arch=$(dpkg --print-architecture)
lib=usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
umask 022

# dpkg-shlibdeps wants the files of a source package.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/debian"
cat >"$work/debian/control" <<END
Source: ckptdb

Package: ckptdb
Architecture: any
END
depends_of() { # FILE...
    (cd "$work" && dpkg-shlibdeps -O "$@" 2>/dev/null | sed 's/^shlibs:Depends=//')
}

# take PACKAGE PATH...: move what was installed there into the package's folder.
take() {
    local to=$work/$1 path
    shift
    for path in "$@"; do
        mkdir -p "$to/$(dirname "$path")"
        mv "$root/$path" "$to/$path"
    done
}
# A shared library that no program is linked with does not lie among those that are.
mkdir "$root/$lib/ckptdb"
mv "$root/$lib/ckptdb.so" "$root/$lib/ckptdb/ckptdb.so"
(cd "$root" && mv usr/share/zsh/site-functions usr/share/zsh/vendor-completions)
take ckptdb usr/bin/ckptdb "$lib/ckptdb" usr/share/man/man1 usr/share/bash-completion usr/share/zsh usr/share/fish
take libckptdb-dev usr/include "$lib/libckptdb.so" "$lib/pkgconfig" usr/share/man/man3
take libckptdb0 "$lib/libckptdb.so.0" "$lib/libckptdb.so.$version"
left=$(find "$root" -type f -o -type l)
[ -z "$left" ] || { echo "deb.sh: belongs to no package: $left" >&2; exit 1; }

# What is no code goes. (Without its section of the build id, a file would lose its RELRO segment.)
for file in "$work/ckptdb/usr/bin/ckptdb" "$work/ckptdb/$lib/ckptdb/ckptdb.so" "$work/libckptdb0/$lib/libckptdb.so.$version"; do
    strip --strip-unneeded --remove-section=.comment "$file"
    readelf -lW "$file" | grep -q GNU_RELRO || { echo "deb.sh: $file has no RELRO segment" >&2; exit 1; }
done
chmod 644 "$work/ckptdb/$lib/ckptdb/ckptdb.so" "$work/libckptdb0/$lib/libckptdb.so.$version"
echo "libckptdb 0 libckptdb0 (>= $version)" >"$work/shlibs"

# pack PACKAGE SECTION DEPENDS SUMMARY [LINE...]: the rest of its fields, and its long description.
pack() {
    local name=$1 section=$2 depends=$3 summary=$4 at=$work/$1 fields=() long=() line
    shift 4
    for line in "$@"; do
        case $line in
        *': '*) fields+=("$line") ;;
        *) long+=(" $line") ;;
        esac
    done
    mkdir -p "$at/DEBIAN" "$at/usr/share/doc/$name"
    cp catalog/packaging/copyright "$at/usr/share/doc/$name/copyright"
    printf 'ckptdb (%s) unstable; urgency=medium\n\n  * Built from its repository.\n\n -- %s  %s\n' "$version" \
        "$maintainer" "$(date -u -R -d "@$SOURCE_DATE_EPOCH")" | gzip -9n >"$at/usr/share/doc/$name/changelog.gz"
    find "$at/usr/share/man" -type f -exec gzip -9n {} + 2>/dev/null || true
    {
        printf 'Package: %s\nVersion: %s\nArchitecture: %s\nMaintainer: %s\n' "$name" "$version" "$arch" "$maintainer"
        printf 'Section: %s\nPriority: optional\nInstalled-Size: %s\n' "$section" "$(du -k --apparent-size -s "$at/usr" | cut -f1)"
        printf 'Depends: %s\n' "$depends"
        printf '%s\n' "${fields[@]}" "Description: $summary" "${long[@]}"
    } >"$at/DEBIAN/control"
    (cd "$at" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum >DEBIAN/md5sums)
    find "$at" -newermt "@$SOURCE_DATE_EPOCH" -print0 | xargs -0r touch -h -d "@$SOURCE_DATE_EPOCH"
    dpkg-deb --root-owner-group -Zxz --build "$at" "$out/${name}_${version}_$arch.deb" >/dev/null
}

maintainer='ckptdb maintainers <maintainers@ckptdb.invalid>'
recommends='Recommends: libzstd1, libdeflate0, liblz4-1, libbz2-1.0, liblzma5, libblosc1, libaec0, libsnappy1v5, libcurl4'
about=('ckptdb keeps one SQLite catalog of checkpoints of machine learning. It reads' \
    'their headers alone, and answers in SQL what is in them.')
rm -rf "$out"
mkdir -p "$out" "$work/libckptdb0/DEBIAN"
pack ckptdb database "$(depends_of "$work/ckptdb/usr/bin/ckptdb" "$work/ckptdb/$lib/ckptdb/ckptdb.so")" \
    'SQL catalog of machine-learning checkpoints' "$recommends" 'Suggests: sqlite3' "${about[@]}" \
    'This package has the program, and its SQL functions for other SQLite programs.'
cp "$work/shlibs" "$work/libckptdb0/DEBIAN/shlibs"
echo 'activate-noawait ldconfig' >"$work/libckptdb0/DEBIAN/triggers"
pack libckptdb0 libs "$(depends_of "$work/libckptdb0/$lib/libckptdb.so.$version")" \
    'SQL catalog of machine-learning checkpoints (library)' 'Source: ckptdb' 'Multi-Arch: same' "$recommends" "${about[@]}" \
    'This package has the C library.'
pack libckptdb-dev libdevel "libckptdb0 (= $version), libsqlite3-dev" \
    'SQL catalog of machine-learning checkpoints (development)' 'Source: ckptdb' 'Multi-Arch: same' "${about[@]}" \
    'This package has what is needed to build programs with the C library.'
ls "$out"/*.deb
