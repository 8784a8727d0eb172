#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The policies that divide a cluster fairly, on small traces: times by hand, limits of the rules, and the same bytes as gavel with the same
# allocation.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
cd "$work" || exit 1
# ends TRACE CLUSTER POLICY [SETTING..]: the ends of the jobs, s
ends() {
  local trace=$1 cluster=$2 policy=$3
  shift 3
  "$orrery" jobs "$trace" --cluster "$cluster" --policy "$policy" "$@" --check --no-figures -q --out out >/dev/null 2>err || cat err
  awk -F, 'NR > 1 { printf "%s%g", sep, $5; sep = " " } END { print "" }' "out/$policy.jobs.csv"
}
# One GPU: the shortest first, and running jobs are not stopped (job 3 arrives later).
printf 'submit_s,duration_s,gpus\n0,100,1\n0,50,1\n0,10,1\n1,1,1\n' >one.csv
is "$(ends one.csv 1x1 allox)" "161 61 10 11" "allox: least completion time first, without preemption"
# A fast and a slow GPU (0.8): 20 s of work on the fast one and 4 s on the slow one take 20 + 5; both on the fast one 4 + 24; else 4 + 25.
printf 'submit_s,duration_s,gpus\n0,4,1\n0,20,1\n' >two.csv
is "$(ends two.csv 1x1:fast:speed=1,1x1:slow:speed=0.8 allox --set=jobs.reference_type=fast)" "5 20" "allox: the type that the sum of completion times gains most from"
is "$(ends two.csv 1x1:fast:speed=1,1x1:slow:speed=0.8 allox --set=jobs.reference_type=fast --set=policy.allox.window=1)" "4 25" \
  "allox: with window=1 the oldest job takes the faster GPU"
# A job on 2 GPUs counts with twice its length: 6 s x 2 comes after 10 s x 1.
printf 'submit_s,duration_s,gpus\n0,6,2\n0,10,1\n' >gang.csv
is "$(ends gang.csv 1x2 allox)" "16 10" "allox: jobs on several GPUs are in order of GPU time"

# All jobs accept type a alone. Each of three users has 2/3 of a GPU: the job on two GPUs a third of the time, the others two thirds. The latter
# run first, then the former, and then the latter again (2 / 1 > 1 / 1). GPUs of another type change nothing.
printf 'submit_s,duration_s,gpus,gpu_types\n0,720,2,a\n0,720,1,a\n0,720,1,a\n' >accept.csv
for cluster in 1x2:a:speed=1 1x2:a:speed=1,1x2:b:speed=1; do
  is "$(ends accept.csv $cluster gandiva-fair)" "1440 1080 1080" "gandiva-fair: shares of the types that the jobs accept, $cluster"
done

printf 'submit_s,duration_s,gpus,user\n0,720,1,a\n0,1440,2,b\n100,360,1,a\n400,720,4,c\n900,360,1,b\n' >mix.csv
for pair in isolated:isolated mst:max_sum_throughput themis:finish_time_fairness; do
  p=${pair%:*}
  is "$(ends mix.csv 1x4 "$p")" "$(ends mix.csv 1x4 gavel --set=policy.gavel.allocation="${pair#*:}")" "$p is gavel with allocation=${pair#*:}"
done
is "$(ends mix.csv 1x4 max-min --set=policy.max-min.water_filling=false)" "$(ends mix.csv 1x4 gavel)" "max-min without water filling is gavel's"
for p in allox gandiva-fair isolated max-min mst ossp themis; do
  like "$(ends mix.csv 1x4 "$p")" '^[0-9]+( [0-9]+){4}$' "$p: all jobs end"
done
# The first job ends at 10 s, and the second arrives at 20 s. No job runs then, so a round of 360 s begins at once.
printf 'submit_s,duration_s,gpus\n0,10,1\n20,10,1\n' >idle.csv
for p in gavel gandiva-fair isolated max-min mst ossp themis gandiva muri shockwave; do
  is "$(ends idle.csv 1x1 $p)" "10 30" "$p: a round begins at once if no job runs"
done
# A quarter of the work at a quarter of the speed is the same workload.
printf 'submit_s,duration_s,gpus\n0,8000,1\n0,16000,1\n3000,4000,1\n' >fast.csv
printf 'submit_s,duration_s,gpus,limit_s\n0,2000,1,2000\n0,4000,1,4000\n3000,1000,1,1000\n' >slow.csv
for p in themis ossp shockwave; do
  is "$(ends slow.csv 1x1:v100:speed=0.25 $p)" "$(ends fast.csv 1x1:v100:speed=1 $p)" "$p: the speed of the GPUs counts"
done
is "$(ends slow.csv 1x1:v100:speed=0.25 shockwave --set policy.shockwave.estimate=limit)" "$(ends fast.csv 1x1:v100:speed=1 shockwave)" \
  "shockwave: the work done counts towards the limit"
"$orrery" jobs mix.csv --cluster 1x4 --policy allox --set policy.allox.rules=gavel -q >/dev/null 2>err
is $? 1 "allox, rules=gavel: jobs without iterations are refused"
like "$(cat err)" "rules=gavel: the trace gives no training iterations" "and the message says why"
sed 's/user/user,iterations/; 2,$s/$/,100/' mix.csv >steps.csv
"$orrery" jobs steps.csv --cluster 1x4 --policy allox --set policy.allox.rules=gavel -q >/dev/null 2>err
like "$(cat err)" "job .*: rules=gavel: expected a job that requests one whole GPU" "allox, rules=gavel: a job on two GPUs is refused"
# From some of these bases GLPK's primal simplex cycles; the dual simplex from a fresh basis does not.
"$orrery" jobs philly-like:n=300 --cluster 8x8:v100,8x8:p100 --drop-unfit --policy ossp --no-figures -q >/dev/null 2>err
is "$? $(cat err)" "0 " "ossp: linear programs whose simplex cycles"
tap_done
