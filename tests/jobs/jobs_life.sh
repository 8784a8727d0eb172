#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The life of a job: node failures, costs of starts and stops, changes of speed and size. End times are computed by hand, all
# under --check (work is conserved).
. "${srcdir:-.}/tests/tap.sh"
orrery=$ORRERY
include=$(cd "$srcdir" && pwd)/include
plugins=$(cd "$srcdir" && pwd)/tests/plugins
cd "$work" || exit 1

# ends LABEL: prints the end times of all jobs, s; "-" for a job that never ends
ends() { awk -F, 'NR > 1 { printf "%s%s", (NR > 2 ? " " : ""), ($5 == "" ? "-" : $5 + 0) }' "out/$1.jobs.csv"; }
metric() { awk -F, -v m="$1" '$2 == m { print $3 }' out/summary.csv; }
# run NAME WANT ARGUMENTS..: checks the ends of the jobs in t.csv under the (single) policy
run() {
  local name=$1 want=$2 said
  shift 2
  rm -rf out
  said=$("$orrery" jobs t.csv --check --no-figures --out out -q "$@" 2>&1)
  is "$? $said $(ends "$(basename "$(ls out/*.jobs.csv)" .jobs.csv)")" "0  $want" "$name"
}
header=job_id,submit_s,duration_s,gpus
changes() { printf 'time_s,node,event\n%s\n' "$(printf '%s' "$1" | tr ' ' '\n')" >f.csv; }

# ---- failures ----
printf '%s\na,0,10,1\n' $header >t.csv
changes '4,n0,fail 6,n0,repair'
run "a failure takes all work since the start: 6 + 10" 16 --cluster 1x1 --policy fifo --failures f.csv
is "$(cut -d, -f7 out/fifo.jobs.csv | tail -1) $(metric restarts) $(metric preemptions)" "2.000000000 1 0" \
  "a job whose node failed: 2 s of wait, one restart, no preemption"
is "$(metric lost_gpu_hours | awk '{ print $1 * 3600 }')" 4 "4 GPU seconds of work are lost"
run "checkpoints every 3 s save 3 of 4 s: 6 + 7" 13 --cluster 1x1 --policy fifo --failures f.csv --set jobs.checkpoint=3s
is "$(metric lost_gpu_hours | awk '{ print $1 * 3600 }')" 1 "1 of them is lost"
run "a start cost of 1 s: 3 s done by 4, all saved: 6 + 1 + 7" 14 --cluster 1x1 --policy fifo --failures f.csv \
  --set jobs.checkpoint=3s --set jobs.start_cost=1s
run "an interval longer than the run saves nothing" 16 --cluster 1x1 --policy fifo --failures f.csv --set jobs.checkpoint=5s
run "on_failure=kill ends it at 4" 4 --cluster 1x1 --policy fifo --failures f.csv --set jobs.on_failure=kill
is "$(metric jobs_failed) $(metric jobs_completed) $(metric lost_gpu_hours | awk '{ print $1 * 3600 }')" "1 0 4" \
  "on_failure=kill counts the job as failed, and its work as lost"
is "$(metric jct_mean)$(metric slowdown_mean)" "" "a failed job is in no mean"
# Node n0 is down from 4 to 6 s. Under fifo, a fails; b ends at 9.5 and c runs from 6 to 11. Under srtf, b fails; c
# ends at 5.5 and a at 15. Only c completes under both: the JCT difference is 5 - 10.5 s.
printf '%s\na,0,10,1\nb,0,9.5,1\nc,0.5,5,1\n' $header >t.csv
"$ORRERY" jobs t.csv --cluster 2x1 --policy fifo,srtf --failures f.csv --set jobs.on_failure=kill --out both --no-figures -q
is "$(awk -F, '$2 == "jct_mean" || $2 == "jct_diff" { print $1, $2, $3 }' both/summary.csv | paste -sd';') $(cut -d, -f1,9 both/fifo.jobs.csv | paste -sd' ')" \
  "fifo jct_mean 10;srtf jct_mean 10;srtf jct_diff -5.5 job_id,status a,failed b,completed c,completed" "means are of jobs that completed, differences of those that completed in both"
# Job c waits from 0.5 to 6 s under fifo.
is "$(awk -F, '$2 == "wait_diff" { print $1, $3 }' both/summary.csv)" "srtf -5.5" "so are those of waits"
printf '%s\na,0,10,1\n' $header >t.csv
run "another node is free: 4 + start 1 + migration 2 + 10" 17 --cluster 2x1 --policy fifo --failures f.csv \
  --set jobs.start_cost=1s --set jobs.migrate_cost=2s
is "$(metric migrations)" 1 "a restart on other nodes counts as one migration"
# Job a has both GPUs of the node until the round at 20 s, when it has done 40 s of work, and again from 60 s on, when it has done 80 s.
printf '%s,speedup\na,0,100,1,1:1;2:2\nb,10,30,1,\n' $header >t.csv
run "a job that changes its size stays on its node" "70 50" --cluster 1x2 --policy optimus --set policy.optimus.gain=throughput \
  --set policy.optimus.interval=20s --set jobs.migrate_cost=2s
is "$(metric migrations)" 0 "which is no migration"
# Job a starts at 0, is preempted by b from 4 to 6 s, and fails at 9 s: 4 + 3 GPU seconds.
printf '%s\na,0,10,1\nb,4,2,1\n' $header >t.csv
changes '9,n0,fail'
run "a preempted job fails" "9 6" --cluster 1x1 --policy srtf --failures f.csv --set jobs.on_failure=kill
is "$(metric lost_gpu_hours | awk '{ print $1 * 3600 }')" 7 "the work of its first run is lost too"
# Both jobs share a GPU until b ends at 100 s; a holds half of it until then, and all of it until the failure at 500 s.
printf '%s,occupancy\na,0,1000,1,0.5\nb,0,100,1,0.5\n' $header >t.csv
changes '500,n0,fail 600,n0,repair'
run "jobs on shared GPUs" "1600 100" --cluster 1x1:v100 --policy muri --interference occupancy --failures f.csv
is "$(metric lost_gpu_hours | awk '{ print $1 * 3600 }')" 450 "they lose the GPU time that they held: 50 + 400"
sed -i 's/,100,/,1000,/' t.csv
run "both fail" "1600 1600" --cluster 1x1:v100 --policy muri --interference occupancy --failures f.csv
is "$(metric lost_gpu_hours | awk '{ print $1 * 3600 }')" 500 "together they lose the time of the GPU"
printf '%s\na,0,10,1\n' $header >t.csv
changes '10,n0,fail'
run "an end comes before a failure of the same instant" 10 --cluster 1x1 --policy fifo --failures f.csv
changes '0,n0,fail 3,n0,repair'
run "a failure comes before an arrival of the same instant" 13 --cluster 1x1 --policy fifo --failures f.csv
printf '%s\na,0,10,2\nb,0,10,1\n' $header >t.csv
changes '4,n1,fail 5,n1,repair'
run "a job on two nodes needs both; jobs on other nodes are unaffected" "15 10" --cluster 3x1 --policy fifo --failures f.csv
for p in fjf srtf las easy-backfill; do
  run "the same under $p" "15 10" --cluster 3x1 --policy $p --failures f.csv
done
# Job a has 45 s left when it restarts at 55 s, so b's reservation is at 100 s, before which c does not end.
printf '%s\na,0,100,1\nb,60,50,2\nc,61,80,1\n' $header >t.csv
changes '55,n0,fail 56,n0,repair'
for p in easy-backfill conservative-backfill; do
  run "$p plans a restarted job with the work that its checkpoints lack" "100 150 230" --cluster 2x1 --policy $p --failures f.csv \
    --set jobs.checkpoint=5s
done
# Estimates: the start cost takes the same time at any rate, and a restart on another node has its cost.
printf '%s\na,0,100,1\n' $header >t.csv
changes '50,n0,fail'
for p in easy-backfill conservative-backfill; do
  kills=(--policy "$p" --set "policy.$p.overrun=kill" --set "policy.$p.estimate=exact")
  run "$p: 10 + 100 / 2 s" 60 --cluster 1x1:v100:speed=2 "${kills[@]}" --set jobs.start_cost=10s
  is "$(metric jobs_completed)" 1 "the job is not killed"
  run "$p: 50 + 30 + 100 s" 180 --cluster 2x1:v100 "${kills[@]}" --set jobs.migrate_cost=30s --failures f.csv
  is "$(metric jobs_completed)" 1 "nor is the restarted one"
done
# On GPUs of twice the speed, jobs of twice the length give the same times.
half=themis,shockwave,easy-backfill,conservative-backfill,allox,muri,elasticflow
for k in 1 2; do
  awk -v k=$k -v h=$header 'BEGIN { srand(3); print h
    for (i = 0; i < 40; i++) { t += int(60 * rand()); printf "%d,%d,%d,%d\n", i, t, k * (1 + int(400 * rand())), 2 ^ int(3 * rand()) } }' >t.csv
  "$orrery" jobs t.csv --cluster 2x4:v100:speed=$k --policy $half --set jobs.start_cost=10s --set jobs.migrate_cost=5s --no-figures -q --out at$k
done
for p in ${half//,/ }; do # within 1 us
  is "$(cut -d, -f5 at2/$p.jobs.csv | sed 's/...$//' | cksum)" "$(cut -d, -f5 at1/$p.jobs.csv | sed 's/...$//' | cksum)" "$p: estimates with costs, twice the speed"
done
printf '%s,gpu_types\na,0,10,1,a\nb,0,10,1,b\n' $header >t.csv
changes '2,n0,fail'
run "the only node of a GPU type is lost: a never ends" "- 10" --cluster 1x1:a,1x1:b --policy fjf --failures f.csv
is "$(metric jobs_unfinished)" 1 "one job is unfinished"
like "$("$orrery" jobs t.csv --cluster 1x1:a,1x1:b --policy fjf --failures f.csv)" 'fjf: jobs not completed: unfinished 1' \
  "the table shows the unfinished job"
"$orrery" jobs "poisson:rate=0.5,n=2000,mean=6,gpus=2" --cluster 2x4 --policy fjf,srtf,las --placement spread --check \
  --set failures.mtbf=100s --set failures.mttr=20s --set jobs.checkpoint=2s --no-figures --out out -q
is "$? $(awk -F, '$2 == "jobs_completed" { print $3 } $2 == "restarts" { print ($3 > 50) }' out/summary.csv | paste -sd' ')" \
  "0 2000 1 2000 1 2000 1" "failures by hazard: every job is restarted until it completes, work conserved"

# ---- costs ----
printf '%s\na,0,10,1\nb,4,2,1\n' $header >t.csv
# Job a starts at 0 and works from 1 s on. At 4 s it has 7 s of work left; its preemption adds 3 s. Job b ends at 4
# + 1 + 2 = 7. Job a restarts at 7 and ends at 7 + 1 + 10 = 18.
run "start_cost and preempt_cost" "18 7" --cluster 1x1 --policy srtf --set jobs.start_cost=1s --set jobs.preempt_cost=3s
printf '%s\na,0,0,1\nb,0,0,1\n' $header >t.csv
run "a job of no length pays to start: 2, then 4" "2 4" --cluster 1x1 --policy fifo --set jobs.start_cost=2s
# Job a has both nodes. Job b preempts it from 4 to 7 s; then a resumes on both nodes.
printf '%s\na,0,10,2\nb,4,3,1\n' $header >t.csv
run "no migration where the nodes are the same again" "13 7" --cluster 2x1 --policy srtf --set jobs.migrate_cost=5s
is "$(metric migrations) $(metric preemptions)" "0 1" "the job is stopped once and does not migrate"

# ---- speed ----
cat >rates.json <<'EOT'
{"fast": {"('M', 1)": {"null": 10.0}}, "slow": {"('M', 1)": {"null": 5.0}}}
EOT
printf '%s,gpu_types,model\nb,0,10,1,fast,M\na,0,100,1,fast|slow,M\nc,5,10,1,slow,M\n' $header >t.csv
# Job b runs on the fast GPU until 10 s. Job a runs on the slow GPU at half speed: 2.5 s of work are done at 5 s.
# Then c preempts a and takes 20 s for 10 s of work. Job a resumes at 10 s on the fast GPU, with 97.5 s of work
# left.
run "work is done at the rate of the GPU" "10 107.5 25" --cluster 1x1:fast,1x1:slow --policy srtf --throughputs rates.json
printf '%s,gpu_types,model,iterations\na,0,,1,,M,500\n' $header >t.csv
run "iterations at the rate of the cluster's first type" 50 --cluster 1x1:fast --policy fifo --throughputs rates.json
run "and of the type that it runs on" 100 --cluster 1x1:slow --policy fifo --throughputs rates.json

# Rates are relative to the first type. If the table has no row for this type, no rate is known.
cat >rates.json <<'EOT'
{"fast": {}, "slow": {"('M', 1)": {"null": 5.0}}}
EOT
printf '%s,model\na,0,10,1,M\n' $header >t.csv
like "$("$orrery" jobs t.csv --cluster 1x1:fast,1x1:slow --policy fifo --throughputs rates.json 2>&1)" 'can never be placed' \
  "a job without a known speed on any type is refused before the start"
run "unless another type is the reference" 10 --cluster 1x1:fast,1x1:slow --policy fifo --throughputs rates.json \
  --set jobs.reference_type=slow

# ---- refused jobs ----
printf '%s\na,0,10,8\nb,1000,100,1\nc,5000,10,8\n' $header >t.csv
run "jobs that can never be placed are left out" "1100" --cluster 1x1 --policy fifo --drop-unfit
is "$(metric utilisation) $(metric makespan) $(metric jobs_refused)" "1 100 2" \
  "refused jobs do not enter the makespan"

# ---- times beyond the clock ----
printf '%s,cpus\na,300000000,100,1,1\nb,300000000,10,1,1\nc,300000000,10,0,1\n' $header >t.csv
for x in gittins.interval optimus.interval gavel.round gavel.recompute las.promote; do
  run "the longest $x" "300000100 300000010 300000010" --cluster 1x2 --policy ${x%.*} --set "policy.$x=4.6e9"
done
like "$("$orrery" jobs t.csv --cluster 1x1 --policy gittins --set policy.gittins.interval=5e9 2>&1)" 'interval' \
  "an interval longer than the clock is refused"
run "las-gpu: a job without GPUs reaches no limit" "300000100 300000110 300000010" --cluster 1x1 --policy las-gpu

# ---- size ----
# While n1 is down, only the smaller size fits. 20 s of work at the rate of 8 GPUs (3) take 60 s at a rate of 1.
printf '%s,speedup\na,10,20,8,2:1;8:3\n' $header >t.csv
changes '5,n1,fail 500,n1,repair'
run "an elastic job starts on the one size that there is" 70 --cluster 2x4 --policy optimus --set policy.optimus.interval=0 \
  --failures f.csv
if ${CC:-cc} -std=c11 -Wall -Wextra -Werror -shared -fPIC -I"$include" -o elastic.so "$plugins/elastic.c"; then
  printf '%s,speedup\na,0,30,2,1:1;2:1.5;4:2\n' $header >t.csv
  # 6 s on 1 GPU at rate 1/1.5 do 4 s of work. The other 26 s of work take 19.5 s on 4 GPUs at rate 2/1.5.
  run "a job that grows from one GPU to four" 25.5 --cluster 1x4 --policy ./elastic.so
  is "$(awk -F, '$2 == "gpu_hours" { printf "%.6f", $3 * 3600 }' out/summary.csv)" 84.000000 "GPU time of the resized job: 6 x 1 + 19.5 x 4"
  printf '%s,speedup\na,0,30,2,1:1;2:1.5;4:2\nb,0,100,3,\n' $header >t.csv
  run "without room nothing changes, and nothing is paid: 30 x 1.5" "45 100" --cluster 1x4 --policy ./elastic.so \
    --set jobs.preempt_cost=50s
else
  skip "no C compiler is installed" 3
fi
tap_done
