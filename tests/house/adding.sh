# Files and lines needed for an addition (docs/architecture.md): one file and two lines for a policy, a trace format or a verb; one line for
# a column, a metric or a scenario key.
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
#
# Adds one of each to a copy of the tree, counts files and lines, builds the copy in a copy of the build folder, and tests
# the additions.
. "$srcdir/tests/tap.sh"
not_sanitized "a test of the tree and its build, not of the program"
. "$srcdir/tests/house/tree.sh"
can_copy "what is added" 14 || exit 0
copy_tree
cp -r "$source"/tests/house/add/. "$tree/"
# add FILE EXPRESSION: edits a file of the copy with sed
add() { sed -i "$2" "$tree/$1"; }

add policies/jobs/policies.def '$aORR_BUILTIN_POLICY(first_of_all)'
add policies/jobs/sources.mk '$alibpolicies_a_SOURCES += policies/jobs/first_of_all.c'
is "$(lines policies/jobs/policies.def policies/jobs/sources.mk)" 2 "a policy: a file and two lines"
add traces/formats.def '/^FORMAT(vidur)$/aFORMAT(toy_requests)'
add traces/sources.mk '$aliborrery_a_SOURCES += traces/req_toy_requests.c'
is "$(lines traces/formats.def traces/sources.mk)" 2 "a trace format: a file and two lines"
add cli/commands.def '$aCOMMAND(hello)'
add cli/sources.mk '$aorrery_SOURCES += cli/cmd_hello.c'
is "$(lines cli/commands.def cli/sources.mk)" 2 "a verb: a file and two lines"
add results/columns.def '/^JOB(restarts,/aJOB(luck, COUNT, 13, "", "a column that a test adds")'
is "$(lines results/columns.def)" 1 "a column: one line"
add sim/jobs/metrics.c '/put(w, "makespan",/a\	put(w, "toy_metric", 42);'
is "$(lines sim/jobs/metrics.c)" 1 "a metric: one line"
add sim/jobs/descriptor.c '/ORR_PARAM_TEXT("throughputs", "",/a\	ORR_PARAM_INT("toy_key", "3", 1, 9, "a key that a test adds"),'
is "$(lines sim/jobs/descriptor.c)" 1 "a scenario key: one line"
is "$(tree_changes | grep -c '^Only in T')" 3 "no other file is added"

build_tree
orrery=$tree/build/orrery
cd "$work" || exit 1
printf 'job_id,submit_s,gpus,duration_s\na,0,1,10\nb,1,1,5\n' >t.csv
"$orrery" jobs t.csv --cluster 1x1 --policy fifo,first-of-all --out o --db x.db -q --no-figures
cmp -s o/fifo.jobs.csv o/first-of-all.jobs.csv
ok $? "the added policy runs"
like "$(head -n 1 o/fifo.jobs.csv)" ',luck$' "the added column is in the CSV file"
is "$(sqlite3 x.db 'SELECT sum(luck) FROM jobs_s')" 0 "the added column is in the database"
like "$(cat o/summary.csv)" '^fifo,toy_metric,42,' "the added metric is in the output"
printf 'toy_arrival,toy_prompt,toy_output\n0,10,5\n' >r.csv
like "$("$orrery" trace info r.csv)" 'toy-requests' "the added format is detected from the file"
is "$("$orrery" hello) $("$orrery" jobs t.csv --cluster 1x1 --policy fifo --set toy_key=10 2>&1 | grep -c 'toy_key: expected')" "hello 1" \
  "the added verb runs, and the added key is checked"
tap_done
