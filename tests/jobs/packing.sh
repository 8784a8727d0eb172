#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Policies that put several jobs on the same GPUs, on small traces: ends by hand, no sharing while all jobs fit, and errors of their inputs.
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
shared() { awk -F, '$2 == "shared_starts" { n = $3 } END { print n + 0 }' out/summary.csv; }

# Two jobs whose stages are a mirror: storage 1 s and GPU 3 s, storage 3 s and GPU 1 s. The period of the pair is 4 s (of both slots),
# as alone; with a slowdown of 2 both run at half speed: 20 iterations take 160 s together, and 80 s alone.
printf 'submit_s,duration_s,gpus,iterations,stages\n0,80,1,20,1;3;0\n0,80,1,20,3;1;0\n' >mirror.csv
is "$(ends mirror.csv 1x1 muri --set jobs.group_slowdown=1,1)" "80 80" "muri: two jobs on one GPU at full speed"
is "$(shared)" 1 "muri: one of them started on the GPU of the other"
is "$(ends mirror.csv 1x2 muri --set jobs.group_slowdown=1,1)" "80 80" "muri: both fit"
is "$(shared)" 0 "muri: jobs that fit do not share GPUs"
is "$(ends mirror.csv 1x1 muri --set jobs.group_slowdown=1,4 --set policy.muri.round=0s)" "80 160" "muri: a group slower than one job after the other is dissolved"
is "$(ends mirror.csv 1x1 muri --set policy.muri.pack=1 --set policy.muri.round=0s)" "80 160" "muri: pack=1 never shares"
# Without stages, jobs have slices of the GPU, which gain nothing.
printf 'submit_s,duration_s,gpus\n0,80,1\n0,60,1\n' >plain.csv
is "$(ends plain.csv 1x1 muri --set policy.muri.round=0s)" "140 60" "muri: jobs that would not gain run one after the other, the shortest first"
# The occupancies 0.4 and 0.5 fit together.
printf 'submit_s,duration_s,gpus,occupancy\n0,80,1,0.4\n0,60,1,0.5\n' >half.csv
is "$(ends half.csv 1x1 gandiva)" "80 60" "gandiva: a pair on one GPU at full speed"
is "$(shared)" 1 "gandiva: the pair shares the GPU"
is "$(ends half.csv 1x2 gandiva)" "80 60" "gandiva: both fit"
is "$(shared)" 0 "gandiva: no pairs while all jobs fit"
# 0.9 + 0.9: the sum of the rates is 2 / 1.8, above 1; the limit 1.2 excludes the pair. The jobs then take turns of 60 s: 0-60, 60-120, 120-140 s.
printf 'submit_s,duration_s,gpus,occupancy\n0,80,1,0.9\n0,60,1,0.9\n' >full.csv
is "$(ends full.csv 1x1 gandiva --set policy.gandiva.pair_limit=1.2 --set policy.gandiva.round=60s)" "140 120" "gandiva: a pair below the limit takes turns"
is "$(shared)" 0 "gandiva: and does not share"
# Memory: 9 + 9 GiB do not fit a P100 with 16 GiB.
printf 'submit_s,duration_s,gpus,occupancy,gpu_mem_mib\n0,80,1,0.4,9000\n0,60,1,0.4,9000\n' >memory.csv
is "$(ends memory.csv 1x1:p100 gandiva --set policy.gandiva.round=60s)" "140 120" "gandiva: jobs that need more memory than the GPU has do not share it"

# The first two jobs fit the GPUs by number, but not v100; the third runs on p100 meanwhile.
printf 'submit_s,duration_s,gpus,gpu_types\n0,1000,8,v100\n0,1001,4,v100\n0,5000,4,\n' >types.csv
is "$(ends types.csv 1x8:v100,1x4:p100:speed=1 muri | cut -d' ' -f 1,3)" "1000 5000" "muri: GPUs of another type go to a job that can use them"
# At 360 s the job of 700 s has 340 s left, the other 400 s: the first continues.
printf 'submit_s,duration_s,gpus\n0,700,1\n10,400,1\n' >left.csv
is "$(ends left.csv 1x1 muri --set policy.muri.pack=1)" "700 1120" "muri: what a running job has done counts"

# Jobs of equal sizes only share; all work is conserved (--check) on a random trace with every interference model.
awk 'BEGIN { srand(5); print "submit_s,duration_s,gpus,iterations,stages,occupancy,gpu_mem_mib"; for (i = 0; i < 120; i++)
  printf "%d,%d,%d,%d,%.2f;%.2f;%.2f,%.2f,%d\n", i * 20, 60 + rand() * 900, 2 ^ int(rand() * 4), 10 + rand() * 500, rand(), rand() + 0.01, rand(), 0.1 + 0.8 * rand(), rand() * 9000 }' >random.csv
for model in auto stages occupancy slices; do
  for policy in gandiva muri; do
    like "$(ends random.csv 2x8:v100 "$policy" --interference $model)" '^[0-9.]+( [0-9.]+){119}$' "$policy, $model: all jobs end"
  done
done

bad() { # TEXT POLICY SETTING..
  local text=$1 policy=$2
  shift 2
  "$orrery" jobs plain.csv --cluster 1x1 --policy "$policy" "$@" -q >/dev/null 2>err
  is $? 2 "$text: exit 2"
  like "$(cat err)" "$text" "$text"
}
printf 'event,time_s,job\n' >short.csv
printf 'event,time_s,job,group\n0,x,0,0\n' >time.csv
bad 'groups: expected rules=muri too' muri --set policy.muri.groups=short.csv
bad 'short.csv:1: expected the header event,time_s,job,group' muri --set policy.muri.rules=muri --set policy.muri.groups=short.csv
bad 'time.csv:2: time_s: expected a number of seconds' muri --set policy.muri.rules=muri --set policy.muri.groups=time.csv
bad 'shares: expected rules=gavel too' gandiva --set policy.gandiva.shares=short.csv
bad 'round: expected a time above 0' gandiva --set policy.gandiva.round=0s
"$orrery" jobs plain.csv --cluster 1x1 --policy gandiva --set policy.gandiva.rules=gavel -q >/dev/null 2>err
is $? 1 "gandiva, rules=gavel: jobs without iterations are refused"
like "$(cat err)" "rules=gavel: the trace gives no training iterations" "and the message says why"
tap_done
