#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Jobs that the trace records as failed or killed are in all means; with --completed-only they are in none. The expected means
# are computed by hand.
. "${srcdir:-.}/tests/tap.sh"
orrery=$ORRERY
cd "$work" || exit 1
cat >t.csv <<'EOT'
job_id,submit_s,duration_s,gpus,status
a,0,10,1,Succeeded
b,0,30,1,FAILED
c,0,50,1,5
d,0,70,1,Running
e,0,20,1,
EOT
jobs() { "$orrery" jobs t.csv --cluster 5x1 --no-figures --policy fifo "$@"; }
metric() { awk -F, -v m="$1" '$2 == m { print $3 }' out/summary.csv; }
means() { rm -rf out; jobs --out out -q "$@"; echo "$(metric jct_mean) $(metric jct_max) $(metric ftf_max) $(metric jobs_completed) $(metric gpu_hours | awk "{ print \$1 + 0 }")"; }
hours=$(awk 'BEGIN { print 180 / 3600 }')

is "$(means)" "36 70 1 5 $hours" "a recorded failure counts: (10 + 30 + 50 + 70 + 20) / 5"
is "$(means --completed-only)" "15 20 1 5 $hours" "--completed-only: (10 + 20) / 2; all five took their GPUs"
is "$(means --set completed_only=true)" "15 20 1 5 $hours" "the key of a scenario"
is "$(metric recorded_failed) $(metric recorded_killed) $(metric recorded_other)" "1 1 1" "statuses are counted"
text='the trace records 1 jobs as failed, 1 as killed, 1 in a state other than completed'
is "$(jobs | grep -c "^$text: they are in all means (--completed-only leaves them out)\$")" 1 "a line below the table counts the recorded statuses"
is "$(jobs --completed-only | grep -c "^$text: they are in no mean (--completed-only)\$")" 1 "with --completed-only the line says that these jobs are in no mean"

# The option is part of the run's key: a stored run with the option is not reused without it. The rows of a stored
# run give the same differences as a fresh run.
jobs --db runs.db -q
jobs --db runs.db --completed-only --out first -q
is "$(awk -F, '$1 == "fifo" && $2 == "jct_mean" { print $3 }' first/summary.csv)" 15 "the key is in the run's hash"
cat >half.csv <<'EOT'
job_id,submit_s,duration_s,gpus,status
a,0,10,1,pass
b,0,4,1,failed
c,0,2,1,pass
EOT
"$orrery" jobs half.csv --cluster 1x1 --no-figures --policy fifo,srtf --completed-only --db half.db --out one -q
"$orrery" jobs half.csv --cluster 1x1 --no-figures --policy fifo,srtf --completed-only --db half.db --out two -q 2>said
# Ends in s: under fifo a at 10 and c at 16; under srtf c at 2 and a at 16. The mean difference is ((16 - 10) + (2 -
# 16)) / 2.
diffs() { awk -F, '$2 == "jct_diff" || $2 == "jct_mean" { print $3 }' "$1/summary.csv" | paste -sd' '; }
is "$(diffs one); $(diffs two)" "13 9 -4; 13 9 -4" "differences are of the same jobs, from a stored run too"

sed 's/,[^,]*$//' t.csv >plain.csv
is "$("$orrery" jobs plain.csv --cluster 5x1 --no-figures --policy fifo --completed-only | grep -c '^completed_only has no effect: the trace records no job as failed, killed or not ended$')" 1 "without statuses the option has no effect"
is "$("$orrery" jobs plain.csv --cluster 5x1 --no-figures --policy fifo | grep -c 'the trace records')" 0 "without statuses no line counts them"

# Jobs that fail in the simulated run are excluded from the means in both cases.
printf 'time_s,node,event\n5,n0,fail\n' >f.csv
is "$(means --failures f.csv --set jobs.on_failure=kill | cut -d' ' -f1,4)" "42.5 4" "a job that the run lost is in no mean: (30 + 50 + 70 + 20) / 4"

# ---- differences to a stored run are those to a fresh one ----
{ echo submit_s,duration_s,gpus,status
  for i in $(seq 0 39); do echo "$i,$((1 + i * 7 % 11)),1,$([ $((i % 5)) -eq 3 ] && echo failed || echo completed)"; done; } >mixed.csv
for only in "" --completed-only; do
  # shellcheck disable=SC2086
  pair() { "$orrery" jobs mixed.csv --cluster 1x3 --policy "$1" --db "$2.db" --out "$2" --no-figures -q $only 2>&1; }
  rm -f fresh.db stored.db
  pair fifo,srtf fresh
  pair fifo stored
  pair fifo,srtf stored
  is "$(grep -c ',jct_diff\|wait_diff' fresh/summary.csv) $(diff fresh/summary.csv stored/summary.csv)" "2 " "differences ${only:-of all jobs}"
done
tap_done
