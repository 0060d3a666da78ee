#!/bin/sh
# loader.sh LIBDIR SONAME - say what is to be set where a program would not find what was installed there.
libdir=$1 soname=$2
PATH=$PATH:/usr/sbin:/sbin
others() { printf '${%s:+:$%s}' "$1" "$1"; }
case :$LD_LIBRARY_PATH: in
*:"$libdir":*) ;;
*)
    if ldconfig -p 2>/dev/null | grep -qF "=> $libdir/$soname"; then
        :
    elif ldconfig -N -v 2>/dev/null | grep -q "^$libdir:"; then
        echo "for the loader to find $soname, as root, once:  ldconfig"
    else
        echo "the loader does not look into $libdir; programs that use $soname want:"
        echo "  export LD_LIBRARY_PATH=$libdir$(others LD_LIBRARY_PATH)"
    fi ;;
esac
found=$(pkg-config --variable=pcfiledir libckptdb 2>/dev/null)
[ "$found" = "$libdir/pkgconfig" ] ||
    echo "  export PKG_CONFIG_PATH=$libdir/pkgconfig$(others PKG_CONFIG_PATH)    # to build them"
