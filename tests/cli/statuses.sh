# Exit statuses, and what is said.
export STATUS=always
try ls
try tensors 1
try --readonly 'SELECT 1'
try 'SELECT 1'
"$CKPTDB_BIN" import . 2>/dev/null
try 'SELECT 1'
try ls
try ls --json
try tensors nothing
try 'SELECT * FORM tensor'
try -c 'SELECT 1' -c 'SELECT broken' -c 'SELECT 3'
try --keep-going -c 'SELECT 1' -c 'SELECT broken' -c 'SELECT 3'
try --readonly 'CREATE TABLE x(y)'
try -f missing.sql
try -f .
try -d no/where/at/all.db ls
try -d /dev/null/x.db 'SELECT 1'
echo 'this is no database, and long enough to be looked at: a header has 100 bytes. ......................' >text.db
try -d text.db 'SELECT 1'
try --jsn 'SELECT 1'
try --json --csv 'SELECT 1'
try --json=1 'SELECT 1'
try -d
try -x
try lss
try nonsense
try relocate onlyone
try relocate a b c
try relocate --frobnicate a b
try get --json a b
try --json get a b
try ls --json --csv
try --color=blue 'SELECT 1'
try --keep-going ls
try -c 'SELECT 1' ls
try help nonsense
try .nonsense
try .tabels
try '.quit 7'
try -c .quit -c 'SELECT 1'
try ".mode 'open"
try ''
echo "--- usage says what is missing, and statements are quoted"
try show
try show x
try import
try relocate a
try once
try -c .once
try SELECT 1
try select \* from tensor
try ls -h
try -V | sed -n '2s/ [0-9.]*$//p'
try -h | sed -n 2p
try help map load | sed -n 2p
try help map show | sed -n 2p
try help optimizer infer | sed -n 2p
try help map x
try help ls x
echo "--- names that are near"
try 'SELECT mtime_nss FROM file'
try 'SELECT f.mtime_nss FROM file f'
try 'SELECT * FROM chekpoint'
try 'SELECT * FROM xyzzy'
try 'SELECT tensor_values(3)'
try 'tensor_values(3)'
try 'SELECT tensor_byte(2)'
try map show t5_to_t5
try get x --dtype bfloat1
try get x --dtype zzz
echo "--- full disk"
"$CKPTDB_BIN" 'SELECT 1' >/dev/full
echo "status $?"
echo "--- a reader that leaves"
"$CKPTDB_BIN" 'WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n' | head -n 2
