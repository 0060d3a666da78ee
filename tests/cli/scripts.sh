# Where statements come from, in which order, and where they end.
"$CKPTDB_BIN" import . >/dev/null 2>&1 # makes the catalog
run() {
    "$CKPTDB_BIN" "$@"
    status=$?
    [ $status = 0 ] || echo "status $status"
}
echo "--- stdin, the last statement without a semicolon"
printf 'SELECT 1;\n.mode json\nSELECT 2 AS two' | run
echo "--- order"
printf "SELECT 'file';" >file.sql
run -c "SELECT 'first'" -f file.sql "SELECT 'positional'" -c "SELECT 'last'"
echo "SELECT 'from stdin'" | run -c "SELECT 'before'" -f - -c "SELECT 'after'"
echo "--- several in one, strings and comments with semicolons"
run -c "SELECT 'a;b'; /* c; */ SELECT 2; -- d;
SELECT ';' || \"e;f\" FROM (SELECT 1 AS [e;f])"
echo "--- only comments and blanks"
printf -- '-- nothing;\n\n  /* at all; */ ;;\n' | run
echo "--- a trigger"
run -c 'CREATE TABLE t(x);
CREATE TRIGGER r AFTER INSERT ON t BEGIN
  UPDATE t SET x = x + 1;
  SELECT 1;
END;
INSERT INTO t VALUES (1); SELECT x FROM t'
echo "--- an error has a place"
printf 'SELECT 1;\n\nSELECT 2,\n  nosuch,\n  3;\nSELECT 4;\n' >bad.sql
run -f bad.sql
printf 'SELECT 1;\n.nosuch\nSELECT 4;\n' >bad.sql
run -f bad.sql
printf 'SELECT abs(-9223372036854775807 - 1);\nSELECT 4;\n' >bad.sql
run -f bad.sql
printf 'SELECT 1;\0\nSELECT 4;\n' >bad.sql
run -f bad.sql
printf '.bail off\nSELECT nosuch;\nSELECT 4;\n' >bad.sql
run -f bad.sql
echo "--- reading"
printf '.read b.sql\nSELECT 3;\n' >a.sql
printf 'SELECT 2;\n' >b.sql
run -f a.sql
printf '.read loop.sql\n' >loop.sql
run -f loop.sql 2>&1 | head -n 3
echo "--- output"
printf ".output 'out file'\nSELECT 1;\n.output\nSELECT 2;\n.once once.txt\nSELECT 3;\nSELECT 4;\n" | run
cat 'out file' once.txt
printf ".once rows.csv\n.mode csv\n.headers on\nSELECT 1 AS one, 'a,b' AS two;\nSELECT 5;\n.once a.txt\n.once b.txt\nSELECT 6;\n.once c.txt\n.mode\nSELECT 7;\n" | run
head rows.csv a.txt b.txt c.txt
printf ".once '|tr a-z A-Z'\nSELECT 'shout';\nSELECT 'whisper';\n" | run
printf ".output no/such/folder\nSELECT 1;\n" | run
echo "--- a byte order mark, and CR LF"
printf '\357\273\277SELECT 5;\r\n.mode json\r\nSELECT 6 AS x;\r\n' | run
echo "--- a count of distinct values is that of SELECT DISTINCT, under the same name, only where it may be"
cat >counts.sql <<'END'
.headers on
CREATE TABLE u(x, b);
INSERT INTO u VALUES (1, 'a'), (1, 'b'), (2, 'b'), (NULL, 'c');
SELECT count(DISTINCT x) FROM u; select Count( distinct u.X )
  FROM u WHERE b <> ';'; SELECT count(DISTINCT b) AS n FROM u, (SELECT 1);
EXPLAIN QUERY PLAN SELECT count(DISTINCT x) FROM u;
SELECT count(DISTINCT x) FROM u GROUP BY b;
SELECT count(DISTINCT x) FROM u /* all; */ WHERE 0;
SELECT count(DISTINCT rowid) FROM u LIMIT 1;
SELECT count(DISTINCT oid) n FROM u
END
run -f counts.sql
run -c "SELECT count(DISTINCT name) FROM tensor) AS y, (SELECT 1"
run -c "SELECT count(DISTINCT nosuch) FROM tensor"
echo "--- words of a dot-command"
printf '.headers "on"\nSELECT 1 AS "a b";\n.headers\n.mode\n' | run
echo "--- a semicolon after a dot-command, and words without a dot"
printf '.mode json;\n.mode ; \n.headers on ;\n.headers;\nHELP quit;\nSELECT 7 AS seven;\nExit;\nSELECT 8;\n' | run
printf 'help mode\n\\q\nSELECT 8;\n' | run | head -n 1
printf '.exit 3\nSELECT 8;\n' | run
printf 'quit\nSELECT 8;\n' | run
printf 'SELECT 9 AS\nhelp;\nquit' | run --headers
echo "--- a standard input that cannot be read is not an empty one"
run </
run map load mine - </
