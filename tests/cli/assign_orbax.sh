# Orbax's apply_transformations as rows of `assignment`: the cases O of the original, by the name whose value
# each leaf gets ("own": the target keeps its own).
tree() { # FILE NAME...
    local file=$1 sep='' name
    shift
    {
        printf '{"ckptdb": "names", "tensors": {'
        for name in "$@"; do
            printf '%s"%s": {"dtype": "int32", "shape": []}' "$sep" "$name"
            sep=', '
        done
        printf '}}'
    } >"$file"
    "$CKPTDB_BIN" import "$file" >/dev/null 2>&1
}

# try ID SOURCE TARGET OPTIONS [PATTERN REPLACEMENT]...: - as replacement is use_fallback.
try() {
    local id=$1 source=$2 target=$3 options=$4 sql n=0
    shift 4
    sql="INSERT INTO ruleset(name, dialect, options) VALUES ('$id', 'orbax', '$options');"
    while [ $# -gt 0 ]; do
        n=$((n + 1))
        sql="$sql INSERT INTO rule(ruleset, ord, pattern, replacement) VALUES ('$id', $n, '$1', nullif('$2', '-'));"
        shift 2
    done
    echo "-- $id"
    "$CKPTDB_BIN" --list "$sql" "SELECT ifnull(new_name, '-'), status, ifnull(old_name, 'own'), coalesce(error, note, '')
        FROM assignment WHERE ruleset = '$id' AND source_id = (SELECT id FROM checkpoint WHERE path LIKE '%/$source')
        AND target_id = (SELECT id FROM checkpoint WHERE path LIKE '%/$target')"
}

tree original a b c/a c/e
tree ag a g
tree new1 a1 e1
tree just_a a
tree just_b b
tree just_f f
tree ab a b
tree c_a c/a
tree af a f
tree cc c/a c/e
tree empty
tree numbered a1 c/a2/d c/a3
tree crossed x1 c/x2/d c/x3

try O1 original original '{}'
try O2 original ag '{}'
try O3 original ag '{"default_to_original": false}'
try O4 original new1 '{}' a1 a e1 c/e
try O5 just_a just_b '{}' b '\g<0>'
try O6 original just_a '{}' a -
try O7 original ab '{"default_to_original": false}' a -
try O8 original just_f '{"default_to_original": false}' f -
try O9 original just_a '{}' '(a|z)' b a c/a
try O9_other_order original just_a '{}' a c/a '(a|z)' b
try O11 original just_a '{}' '(.*)' 'zz/\1' a b
try O12 original just_a '{}' '(.*)' - a b
try O13 original just_a '{}' a b 'a|q' -
try O16 original just_a '{}' zzz nope
try O17 original c_a '{}' c b
try O18 original empty '{}' a b
try O19 original af '{}' f -
try O20 original cc '{}' c/a b
try O21 numbered crossed '{}' '(.*)x(\d.*)' '\1a\2'
try bad_pattern original just_a '{}' '(' b
try bad_template original just_a '{}' 'a' '\9'
try bad_untried original just_a '{}' 'zz' '\9'
try strict original just_a '{"mode": "strict"}' zzz nope '(a|z)' b a c/a
try flat original c_a '{}' 'c/(.*)' b 'c(.*)' a
try nested original c_a '{"nested": true}' 'c/(.*)' b 'c(.*)' a
try ordered original c_a '{"ordered": true}' 'c(.*)' a 'c/(.*)' b

# load ID TRANSFORMS: as Orbax has them, keys of one dict or of a tree
load() {
    echo "{\"dialect\": \"orbax\", \"transforms\": $2}" >transforms.json
    "$CKPTDB_BIN" map load "$1" transforms.json
    "$CKPTDB_BIN" --list "SELECT options FROM ruleset WHERE name = '$1'" \
        "SELECT pattern FROM rule WHERE ruleset = '$1' ORDER BY ord"
}
# A '/' inside a key of a tree: "c/.*" comes after "c", whose keys are below it.
load mixed '{"c": {"(.*)": {"original_key": "b"}}, "c!": {"d": {"original_key": "b"}}, "c/.*": {"original_key": "a"}}'
"$CKPTDB_BIN" map show mixed --format transforms 2>&1
load keys '{"c/(.*)": {"original_key": "b"}, "c(.*)": {"original_key": "a"}}'
load tree '{"c": {"(.*)": {"original_key": "b"}}, "c(.*)": {"original_key": "a"}, "d/e": {"use_fallback": true}}'
load neither '{"c": {"(.*)": {"original_key": "b"}}, "d/e": {"use_fallback": true}, "d(.*)": {"original_key": "a"}}'
