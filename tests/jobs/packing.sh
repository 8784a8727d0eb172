#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Policies that put several jobs on the same GPUs, on small traces: ends computed by hand, no sharing while all jobs fit, and messages for
# invalid inputs.
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

# Job 0 has stages of 1 s on storage and 3 s on the GPU, job 1 of 3 s and 1 s. The period of the pair is 4 s, as long as an iteration alone.
# With a slowdown of 2 both run at half speed: 20 iterations take 160 s together, and 80 s alone.
printf 'submit_s,duration_s,gpus,iterations,stages\n0,80,1,20,1;3;0\n0,80,1,20,3;1;0\n' >mirror.csv
is "$(ends mirror.csv 1x1 muri --set jobs.group_slowdown=1,1)" "80 80" "muri: two jobs on one GPU at full speed"
is "$(shared)" 1 "muri: one of them started on the GPU of the other"
is "$(ends mirror.csv 1x2 muri --set jobs.group_slowdown=1,1)" "80 80" "muri: both fit"
is "$(shared)" 0 "muri: jobs that fit do not share GPUs"
is "$(ends mirror.csv 1x1 muri --set jobs.group_slowdown=1,4 --set policy.muri.round=0s)" "80 160" "muri: a group slower than one job after the other is dissolved"
is "$(ends mirror.csv 1x1 muri --set policy.muri.pack=1 --set policy.muri.round=0s)" "80 160" "muri: pack=1 never shares"
# A table of rates without a pair is no data on sharing. The stages apply, else slices: two jobs of 80 s at half speed.
printf '{"v100": {"(%sm%s, 1)": {"null": 0.25}}}' "'" "'" >alone.json
printf 'submit_s,duration_s,gpus,iterations,stages,model\n0,80,1,20,1;3;0,m\n0,80,1,20,3;1;0,m\n' >rated.csv
is "$(ends rated.csv 1x1:v100 muri --set jobs.group_slowdown=1,1 --throughputs alone.json)" "80 80" "muri: stages beside a table without pairs"
cut -d, -f1-4,6 rated.csv >sliced.csv
is "$(ends sliced.csv 1x1:v100 gandiva --throughputs alone.json)" "160 160" "gandiva: slices beside a table without pairs"
is "$(ends sliced.csv 1x1:v100 gandiva --throughputs alone.json --interference table)" "80 160" "gandiva: --interference table knows no pair"
# ---- parts of GPUs ----
# While job 0 runs there is no whole GPU, but room for a job on the rest of the GPU, and for one without GPUs.
printf 'submit_s,duration_s,gpus,gpu_milli\n0,1000,1,500\n1,10,1,500\n2,20,1,500\n' >part.csv
is "$(ends part.csv 1x1 allox)" "1000 11 31" "allox: jobs on parts of GPUs start beside each other"
printf 'submit_s,duration_s,gpus,cpus\n0,1000,1,1\n1,10,0,1\n' >cpu.csv
is "$(ends cpu.csv 1x1:v100:cpus=8 allox)" "1000 11" "allox: a job without GPUs does not wait for them"
is "$(ends cpu.csv 1x1:v100:cpus=8,1x1:k80:cpus=8 allox)" "1000 11" "allox: nor on two types of GPU"
# 200 s on a tenth of a GPU are less GPU time than 100 s on a whole one.
printf 'submit_s,duration_s,gpus,gpu_milli\n0,200,1,100\n0,100,1,1000\n' >tenth.csv
for p in srtf-gpu qssf smallest-gpu; do
  is "$(ends tenth.csv 1x1 $p)" "200 300" "$p: a part of a GPU counts as a part"
done

# Jobs without stages would get slices of the GPU, which gain nothing.
printf 'submit_s,duration_s,gpus\n0,80,1\n0,60,1\n' >plain.csv
is "$(ends plain.csv 1x1 muri --set policy.muri.round=0s)" "140 60" "muri: jobs that would not gain run one after the other, the shortest first"
# Four jobs for two GPUs have the occupancies 0.8, 0.65, 0.3 and 0.34. Both jobs of a pair have the rate 1 / (sum of their occupancies), at
# most 1. The pairs with the greatest sum of rates are 0 with 2 (2 / 1.1) and 1 with 3 (2). At 110 s jobs 0 and 1 end, and the others have
# 20 s left.
printf 'submit_s,duration_s,gpus,occupancy\n0,100,1,0.8\n0,110,1,0.65\n0,120,1,0.3\n0,130,1,0.34\n' >four.csv
is "$(ends four.csv 1x2 muri --set policy.muri.round=0s)" "110 110 130 130" "muri: the pairs with the greatest sum of rates"
# The work left is that of a limit equal to the duration: of A and B on one GPU at half speed, A has 840 s left at 360 s, more than the 700 s of C.
printf 'submit_s,duration_s,gpus,occupancy,gpu_mem_mib,limit_s\n0,1000,1,0.8,12000,1000\n0,200,1,0.8,1000,200\n350,700,1,0.8,12000,700\n' >limit.csv
cut -d, -f1-5 limit.csv >truth.csv
with_limit=$(ends limit.csv 1x1:v100 muri --interference occupancy)
is "$(ends truth.csv 1x1:v100 muri --interference occupancy) $with_limit" "1820 320 1060 1820 320 1060" "muri: the shortest by work left runs first, with and without limits"
# Four jobs with stages for two GPUs. The period of two jobs X and Y with stages s, g, n is max(sX + gX, nY + sY) + max(gY, nX), in the better order, or
# max(sX, gY + nY) + max(sY, gX + nX), if that is less. The weight of a pair is the sum of its stages / (4 periods). In each trace other pairs would be
# best without the storage, the GPU or the network stages. Jobs of 20 iterations end after 20 periods.
stages() { # S1 S2 S3 S4
  printf 'submit_s,duration_s,gpus,iterations,stages\n'
  printf '%s\n' "$@" | awk -F';' '{ printf "0,%d,1,20,%s\n", 20 * ($1 + $2 + $3), $0 }'
}
matched() { ends "$1" 1x2 muri --set jobs.group_slowdown=1,1 --set policy.muri.pack=2; }
# Periods: 11 of 0 with 3, 4 of 1 with 2: 16 / 44 + 8 / 16 = 0.86. 0 with 2 and 1 with 3: 5 and 11, 9 / 20 + 15 / 44 = 0.79. 0 with 1: 6 and 11, 0.72.
stages '0;3;2' '3;0;1' '2;1;1' '3;4;4' >storage.csv
is "$(matched storage.csv)" "220 80 80 220" "muri: storage stages count"
# Periods: 3 of 0 with 1, 9 of 2 with 3: 6 / 12 + 11 / 36 = 0.81. The others have 9 and 3: 12 / 36 + 5 / 12 = 0.75, both.
stages '2;0;1' '0;3;0' '4;4;1' '0;0;2' >gpu.csv
is "$(matched gpu.csv)" "60 60 180 180" "muri: GPU stages count"
# Periods: 12 of 0 with 1, 3 of 2 with 3: 16 / 48 + 5 / 12 = 0.75. 0 with 2: 5 and 12, 7 / 20 + 14 / 48 = 0.64. 0 with 3: 4 and 12, 0.69.
stages '1;1;2' '4;4;4' '0;0;3' '1;1;0' >network.csv
is "$(matched network.csv)" "240 240 60 60" "muri: network stages count"
# The occupancies 0.4 and 0.5 fit together.
printf 'submit_s,duration_s,gpus,occupancy\n0,80,1,0.4\n0,60,1,0.5\n' >half.csv
is "$(ends half.csv 1x1 gandiva)" "80 60" "gandiva: a pair on one GPU at full speed"
is "$(shared)" 1 "gandiva: the pair shares the GPU"
is "$(ends half.csv 1x2 gandiva)" "80 60" "gandiva: both fit"
is "$(shared)" 0 "gandiva: no pairs while all jobs fit"
# With occupancies of 0.9 and 0.9 the sum of the rates is 2 / 1.8, above 1. The limit 1.2 excludes the pair. The jobs then take turns of 60
# s: 0-60, 60-120, 120-140 s.
printf 'submit_s,duration_s,gpus,occupancy\n0,80,1,0.9\n0,60,1,0.9\n' >full.csv
is "$(ends full.csv 1x1 gandiva --set policy.gandiva.pair_limit=1.2 --set policy.gandiva.round=60s)" "140 120" "gandiva: a pair below the limit takes turns"
is "$(shared)" 0 "gandiva: and does not share"
# Three jobs of 120 s run on one GPU in rounds of 60 s. Jobs 0, 1 and 2 have one round each. Job 2, which is running, then continues and
# ends at 240 s; jobs 0 and 1 follow.
printf 'submit_s,duration_s,gpus\n0,120,1\n0,120,1\n0,120,1\n' >turns.csv
is "$(ends turns.csv 1x1 gandiva --set policy.gandiva.pair_limit=2 --set policy.gandiva.round=60s)" "300 360 240" "gandiva: turns of jobs"
# A pair at full speed and a job have equal shares, 180 s each. Seed 0 pairs jobs 1 and 2: 0 runs to 60 s, the pair to 180 s, 0 to its end at 300 s,
# the pair to 360 s. Seed 1 pairs 0 and 2: the pair to 60 s, 1 to 180 s, the pair to its end at 300 s, 1 to 360 s.
printf 'submit_s,duration_s,gpus,occupancy\n0,180,1,0.5\n0,180,1,0.5\n0,180,1,0.5\n' >pair.csv
is "$(ends pair.csv 1x1 gandiva --set policy.gandiva.round=60s)" "300 360 360" "gandiva: turns of a job and a pair"
is "$(ends pair.csv 1x1 gandiva --set policy.gandiva.round=60s --set policy.gandiva.seed=1)" "300 360 300" "gandiva: turns of a pair and a job"
# An independent restatement of the rules of turns. Jobs are in order of their rounds so far; of equal jobs, running ones come first, then
# the smaller number. Each job runs if enough GPUs are left for it. A new job counts with the smallest number of rounds of the jobs present.
# There is a decision each 60 s, and whenever no job runs.
cat >turns.awk <<'EOT'
function before(a, b) { return rounds[a] != rounds[b] ? rounds[a] < rounds[b] : runs[a] != runs[b] ? runs[a] > runs[b] : a < b }
function decide(   i, k, n, x, left, order) {
  n = 0
  for (i = 0; i < jobs; i++) if (live[i]) order[n++] = i
  for (i = 1; i < n; i++) for (k = i; k > 0 && before(order[k], order[k - 1]); k--) { x = order[k]; order[k] = order[k - 1]; order[k - 1] = x }
  left = G
  for (i = 0; i < n; i++) { x = order[i]; runs[x] = gpus[x] <= left; if (runs[x]) { left -= gpus[x]; rounds[x]++ } }
}
BEGIN { FS = ","; jobs = 0 } NR > 1 { at[jobs] = $1; work[jobs] = $2; gpus[jobs] = $3; jobs++ }
END {
  while (ended < jobs) {
    t = 1e18 # the next arrival, end or decision
    if (arrived < jobs) t = at[arrived]
    for (i = 0; i < jobs; i++) if (live[i] && runs[i] && now + work[i] < t) t = now + work[i]
    if (arrived > ended && due > now && due < t) t = due
    for (i = 0; i < jobs; i++) if (live[i] && runs[i]) { work[i] -= t - now; if (work[i] < 1e-6) { live[i] = runs[i] = 0; ended++; end[i] = t } }
    now = t
    if (arrived < jobs && at[arrived] <= now + 1e-9) {
      least = -1
      for (i = 0; i < jobs; i++) if (live[i] && (least < 0 || rounds[i] < least)) least = rounds[i]
      rounds[arrived] = least < 0 ? 0 : least; live[arrived++] = 1 }
    busy = 0
    for (i = 0; i < jobs; i++) busy += live[i] && runs[i]
    if (arrived > ended && (now >= due - 1e-9 || !busy)) { decide(); due = now + 60 }
  }
  for (i = 0; i < jobs; i++) printf "%s%.3f", i ? " " : "", end[i]
  print "" }
EOT
same=0
for seed in $(seq 25); do
  awk -v seed="$seed" 'BEGIN { srand(seed); print "submit_s,duration_s,gpus"; n = 3 + int(rand() * 12); for (i = 0; i < n; i++) {
    printf "%.3f,%d,%d\n", t, 20 + 900 * rand(), 1 + 3 * rand(); t += 150 * rand() * rand() * (1 + 20 * (rand() < 0.1)) } }' >t.csv
  ends t.csv 1x4 gandiva --set policy.gandiva.pair_limit=2 --set policy.gandiva.round=60s >/dev/null
  [ "$(awk -F, 'NR > 1 { printf "%s%.3f", sep, $5; sep = " " } END { print "" }' out/gandiva.jobs.csv)" = "$(awk -v G=4 -f turns.awk t.csv)" ] && same=$((same + 1))
done
is "$same" 25 "gandiva: every end of 25 random traces is that of the rules of turns, restated"
# Memory: 9 + 9 GiB do not fit a P100 with 16 GiB.
printf 'submit_s,duration_s,gpus,occupancy,gpu_mem_mib\n0,80,1,0.4,9000\n0,60,1,0.4,9000\n' >memory.csv
is "$(ends memory.csv 1x1:p100 gandiva --set policy.gandiva.round=60s)" "140 120" "gandiva: jobs that need more memory than the GPU has do not share it"

# GPUs are counted by type. The second job has the least GPU time, and leaves no room for the first, which accepts v100 only: it starts at the
# round after 1001 s, at 1080 s. The third job, on any type, runs all the time.
printf 'submit_s,duration_s,gpus,gpu_types\n0,1000,8,v100\n0,1001,4,v100\n0,5000,4,\n' >types.csv
is "$(ends types.csv 1x8:v100,1x4:p100:speed=1 muri)" "2080 1001 5000" "muri: GPUs of another type go to a job that can use them"
# Both jobs accept type a alone: they share its GPU, although the cluster has two. A job for any type uses the other;
# under rules=muri the decision at 80 s charges it 10 s.
printf 'submit_s,duration_s,gpus,gpu_types,iterations,stages\n0,80,1,a,20,1;3;0\n0,80,1,a,20,3;1;0\n0,90,1,,,\n' >one_type.csv
for rules in own muri; do
  is "$(ends one_type.csv 1x1:a:speed=1,1x1:b:speed=1 muri --set jobs.group_slowdown=1,1 --set policy.muri.rules=$rules)" "80 80 $([ $rules = own ] && echo 90 || echo 100)" \
    "muri: jobs for one GPU type share its GPU, rules=$rules"
done
# The same pair under gandiva: with the GPU of type a alone, and beside one that the jobs do not accept.
sed -n 1,3p one_type.csv >pair.csv
for cluster in 1x1:a:speed=1 1x1:a:speed=1,1x1:b:speed=1; do
  is "$(ends pair.csv $cluster gandiva --set jobs.group_slowdown=1,1)" "80 80" "gandiva: jobs for one GPU type share its GPU, $cluster"
done
# Four GPUs, five short jobs, and a long job on two GPUs. All are candidates, and sharing gains nothing, so the short jobs come first.
printf 'submit_s,duration_s,gpus\n0,10,1\n0,10,1\n0,10,1\n0,10,1\n0,10,1\n0,1000,2\n' >short.csv
is "$(ends short.csv 1x4 muri --set policy.muri.round=0s)" "10 10 10 10 20 1010" "muri: groups run in the order of their jobs, not by size"
# At 360 s the job of 700 s has 340 s left and the other job 400 s, so the first continues. At 700 s no job runs, so the other starts at
# once.
printf 'submit_s,duration_s,gpus\n0,700,1\n10,400,1\n' >left.csv
is "$(ends left.csv 1x1 muri --set policy.muri.pack=1)" "700 1100" "muri: what a running job has done counts"
# B stops A, which has 1000 s left, at 3000 s. C runs from 3240 s on. At 3600 s A has less left than B. Limits equal to the work change nothing.
printf 'submit_s,duration_s,gpus,limit_s\n0,4000,1,4000\n3000,2000,1,2000\n3100,100,1,100\n' >limits.csv
is "$(ends limits.csv 1x1 muri --set policy.muri.pack=1); $(cut -d, -f 1-3 limits.csv >no_limits.csv; ends no_limits.csv 1x1 muri --set policy.muri.pack=1)" \
  "4100 6100 3340; 4100 6100 3340" "muri: the work of earlier runs counts towards the limit"
# The stages are far shorter than the iteration time of 10 s, so no job is faster in a group than alone.
printf 'submit_s,duration_s,gpus,iterations,stages\n0,100,1,10,1e-300;1e-300;0\n0,100,1,10,0.001;0;0\n' >tiny.csv
for p in muri gandiva; do is "$(ends tiny.csv 1x1 $p)" "100 100" "$p: stages shorter than the iteration time make no job faster"; done

# Only jobs of equal sizes share. All work is conserved (--check) on a random trace with every interference model.
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
