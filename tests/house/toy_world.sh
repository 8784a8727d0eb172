# SPDX-License-Identifier: GPL-3.0-or-later
# Tests that a world consists of its folders, its header, one line in worlds.def and one in Makefile.am; its
# descriptor provides the rest.
#
# Adds the world of tests/house/toy to a copy of the tree, builds it in a copy of the build folder and tests its
# features.
# shellcheck shell=bash
. "$srcdir/tests/tap.sh"
not_sanitized "a test of the tree and its build, not of the program"
. "$srcdir/tests/house/tree.sh"
toy=$source/tests/house/toy

# No shared file names a world.
is "$(cd "$srcdir" && names=$(sed -n 's/^ORR_WORLD(\(.*\))$/\1/p' sim/world/worlds.def | paste -sd'|') &&
  grep -nE "\"($names)\"|(ORR_POLICY|world|orr_policy)_($names)\\b|ORR_POLICY_($(echo "$names" | tr '[:lower:]' '[:upper:]'))\\b|include [<\"](orrery/|)($names)[./]" \
    study/*.[ch] cli/*.[ch] sim/world/*.[ch] results/*.[ch] include/orrery/policy.h include/orrery/api.h include/orrery/param.h |
  grep -vE '^[^:]*:[0-9]+:(/\*| \*|	.*/\*.*\*/$)|cli/cmd_(goodput|model|trace)|cli/model_|left_out\[\]|"jobs", REPORT_NUMBER')" "" "no shared file but worlds.def names a world"

can_copy "the toy world" 21 || exit 0
copy_tree
cp -r "$toy"/. "$tree/"
echo 'ORR_WORLD(toy)' >>"$tree/sim/world/worlds.def"
sed -i 's|^include sim/mixed/sources.mk$|&\ninclude sim/toy/sources.mk|' "$tree/Makefile.am"
is "$(tree_changes)" "Files S/Makefile.am and T/Makefile.am differ
Files S/sim/world/worlds.def and T/sim/world/worlds.def differ
Only in T/include/orrery: toy.h
Only in T/policies: toy
Only in T/sim: toy" "a world needs two lines, two folders and a header"
build_tree
orrery=$tree/build/orrery
cd "$work" || exit 1

like "$("$orrery" --help)" '^  toy  +serve items one after the other$' "a verb"
like "$("$orrery" toy --help)" '^  --slow  +a minute per item$' "--help lists its flags"
like "$("$orrery" toy --help)" 'toy\.OPTION' "--help lists its options"
like "$("$orrery" toy 5 --policy steady --set itms=3 2>&1)" 'unknown key "itms": did you mean "items"?' "an unknown key: the message names the nearest one"
like "$("$orrery" toy 5 --policy steady --set items=0 2>&1)" '\$\.items: expected a number from 1 to 1000000, found "0"' "values of keys are checked"
like "$("$orrery" toy 5 --policy stedy 2>&1)" 'did you mean "steady"?' "names of policies are checked"
like "$("$orrery" jobs x --policy toy-steady 2>&1; "$orrery" jobs x --cluster 1x1 --policy steady 2>&1)" '"steady" is a toy policy \(for .orrery toy.\)' "the kind of a policy is checked"
"$orrery" scenario show 7 --world toy --policy steady --slow >s.json
is "$("$orrery" run s.json --json -q)" "$("$orrery" toy 7 --policy steady --slow --json -q)" "scenario show writes a scenario, run carries it out, --json prints"
"$orrery" toy 7 --policy steady,steady@late --set policy.late.pause=1s --db x.db --out o --list labels -q --no-figures
is "$? $(cat labels) $(sed -n 's/^steady,makespan_s,//p' o/summary.csv | cut -d, -f1 | grep -c .)" "0 steady
late 1" "runs, --out and a flag of the new world work"
"$orrery" toy 7 --policy steady --db x.db --note another -q
is "$("$orrery" db runs x.db | grep -c ' toy ')" 2 "the database has them, and the name of an input is not in the hash"
like "$("$orrery" toy 7 --policy steady --db x.db 2>&1 >table)" 'taken from x.db' "a stored run is reused"
like "$(cat table)" '^steady +[0-9.]+ s' "the table has its metrics"
like "$(head -n 1 table)" ' toys( |$)' "the table has columns of the new world"
is "$(cd o && echo *) $(wc -l <o/late.iterations.csv)" "late.iterations.csv notes.csv steady.iterations.csv summary.csv 8" "its rows are CSV files"
"$orrery" db export x.db --run 1 --out e && cmp -s e/steady.iterations.csv o/steady.iterations.csv
ok $? "its rows are in the database"
like "$("$orrery" db digest x.db)" '^[0-9a-f]{64}$' "digest"
like "$("$orrery" toy 7 --policy steady,steady@late --set policy.late.pause=1s --replications 12 --json)" '"diff_makespan_s"' "--replications"
like "$("$orrery" toy 7 --policy steady --until-precision 0.2)" '^[0-9]+ replications: the widest interval is makespan_s of steady' "--until-precision"
is "$("$orrery" scenario schema | grep -cE '"(const|description)":	"(toy|how many|service time)"')" 3 "the JSON Schema of scenarios"
"$orrery" policy new mine --kind toy >said
ORRERY=$orrery ORRERY_CFLAGS=-I$tree/include sh ./mine_test.sh >said 2>&1
is "$? $(tail -n 1 said)" "0 ok: same as steady" "policy new writes a policy that passes its own test"
like "$("$orrery" policy list --kind toy)" 'steady +pauses for a constant time' "policy list"
tap_done
