#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Output of a study: exit codes and messages for unwritable files, for reused results, and for runs that end early.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
tree=$(cd "$srcdir" && pwd)
cd "$work" || exit 1
printf 'submit_s,duration_s,gpus\n0,10,1\n1,5,1\n2,1,1\n' >three.csv
jobs=(jobs three.csv --cluster 1x1)

"$orrery" "${jobs[@]}" --policy fifo >/dev/full 2>err
is "$? $(cat err)" "1 orrery: standard output: cannot be written" "a full standard output"
"$orrery" "${jobs[@]}" --policy fifo --db nosuch/dir/r.db >out 2>err
is "$? $(wc -c <out)" "2 0" "a database that cannot be made: nothing runs"
touch plain
"$orrery" "${jobs[@]}" --policy fifo --out plain/o >out 2>err
is "$(($? > 0)) $(wc -c <out) $(grep -c plain err)" "1 0 1" "nor with a folder that cannot be made"
PATH=$work/none "$orrery" "${jobs[@]}" --policy fifo --out o >out 2>err
like "$? $(cat err)" "^3 orrery: no figures were drawn: gnuplot is not installed" "without gnuplot there are no figures, which is an error"
is "$(cd o && echo *)" "fifo.jobs.csv fifo.series.csv notes.csv summary.csv" "but all files of numbers"
"$orrery" "${jobs[@]}" --policy fifo --out o -q >out 2>err
is "$? $(cat out err)" "0 " "-q prints nothing"

# ---- the database ----
"$orrery" "${jobs[@]}" --policy fifo,sjf --db r.db --no-figures >first 2>err
is "$? $(cat err)" "0 " "two runs are stored"
"$orrery" "${jobs[@]}" --policy sjf,las,fifo --db r.db --json >again 2>err
is "$(cat err)" "orrery: sjf: the run is taken from r.db (--fresh repeats it)
orrery: fifo: the run is taken from r.db (--fresh repeats it)" "those it has are taken from it"
is "$("$orrery" db runs r.db | tail -n +2 | wc -l)" 3 "the other one is stored"
is "$("$orrery" "${jobs[@]}" --policy sjf,las,fifo --json)" "$(cat again)" "the same results as without a database"
"$orrery" "${jobs[@]}" --policy fifo,sjf --db r.db -q >out 2>err
is "$? $(cat err)" "0 " "-q does not say what is reused"
before=$("$orrery" db digest r.db)
"$orrery" "${jobs[@]}" --policy fifo,sjf --db r.db --fresh >out 2>err
is "$? $(cat err) $(cmp first out; echo $?)" "0  0" "--fresh repeats them"
is "$("$orrery" db digest r.db)" "$before" "with equal results, in place of the stored ones"
"$orrery" "${jobs[@]}" --policy fifo --db r.db --check >out 2>err
is "$? $(grep -c 'taken from' err)" "0 0" "--check reuses nothing"
for j in 1 2; do "$orrery" "${jobs[@]}" --policy las,sjf,srtf,fifo -j $j --db j$j.db -q; done
is "$("$orrery" db digest j1.db)" "$("$orrery" db digest j2.db)" "with two threads as with one"

# ---- replications: the number of runs in the progress, and the order of policies ----
is "$("$orrery" jobs poisson:n=20,rate=0.1,mean=9 --cluster 1x1 --policy sjf,fifo --replications 3 -j2 --json | tr -d '\t' | grep '^"policy":"')" '"policy":"sjf",
"policy":"fifo",' "results are in the order of the policies"

# ---- a policy that never returns, and an interrupt ----
: "${CC:=cc}"
command -v "${CC%% *}" >/dev/null || { skip "no C compiler ($CC)"; tap_done; exit; }
"$orrery" policy new hang --kind jobs >/dev/null
awk '/^static void schedule\(/ { inside = 1 } { print } inside && /^\{/ { print "\tfor (volatile int i = 0; ; i = 1 - i) ;"; inside = 0 }' hang.c >h.c
$CC -std=c11 -O1 -shared -fPIC -w "-I$tree/include" -o hang.so h.c
"$orrery" "${jobs[@]}" --policy ./hang.so --policy-timeout 1 --db r.db >out 2>err
is "$? $(wc -c <out)" "1 0" "a call without an end ends the program"
like "$(cat err)" '^orrery: .*hang.*1 s' "with the policy and the limit"
"$orrery" "${jobs[@]}" --policy ./hang.so --db r.db >out 2>err &
pid=$!
for _ in $(seq 50); do
  kill -0 $pid 2>/dev/null && awk '/^State/ { exit $2 != "R" }' /proc/$pid/status 2>/dev/null && break
  sleep 0.05
done
sleep 0.3
kill -TERM $pid
wait $pid
is "$? $(tail -n 1 err)" "143 orrery: interrupted; the database has the completed runs up to the first run that had not ended" "SIGTERM"
is "$("$orrery" db digest r.db)" "$before" "leaves the stored runs as they were"
tap_done
