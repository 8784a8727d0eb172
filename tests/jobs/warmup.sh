#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# --warm-up in jobs and serve: means and quantiles are those of the rows that remain; remarks, errors, the database
. "${srcdir:-.}/tests/tap.sh"
orrery=$ORRERY
cd "$work" || exit 1

# M/M/1 at load 0.8. The first job runs for 80 s, 20 times the mean wait.
"$orrery" trace synth poisson:rate=0.8,n=4000,mean=1 -o plain.csv 2>said || cat said
awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i ~ /^duration/) c = i } NR == 2 { $c = 80 } { print }' plain.csv >late.csv
run=(jobs late.csv --cluster 1x1:v100 --policy fifo --no-figures)
value() { awk -F, -v m="$2" '$2 == m { print $3 }' "$1/summary.csv"; }
"$orrery" "${run[@]}" --out none -q
"$orrery" "${run[@]}" --warm-up mser5 --out mser >table
d=$(value mser warmup_removed)
is "$((d % 5)) $((d > 0)) $(value mser warmup_determined) $(value none warmup_removed)" "0 1 1 " "MSER-5 removes batches of five; without it there is no such metric"
column() { awk -F, -v name="$2" -v d="$3" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i } NR > 1 + d { print $c }' "$1/fifo.jobs.csv"; }
close() { awk -v a="$1" -v b="$2" 'BEGIN { print((a > 0 && (a - b) ^ 2 <= (1e-9 * b) ^ 2) ? "equal" : a " " b) }'; }
mean() { awk '{ s += $1 } END { printf "%.15g", s / NR }'; }
# Quantile at index (n - 1) p between order statistics
p99() { sort -g | awk '{ v[NR - 1] = $1 } END { at = (NR - 1) * 0.99; k = int(at); printf "%.15g", v[k] + (at - k) * (v[k + 1] - v[k]) }'; }
is "$(close "$(value mser wait_mean)" "$(column mser wait_s "$d" | mean)")" equal "the mean wait is that of the jobs after the first $d"
is "$(close "$(value mser jct_mean)" "$(column mser jct_s "$d" | mean)")" equal "the mean JCT too"
is "$(close "$(value mser wait_p99)" "$(column mser wait_s "$d" | p99)")" equal "and the 99 % quantile"
is "$(awk -v a="$(value mser wait_mean)" -v b="$(value none wait_mean)" 'BEGIN { print a < b }')" 1 "waits become shorter"
like "$(cat table)" "^warm-up of MSER-5: the first $d jobs are removed from means and quantiles over jobs, and from their intervals\$" "a remark has the number"
is "$(value mser makespan) $(value mser utilisation) $(value mser jobs_completed)" "$(value none makespan) $(value none utilisation) $(value none jobs_completed)" \
  "counts and averages over time cover the whole run"

"$orrery" "${run[@]}" --warm-up 10m --out time -q
d=$(column none submit_s 0 | awk 'NR == 1 { first = $1 } $1 - first < 600 { n++ } END { print n }')
is "$(value time warmup_removed) $(close "$(value time wait_mean)" "$(column time wait_s "$d" | mean)")" "$d equal" "ten minutes remove the $d jobs submitted earlier"

# A stored run keeps its metrics and remarks.
"$orrery" "${run[@]}" --warm-up mser5 --db runs.db -q
is "$("$orrery" "${run[@]}" --warm-up mser5 --db runs.db 2>/dev/null)" "$(cat table)" "a stored run has the same table"
is "$("$orrery" "${run[@]}" --db runs.db 2>&1 | grep -c 'taken from')" 0 "a run without warm-up is another run"
is "$("$orrery" "${run[@]}" --policy sjf --warm-up mser5 | grep -c 'job by job')" 0 "runs with different cuts have no differences job by job"

# ---- differences job by job: the same jobs in the difference and in its percentage ----
# Without the first job, JCTs are 290, 330, 390 and 390 s under fifo, and 420, 130, 190 and 90 s under sjf.
printf 'submit_s,duration_s,gpus\n0,100,1\n10,200,1\n20,50,1\n30,70,1\n40,10,1\n' >five.csv
"$orrery" jobs five.csv --cluster 1x1:v100 --policy fifo,sjf --set jobs.warmup=0.2 --no-figures --out five >table
is "$(value five jct_diff) $(grep -c '^  sjf (oracle)  *-2.38 min  *-40.7 %' table)" "-142.5 1" "jobs.warmup applies to differences"
# Before 1150 s only s2 ends under both: after 100 s under sjf, after 1100 s under fifo.
printf 'submit_s,duration_s,gpus\n0,1000,1\n0,100,1\n0,100,1\n' >three.csv
like "$("$orrery" jobs three.csv --cluster 1x1:v100 --policy sjf,fifo --until 1150s --no-figures)" '^  fifo  *.16\.7 min  *.1000\.0 %' \
  "the percentage is of the jobs that completed under both"
"$orrery" serve poisson:rate=8,n=200,prompt=200,output=20 --model llama2-7b --cluster 1x1:a100 --policy vllm,orca --set serve.warmup=0.5 --out half --no-figures -q
is "$(awk -F, '$2 == "completion_mean" { m[n++] = $3 } $2 == "completion_diff" { d = $3 } $2 == "base_completion_diff" { b = $3 }
  END { e = d - (m[1] - m[0]); print (e * e < 1e-24), ((b - m[0]) ^ 2 < 1e-24), m[1] != m[0] }' half/summary.csv)" "1 1 1" "serve.warmup applies to differences"

"$orrery" serve poisson:rate=8,n=2000,prompt=200,output=20 --model llama2-7b --cluster 1x2:a100 --policy vllm --warm-up 30s --out serve --no-figures -q
d=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "arrival_s") c = i } NR == 2 { first = $c } NR > 1 && $c - first < 30 { n++ } END { print n }' serve/vllm.requests.csv)
is "$(value serve warmup_removed)" "$d" "serving: 30 s remove the $d requests that arrived earlier"
is "$(close "$(value serve completion_mean)" "$(awk -F, -v d="$d" 'NR == 1 { for (i = 1; i <= NF; i++) { if ($i == "arrival_s") a = i; if ($i == "completed_s") b = i } }
  NR > 1 + d { s += $b - $a; n++ } END { printf "%.15g", s / n }' serve/vllm.requests.csv)")" equal "the mean time is that of the others"

like "$("$orrery" jobs poisson:rate=0.8,n=30,mean=1 --cluster 1x1:v100 --policy fifo --warm-up mser5)" \
  '^warm-up of MSER-5: nothing is removed, because its minimum lies in the second half: too few values for an estimate$' "30 jobs are too few"
is "$("$orrery" serve poisson:rate=8,n=200,prompt=200,output=20 --model llama2-7b --cluster 1x2:a100 --policy vllm --warm-up 3s --find-rate e2e=2s 2>&1)" \
  'orrery: serve: --find-rate counts all requests: expected no --warm-up' "--find-rate has no warm-up"
is "$("$orrery" "${run[@]}" --warm-up mser 2>&1; "$orrery" "${run[@]}" --warm-up mser5 --set jobs.warmup=0.1 2>&1; "$orrery" step lenet5 --cluster 1x2:v100 --policy allreduce --set warm_up=mser5 2>&1)" \
  'orrery: scenario: $.warm_up: expected none, mser5 or a time such as 2h, found "mser"
orrery: scenario: $.warm_up: expected "none" together with jobs.warmup
orrery: scenario: unknown key "warm_up": expected "model" or another known key' "wrong values are refused"
tap_done
