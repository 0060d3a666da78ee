# Kauldron's new_to_old as rows of `assignment`: the cases K of the original, and its path language.
tree() { # FILE NAME[:SHAPE]...
    local file=$1 sep='' each
    shift
    {
        printf '{"ckptdb": "names", "tensors": {'
        for each in "$@"; do
            printf '%s"%s": {"dtype": "int32", "shape": [%s]}' "$sep" "${each%%:*}" "$([[ $each != *:* ]] || echo "${each#*:}")"
            sep=', '
        done
        printf '}}'
    } >"$file"
    "$CKPTDB_BIN" import "$file" >/dev/null 2>&1
}

# try ID SOURCE TARGET OPTIONS [NEW OLD]...
try() {
    local id=$1 source=$2 target=$3 options=$4 sql n=0 new old
    shift 4
    sql="INSERT INTO ruleset(name, dialect, options) VALUES ('$id', 'kauldron', '$options');"
    while [ $# -gt 0 ]; do
        n=$((n + 1)) new=${1//\'/\'\'} old=${2//\'/\'\'}
        sql="$sql INSERT INTO rule(ruleset, ord, pattern, replacement) VALUES ('$id', $n, '$new', '$old');"
        shift 2
    done
    echo "-- $id"
    "$CKPTDB_BIN" --list "$sql" "SELECT ifnull(new_name, '-'), status, ifnull(old_name, 'own'), coalesce(error, note, '')
        FROM assignment WHERE ruleset = '$id' AND source_id = (SELECT id FROM checkpoint WHERE path LIKE '%/$source')
        AND target_id = (SELECT id FROM checkpoint WHERE path LIKE '%/$target')"
}

ignore() { # RESTORED MODEL
    echo "{\"ignore_restored_keys\": [$1], \"ignore_model_keys\": [$2]}"
}

tree m_ab params/a params/b step
tree m_a params/a
tree m_ac params/a params/c
tree old_ab old_params/a old_params/b
tree c_ab params/a params/b
tree c_a params/a
tree m_two params/l1/a params/l2/a
tree c_two params/l1/a params/l1/b params/l2/a params/l2/b
tree c_bias params/a params/bias
tree c_az params/a/z
tree m_az params/a/z
tree c_step step params/a
tree m_step step params/a
tree full step params/decoder/layers_1/k:2,3 params/decoder/layers_2/k collections/c opt_state/0/mu/k
tree enc step params/encoder/k:3,2 opt_state/0/mu/k
tree odd params/layer-0/0/x

try K1 old_ab m_ab '{}' params old_params
try K2 c_ab m_a "$(ignore '"**.b"' '')" params params
try K3 c_a m_ab "$(ignore '' '"**.b"')" params params
try K4 c_ab m_a "$(ignore '"**.c"' '')" params params
try K5 c_a m_ab "$(ignore '' '"**.c"')" params params
try K6 c_ab m_ac "$(ignore '"**.b", "**.c"' '"**.b", "**.c"')" params params
try K7 c_two m_two "$(ignore '"**.b"' '')" params params
try K10 c_a m_a '{}' 'params.*' params
try K12 c_step m_step "$(ignore '"**.b"' '')" step step params params
try K12_everything_ignored c_step m_step "$(ignore '"**"' '')" step step
try K13_rule c_bias m_a "$(ignore '"bias"' '')" params params
try K13 c_bias m_a "$(ignore '"**.bias"' '')" params params
try K14 c_az m_a '{}' params params
try K15 c_a m_az '{}' params params
# K8, K9: what is of the second phase acts last, wherever it stands: opt_state and opt_state., as text.
tree two_sources one/k two/k step params/p collections/c
tree opt opt_state/0/k opt_state/mini_step opt_stateX/k step params/p collections/c
try K8 two_sources opt '{}' opt_state.mini_step two.k step step params params collections collections
try K9_second two_sources opt '{}' opt_state.0 two opt_state.0 one
try K9_bracket two_sources opt '{}' opt_state.0 two 'opt_state[0]' one
try K9_space two_sources opt '{}' opt_state.0 two ' opt_state.0' one
try K9_longer two_sources opt '{}' opt_stateX one
echo '-- K11'
"$CKPTDB_BIN" map run K1 workdir@5 --target m_ab.json
echo "status $?"
try missing_new c_a m_a '{}' params.x params
try missing_old c_a m_a '{}' params old
try missing_leaf c_a m_ab '{}' params params
try shape enc full '{}' params.decoder.layers_1 params.encoder
try phases enc full '{}' opt_state opt_state step step
try later_overrides old_ab m_ab '{}' params old_params params.b old_params.a
try literal odd odd '{}' "params['layer-0']" "params[\"layer-0\"]" "params['layer-0'][0].x" "params['layer-0'].0.x"
nested() { # FILE TREE
    echo "{\"ckptdb\": \"names\", \"tree\": $2}" >"$1"
    "$CKPTDB_BIN" import "$1" >/dev/null 2>&1
}
nested m_empty '{"params": {"a": "?", "n": null}, "collections": {}}'
nested c_empty '{"params": {"a": "?", "n": "?", "sub": {"b": "?", "it'"'"'s": ["?"]}}, "collections": {}, "none": null}'
try empty c_empty m_empty '{}' params params collections collections
try empty_source c_empty m_empty '{}' params.a none
try empty_missing c_empty m_empty '{}' params collections
try null_entered c_empty m_az '{}' params.a none
try leaf_becomes_tree c_empty m_empty '{}' params.a params.sub
try printed c_empty m_empty "$(ignore '"**.nothing"' '')" params params.sub
try leaf_and_tree c_empty m_empty "$(ignore '' '"a"')" params.a params.sub
try no_pattern c_empty m_empty "$(ignore '"a..b"' '')" params params
try put_into_leaf c_az m_az '{}' params.a params.a.z params.a.z params.a.z
try put_into_nothing c_bias m_az '{}' params params params.a.z params.a
try put_into_empty c_empty m_a '{}' params collections params.a params.a
try covered_later c_a m_ab '{}' params params params.b params.a
try phases_apart full enc '{}' "['opt_state']" params "opt_state" opt_state
try strict enc full '{"mode": "strict"}' step step opt_state opt_state
# Lists are counted from their end, and cut; a key may be empty.
nested list '{"old": {"l": [{"w": "?"}, {"w": "int8"}, {"w": "float16"}]}, "one": {"": {"w": "?"}}}'
nested m_list '{"l": [{"w": "?"}, {"w": "?"}], "w": "?"}'
try last list m_list '{}' 'l[+1]' 'old.l[-1]' 'l[-1].w' 'old.l.-2.w' w "one[''].w"
try slice list m_list '{}' l 'old.l[1:]'
try backwards list m_list '{}' l 'old.l[::-2]'
try cut_twice list m_list '{}' 'l[0]' 'old.l[1:][-1]'
try slice_to_leaf list m_list '{}' w 'old.l[:2]'
try slice_too_short list m_list '{}' l 'old.l[2:5]'
try slice_reconciled list m_list "$(ignore '' '"nothing"')" l 'old.l[:-1]'
try slice_too_long list m_list "$(ignore '' '"nothing"')" l 'old.l[:]'
try slice_new list m_list '{}' 'l[:1]' old.l
try first_from_behind list m_list '{}' 'l[-2]' 'old.l[0]'
try before_first list m_list '{}' 'l[0]' 'old.l[-4]'
try no_list list m_list '{}' 'l[0]' 'one[-1]'
try empty_key list m_list '{}' 'l[0]' "one['']"
try no_empty_key list m_list '{}' "['']" one
# Once keys may be ignored, a leaf takes the place of a subtree; the rest of the subtree is then missing.
nested m_sub '{"params": {"a": {"z": "?"}, "e": {}}}'
nested c_leaf '{"params": {"a": "?", "e": "?"}}'
try leaf_over_tree c_leaf m_sub "$(ignore '' '"**.nothing"')" params params
try leaf_over_tree_ignored c_leaf m_sub "$(ignore '' '"a.z"')" params params
try leaf_for_tree c_leaf m_sub "$(ignore '' '"**"')" params.a params.a
try leaf_over_empty c_leaf m_sub "$(ignore '"a"' '"a.z"')" params params

echo '-- paths'
"$CKPTDB_BIN" --list "SELECT value, ifnull(kontext_name(value), '-'), ifnull(kontext_error(value), '') FROM json_each('[
    \"\", \"a\", \"a.b\", \"a.123\", \"a.-1\", \"a[0]\", \"a[-1]\", \"a[0x1F]\", \"a[0o17]\", \"a[0b11]\", \"a[0x]\", \"a[''x y'']\", \"[''layer-0''].bias\", \"a . b\", \"True.None\",
    \"a..b\", \".a\", \"a.\", \"a.[0]\", \"a[b]\", \"a.1b\", \"a-b\", \"a[...]\", \"a[*]\", \"a[''x'']y\", \"a.*\", \"**\", \"a.***\", \"[0\", \"a[\",
    \"a[''\\\\n\\\\x41\\\\u00e9\\\\101\\\\q\\\\\\\\'']\", \"a[r''\\\\n'']\", \"a[u\\\"x\\\"]\", \"a[''\\\\ud800'']\", \"a[-0x10]\", \"a[+1]\", \"a[+0x1]\", \"a[1:2]\", \"a[::0]\", \"a[:x]\", \"a[1.5]\", \"a[(1,)]\"]')"
echo '-- filters'
"$CKPTDB_BIN" --list "SELECT p.value, k.value, regexp_match(kontext_filter(p.value), k.value, 'match')
    FROM json_each('[\"\", \"a\", \"*\", \"layers[0].bias\", \"**[0]\", \" ** . bias\", \"a..b\", \"**\", \"**.b\", \"*.b\", \"**.*.b\", \"**.**.b\", \"b\", \"**.bias\", \"*.bias\", \"a.b.c.d\"]') p
    JOIN json_each('[\"a.b.c\", \"layers[0].bias\", \"ab\"]') k"
echo '-- printed'
"$CKPTDB_BIN" --list "SELECT kontext_path(value) FROM json_each('[\"\", \"a/b\", \"0/a/10/-1/01\", \"layer-0/x.y/\", \"é/it''s/\\\"\"]')"
# A pattern that takes too many steps on a key decides nothing: neither ignored nor loaded.
deep=$(printf 'a/%.0s' {1..118})cb
tree c_deep q/"$deep" q/w
tree m_deep p/"$deep" p/w
try steps c_deep m_deep "$(ignore "\"**$(printf '.a.**%.0s' {1..8}).b\"" '')" p q | sed -E 's:(a[./]){100,}:a...:g'
# A key that is literally * is all keys to the original where it writes with ignore_ options: it fails at a leaf among them.
tree c_star params/\*/a params/\*/b/c params/w
tree m_star params/\*/a params/\*/b/c params/w params/z
tree m_star_alone params/\*/a params/\*/b/c
try star c_star m_star "$(ignore '' '"**.z"')" params params
try star_alone c_star m_star_alone "$(ignore '"w"' '')" params params
try star_ignored c_star m_star "$(ignore '"**.a", "**.b"' '"**"')" params params
try star_without_options c_star m_star '{}' 'params.w' 'params.w' "params['*']" "params['*']"
# A leaf that is itself mapped is ignored by what matches the empty key.
for pattern in '*' '*.**' '**.*' '*.*'; do try "leaf_ignored_$pattern" c_step m_step "$(ignore "\"$pattern\"" '')" step step; done
# Without ignore_ options, too, a key * or ** before the last is a glob where the original writes.
tree m_stars p/\*/a p/w/a q/\*\*/a q/w/b r/\*/a
try star_neighbours c_step m_stars '{}' "p['*'].a" step "q['**'].a" step "r['*'].a" step
try star_last c_star m_stars '{}' "p['*']" params.w
tree m_star_leaf p/\*/a p/w
try star_leaf c_step m_star_leaf '{}' "p['*'].a" step
# With ignore_ options it writes to the neighbours, too: they keep that, unless they have something of their own, later.
tree m_beside p/\*/a p/w/a p/w/b
tree c_beside p/\*/a p/w/a p/w/b
tree c_lacking p/\*/a
try star_own c_beside m_beside "$(ignore '' '"**.z"')" p p
try star_lacking c_lacking m_beside "$(ignore '' '"**"')" p p
try star_beside_ignored c_beside m_beside "$(ignore '"**.a"' '"**"')" p p
try star_beside_partly c_beside m_beside "$(ignore '"w.a"' '"**"')" p p
tree c_before p/\*/a p/\!/a
try star_before c_before c_before "$(ignore '' '"**"')" p p
tree m_deep_star p/q/\*/a/b p/q/w/c/b p/v
try star_deep m_deep_star m_deep_star "$(ignore '' '"**"')" p p
tree m_two_stars p/\*\*/a p/w/x/a
tree m_stars_alone p/\*\*/a p/v
try stars m_two_stars m_two_stars "$(ignore '' '"**"')" p p
try stars_alone m_stars_alone m_stars_alone "$(ignore '' '"**"')" p p
