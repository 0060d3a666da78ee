# An interrupted import keeps what it says it has indexed, and the next one goes on from there.
mkdir files
for i in $(seq 100); do
    names=$(for j in $(seq 200); do printf '"m%s.t%s":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},' "$i" "$j"; done)
    header="{${names%,}}"
    printf "$(printf '\\x%02x\\x%02x' $((${#header} % 256)) $((${#header} / 256)))\0\0\0\0\0\0%s" \
        "$header" >"files/$i.safetensors"
done
for pause in 0.02 0.05 0.1 0.2; do
    rm -f "$CKPTDB"
    "$CKPTDB_BIN" import --jobs 1 files 2>said &
    sleep $pause
    kill -INT $! 2>/dev/null
    wait $!
    rc=$?
    case $rc in
    0) grep interrupted said ;;
    130) grep -qE 'interrupted: (what is counted here is kept|nothing was indexed)' said || cat said ;;
    *) echo "status $rc" ;;
    esac
    said=$(sed -n 's/^ckptdb: \([0-9]*\) new.*/\1/p' said)
    kept=$("$CKPTDB_BIN" 'SELECT count(*) FROM _checkpoints' 2>/dev/null) # none: it was not made yet
    [ "${said:-0}" = "${kept:-0}" ] || echo "said $said, kept $kept"
done
"$CKPTDB_BIN" import files 2>/dev/null
"$CKPTDB_BIN" 'SELECT count(*), sum(tensors) FROM checkpoint'
