# schema/README.md has a row for every view that .tables shows, and in it every column.
"$CKPTDB_BIN" import . 2>/dev/null
page=$TESTS/../schema/README.md
views=$("$CKPTDB_BIN" --list "SELECT name FROM sqlite_schema WHERE type = 'view'")
echo "more than twenty: $(($(wc -l <<<"$views") > 20))"
for view in $views; do
    row=$(grep -F -m 1 "| \`$view\`" "$page" || grep -F -m 1 ", \`$view\`" "$page")
    case $row in
    '') echo "no row for $view" ;;
    *README.md\)* | *optimizers.md\)*) ;; # its columns are on that page
    *) for column in $("$CKPTDB_BIN" --list "SELECT name FROM pragma_table_info('$view')"); do
           grep -qw "$column" <<<"$row" || echo "$view has $column"
       done ;;
    esac
done
echo '-- storage is not in sight, unless it is asked for'
printf '.tables\n' | "$CKPTDB_BIN" | cut -f 1 | tr '\n' ' '
echo
printf '.tables _layout*\n' | "$CKPTDB_BIN" | cut -f 1 | tr '\n' ' '
echo
"$CKPTDB_BIN" 'SELECT * FROM checkpoints' 2>&1
"$CKPTDB_BIN" 'SELECT start FROM tensor' 2>&1
sqlite3 "$CKPTDB" "SELECT count(*) FROM sqlite_schema WHERE name NOT GLOB '_*' AND name NOT GLOB 'sqlite_*' AND type NOT IN ('view')
    AND name NOT IN ('ruleset', 'rule', 'optimizer', 'known_class')"
