#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# If a policy fails, the rows of the other policies are printed, written and stored; the error ends the command.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
tree=$(cd "$srcdir" && pwd)
cd "$work" || exit 1
echo '{"name": "slow", "source": "made up", "kind": "table", "batch": [1, 2], "latency_ms": [20, 25]}' >slow.json
serve=(serve poisson:rate=20,n=100 --model slow.json --cluster 1x1)
: "${CC:=cc}"
command -v "${CC%% *}" >/dev/null || { skip "no C compiler ($CC)"; tap_done; exit; }
"$orrery" policy new broken --kind serve >/dev/null
# This policy fails at its first call.
sed '/^static void schedule(/,/^}/ s/^\tstruct state \*s = self;/&\n\torr_serve_give_up(w, 0, "made to fail");/' broken.c >b.c
$CC -std=c11 -O1 -shared -fPIC -w "-I$tree/include" -o broken.so b.c
"$orrery" "${serve[@]}" --policy ./broken.so,fifo,tf-serving --out o --db r.db --no-figures >out 2>err
is "$? $(grep -c 'made to fail' err)" "1 1" "the error is printed once, and the exit code is its own"
like "$(cat out)" '^fifo +100 ' "the table has the first policy that is complete"
like "$(cat out)" '^tf-serving +100 ' "the table has the second policy that is complete"
is "$(grep -c broken out)" 0 "the table does not have the policy that failed"
like "$(cat out)" 'against fifo' "differences are to the first policy that is complete"
is "$(cd o && echo *.requests.csv)" "fifo.requests.csv tf-serving.requests.csv" "files of both are written"
is "$("$orrery" db runs r.db | tail -n +2 | wc -l)" 2 "the database has two runs"
"$orrery" "${serve[@]}" --policy ./broken.so,fifo --db r.db --no-figures >out 2>err
like "$? $(cat err)" 'fifo: the run is taken from r.db' "a repetition takes the complete ones from the database"
"$orrery" "${serve[@]}" --policy ./broken.so --json --no-figures >out 2>err
is "$? $(wc -c <out)" "1 0" "without a complete one nothing is printed"
"$orrery" "${serve[@]}" --policy ./broken.so,./broken.so@again,fifo --json --no-figures >out 2>err
is "$? $(grep -c 'made to fail' err) $(tr -d '\t' <out | grep -c '^"policy":"fifo",$')" "1 2 1" "errors of several are all printed"
# The jobs world keeps data by policy. Differences must be taken between the policies that completed.
"$orrery" policy new lost --kind jobs >/dev/null
awk '/^static void schedule\(/ { inside = 1 } { print } inside && /^\{/ { print "\torr_give_up(w, 0, \"made to fail\");"; inside = 0 }' lost.c >l.c
$CC -std=c11 -O1 -shared -fPIC -w "-I$tree/include" -o lost.so l.c
jobs=(jobs poisson:n=300,rate=0.02,mean=600,gpus=2 --cluster 4x4)
"$orrery" "${jobs[@]}" --policy fifo,srtf --json >want 2>/dev/null
"$orrery" "${jobs[@]}" --policy ./lost.so,fifo,srtf --json >got 2>err
is "$? $(cmp want got; echo $?)" "1 0" "jobs: the others are as without it ($(tail -n 1 err))"
tap_done
