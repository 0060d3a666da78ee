# Ctrl-C and SIGTERM while a server is silent, or asks to come again later: the program ends at once, and catalogs are whole.
mkdir www
make_npy www/a.npy '<f4' '(4,)' f 1 2 3 4
cp www/a.npy www/b.npy
port=''
serve www || exit
at=http://127.0.0.1:$port
export CKPTDB_TIMEOUT=60
# stopped SIGNAL WORD...: what it says once the server has been asked and it got the signal; within seconds.
stopped() {
    local signal=$1 begun=$SECONDS
    shift
    rm -f log
    "$CKPTDB_BIN" "$@" >said 2>&1 9>&- &
    for _ in $(seq 200); do [ -f log ] && break; sleep 0.05; done
    sleep 0.3
    kill -s "$signal" $!
    wait $! 2>/dev/null
    echo "$signal: status $?, $([ $((SECONDS - begun)) -lt 20 ] && echo at once)"
    sed "s/$port/PORT/g" said
}
"$CKPTDB_BIN" import "$at/a.npy"
for mode in hang later; do
    stopped INT import "$at/$mode/b.npy"
    stopped TERM import "$at/$mode/b.npy"
done
"$CKPTDB_BIN" "SELECT name FROM checkpoint; SELECT count(*) FROM issue"
touch www/hang
for command in hash stats verify "export a.npy out.npy"; do
    # shellcheck disable=SC2086
    stopped INT $command
done
ls out* .tmp* 2>/dev/null
rm www/hang
"$CKPTDB_BIN" hash --sha256
