#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# GPU types of a cluster: invalid names, speeds relative to jobs.reference_type, several types, remarks.
. "${srcdir:-.}/tests/tap.sh"
orrery=$ORRERY
tree=$(cd "$srcdir" && pwd)
cd "$work" || exit 1
export LC_ALL=C

ends() { awk -F, 'NR > 1 { printf "%s%s", (NR > 2 ? " " : ""), ($5 == "" ? "-" : $5 + 0) }' "$1"; }
# run CLUSTER ARGUMENTS..: prints the end times of the jobs in t.csv under fifo. Writes the notes of the run to
# notes.txt, without the note on intervals.
run() {
  local cluster=$1 said
  shift
  rm -rf out run.db
  said=$("$orrery" jobs t.csv --cluster "$cluster" --policy fifo --check --no-figures --out out --db run.db -q "$@" 2>&1) || echo "$said"
  sqlite3 run.db "SELECT kind || ': ' || detail FROM events WHERE kind IN ('assumption', 'remark') AND detail NOT LIKE 'no interval %'" >notes.txt
  ends out/fifo.jobs.csv
}
is_near() { # GOT WANT TOLERANCE WHAT
  ok "$(awk -v a="$1" -v b="$2" -v t="$3" 'BEGIN { d = a / b - 1; print !(d <= t && d >= -t) }')" "$4 ($1, want $2)"
}

# ---- names ----
echo '{"name": "slow", "source": "made up", "kind": "table", "batch": [1], "latency_ms": [100]}' >slow.json
printf 'arrival_s\n0\n' >r.csv
printf 'submit_s,duration_s,gpus\n0,100,1\n' >t.csv
printf 'submit_s,duration_s,gpus,gpu_types\n0,100,1,G2|G3\n' >asks.csv
printf '%s\n' '{"world": "mixed", "cluster": "1x2:v10", "jobs": {"trace": "t.csv"}, "serve": {"trace": "r.csv", "models": ["slow.json"]}, "policies": ["fifo+fifo"]}' >mixed.json
while IFS='|' read -r args expected; do
  # shellcheck disable=SC2086
  said=$("$orrery" $args --no-figures -q --db none.db 2>&1 >/dev/null)
  like "$? $said" "^2 orrery: $expected" "orrery $args"
done <<'EOT'
jobs t.csv --cluster 2x8:banana --policy fifo|cluster: GPU type "banana": unknown device "banana".*TYPE:speed=FACTOR
jobs t.csv --cluster 2x8:v100+2x8:h100 --policy fifo|cluster .*expected one type of GPU in each group, and a comma between groups
jobs t.csv --cluster 2x8:h1000 --policy fifo|cluster: GPU type "h1000": .*did you mean "h100"?
jobs t.csv --cluster 2x8:v100,1x8:v10 --policy fifo|cluster: GPU type "v10": .*did you mean "v100"?
jobs asks.csv --cluster 2x8:G4 --policy fifo|cluster: GPU type "G4"
serve r.csv --model slow.json --cluster 1x2:h1000 --policy fifo|cluster: GPU type "h1000": .*did you mean "h100"?
step resnet50 --cluster 1x2:h1000 --policy allreduce|.*h1000.*did you mean "h100"?
step resnet50 --cluster 1x2:v100:speed=2 --policy allreduce|cluster: GPU type "v100"
run mixed.json|.*GPU type "v10": .*did you mean "v100"?
jobs t.csv --cluster 2x8:v100 --policy fifo --set jobs.reference_type=v10|jobs.reference_type: unknown device "v10": did you mean "v100"?
jobs t.csv --cluster 2x8 --policy fifo --set jobs.reference_type=v100|jobs.reference_type=v100: the speed of GPU type "gpu" .*gpu:speed=1.5
jobs asks.csv --cluster 2x8:G2 --policy fifo --set jobs.reference_type=v100|jobs.reference_type=v100: the speed of GPU type "G2" .*G2:speed=1.5
jobs t.csv --cluster 2x8:v100 --policy fifo --precision fp16|precision: .*or jobs.reference_type
jobs t.csv --cluster 2x8:k80 --policy fifo --set jobs.reference_type=v100 --precision bf16|jobs.reference_type=v100: device .* has no bf16
jobs t.csv --cluster 2x8:x:speed=0 --policy fifo|cluster "2x8:x:speed=0": expected .*speed=FACTOR
jobs t.csv --cluster 2x8:x:speed=2,1x8:x:speed=3 --policy fifo|cluster "2x8:x:speed=2,1x8:x:speed=3": speed: type "x" has the speeds 2 and 3
EOT
is "$([ -e none.db ]; echo $?)" 1 "none of them makes a database"
for args in "t.csv --cluster 1x2:Tesla-V100" "t.csv --cluster 1x2:cpu" "t.csv --cluster 1x2" "t.csv --cluster 1x2:a100-spot" \
  "asks.csv --cluster 1x2:g3" "t.csv --cluster 1x2:banana:speed=2"; do
  # shellcheck disable=SC2086
  said=$("$orrery" jobs $args --policy fifo -q --no-figures 2>&1 >/dev/null)
  is "$? $said" "0 " "known: $args"
done
printf 'sn,cpu_milli,memory_mib,gpu,model\nn0,64000,262144,2,MISC\n' >nodes.csv
is "$("$orrery" jobs t.csv --cluster nodes.csv --policy fifo -q --no-figures >/dev/null 2>&1; echo $?)" 0 "the labels of openb's node list"

"$orrery" serve r.csv --model slow.json --cluster 1x2:mine:speed=2 --policy fifo --no-figures >said 2>&1
is "$? $(grep -c '^speed= of GPU type mine has no effect on replicas' said)" "0 1" "a stated speed changes no replica, which is said"
for t in 16:v100 32:v100-32g; do # openb's labels
  is "$("$orrery" device show "V100M${t%:*}" | head -1)" "$("$orrery" device show "${t#*:}" | head -1)" "V100M${t%:*} is a ${t#*:}"
done

# ---- speeds ----
printf 'submit_s,duration_s,gpus\n0,100,1\n' >t.csv
for type in k80 v100 h100; do
  is "$(run 1x1:$type)" 100 "$type without a reference: as recorded"
done
is "$(grep -v "^assumption: placement: " notes.txt)" "assumption: a job takes its recorded duration on every GPU type (jobs.reference_type scales it)" "which is said"
is "$(run 1x1:v100 --set jobs.reference_type=v100)" 100 "on the reference type: as recorded"
run 1x1:v100 --set jobs.reference_type=v100 --precision fp16 >/dev/null
is "$(grep remark notes.txt)" "remark: jobs.reference_type has no effect: no job ran at a rate other than 1
remark: precision has no effect: no GPU type has a speed by the cost model" "options without effect are named"
h100=$(run 1x1:h100 --set jobs.reference_type=v100)
like "$(cat notes.txt)" 'recorded durations refer to v100; h100 [0-9.]+ \(class mean, 10 to 90 % of models: [0-9.]+ to [0-9.]+\); class: step times of [0-9]+ models .* fp32, batch 32' \
  "the source of the speed is said"
k80=$(run 1x1:k80 --set jobs.reference_type=v100)
ok "$(awk -v h="$h100" -v k="$k80" 'BEGIN { print !(h < 50 && k > 200) }')" "h100 is faster, k80 slower than v100: $h100 s, $k80 s"
is_near "$(sed 's/.*k80 \([0-9.]*\) (class.*/\1/' notes.txt)" "$(awk -v k="$k80" 'BEGIN { print 100 / k }')" 0.005 "by the class mean"
is_near "$(run 1x1:v100 --set jobs.reference_type=k80)" "$(awk -v k="$k80" 'BEGIN { print 1e4 / k }')" 1e-9 "the inverse the other way"
is "$(run 1x1:banana:speed=4)" 25 "a stated speed is relative to the recorded duration"
is "$(run 1x1:banana:speed=4 --set jobs.reference_type=v100)" 25 "a stated speed is relative to the recorded duration with jobs.reference_type also"
echo '{"nodes": [{"gpus": 1, "type": "banana", "speed": 4}]}' >c.json
printf 'gpus,type,speed\n1,banana,4\n' >c.csv
is "$(run c.json) $(run c.csv)" "25 25" "from files"

# Alone, each job takes 100 s on GPUs of speed 1 and 50 s on those of speed 2. On one GPU the second waits as long as it runs: slowdowns of 1 and 2.
printf 'submit_s,duration_s,gpus\n0,100,1\n0,100,1\n' >two.csv
for speed in 0.5 1 2; do
  "$orrery" jobs two.csv --cluster 1x1:banana:speed=$speed --policy fifo --no-figures --out out -q
  is "$(awk -F, '$2 == "slowdown_mean" || $2 == "jain_slowdown" { printf "%.6g ", $3 }' out/summary.csv)" "1.5 0.9 " "slowdowns relative to the time alone, speed $speed"
done

# At 3600 s the first job has done 3600 x 1.5 x 2 of its 16000 s of work, so the second has more left and gets the third GPU. They end after
# 5200 / 2 and 7000 / 3 s.
printf 'submit_s,duration_s,gpus,speedup\n0,16000,1,1:1;2:1.5\n3600,7000,1,1:1;2:1.5\n' >grow.csv
"$orrery" jobs grow.csv --cluster 1x3:v100:speed=2 --policy optimus --set policy.optimus.interval=1h --check --no-figures --out out -q
is "$(ends out/optimus.jobs.csv)" "6200 5933.33" "optimus: the speed of the type counts in the work left"
# Both jobs accept type a alone: two of its GPUs each, with or without GPUs of another type.
printf 'submit_s,duration_s,gpus,gpu_types,speedup\n0,1000,2,a,1:1;2:1.8;4:3\n0,1000,2,a,1:1;2:1.8;4:3\n' >one_type.csv
for cluster in 1x4:a:speed=1 1x4:a:speed=1,1x4:b:speed=1 1x4:b:speed=1,1x4:a:speed=1; do
  for p in optimus elasticflow spot-market; do
    "$orrery" jobs one_type.csv --cluster $cluster --policy $p --check --no-figures --out out -q
    is "$(ends out/$p.jobs.csv)" "1000 1000" "$p: GPUs are counted by type, $cluster"
  done
done

# The speed of a job that names a model equals the ratio of two runs of the step world.
printf 'submit_s,duration_s,gpus,model\n0,1000,1,ResNet-50\n0,1000,1,no such model\n' >t.csv
named=$(run 2x1:h100 --set jobs.reference_type=v100 --precision fp16 --batch 64)
like "$(cat notes.txt)" '1 jobs have the ratio of the model that they name, 1 the class mean' "jobs by source"
step() { "$orrery" step resnet50 --cluster "1x1:$1" --policy allreduce --batch 64 --precision fp16 --out step -q --no-figures && awk -F, '$2 == "samples_per_s" { print $3 }' step/summary.csv; }
is_near "${named% *}" "$(awk -v v="$(step v100)" -v h="$(step h100)" 'BEGIN { print 1000 * v / h }')" 0.002 "a model of the catalogue: orrery step's ratio"

# A table of throughputs takes precedence over the class mean. The class mean applies to jobs without a model.
printf '{"v100": {"(%sx%s, 1)": {"null": 1}}, "h100": {"(%sx%s, 1)": {"null": 8}}}' "'" "'" "'" "'" >rates.json
printf 'submit_s,duration_s,gpus,model\n0,1000,1,x\n0,1000,1,\n' >t.csv
tabled=$(run 2x1:h100 --set jobs.reference_type=v100 --throughputs rates.json)
is "${tabled% *}" 125 "the throughput table comes first"
is_near "${tabled#* }" "$(awk -v h="$h100" 'BEGIN { print 10 * h }')" 1e-9 "jobs that name no model have the class mean"

# ---- several types ----
printf 'submit_s,duration_s,gpus\n0,100,1\n0,100,1\n0,100,3\n' >t.csv
run 2x1:v100,2x1:h100 --drop-unfit >/dev/null
like "$(cat notes.txt)" 'remark: the GPU types v100 and h100 change no rate: no reference type is known' "types without an effect are named"
printf 'submit_s,duration_s,gpus\n0,100,1\n1,100,2\n' >t.csv
is "$(run 1x1:v100,1x2:h100)" "100 101" "without jobs.reference_type all types are equally good"
is "$(run 1x1:v100,1x2:h100 --set jobs.type_order=fastest)" "100 101" "without jobs.reference_type the types are used in the order of the cluster"
mixed=$(run 1x1:v100,1x1:h100 --drop-unfit --set jobs.reference_type=v100)
is "$mixed" 100 "the cluster's order tries v100 first"
like "$(cat notes.txt)" "remark: jobs try GPU types in the cluster's order, the slower v100 before h100 .jobs.type_order=fastest" "which is said"
is "$(run 1x1:v100,1x1:h100 --drop-unfit --set jobs.reference_type=v100 --set jobs.type_order=fastest)" "$h100" "the fastest first"
# The same is said of jobs whose own rates order the types, but not of a policy that chooses the type itself.
printf '{"k80": {"(%sx%s, 1)": {"null": 1}}, "v100": {"(%sx%s, 1)": {"null": 8}}}' "'" "'" "'" "'" >order.json
printf 'submit_s,duration_s,gpus,model\n0,1000,1,x\n' >rated.csv
printf 'submit_s,iterations,gpus,model,strategy\n0,10,1,alexnet,allreduce\n' >trains.csv
order="jobs try GPU types in the cluster's order, the slower k80 before v100"
says() { "$orrery" jobs "$@" --no-figures 2>&1 | grep -c "^$order"; }
is "$(says rated.csv --cluster 1x1:k80,1x1:v100 --throughputs order.json --policy fifo) $(says trains.csv --cluster 1x1:k80,1x1:v100 --policy fifo)" "1 1" \
  "rates by a table, rates by the step world: a slower type comes first, which is said"
is "$(says rated.csv --cluster 1x1:k80,1x1:v100 --throughputs order.json --policy gavel) $(says rated.csv --cluster 1x1:v100,1x1:k80 --throughputs order.json \
  --policy fifo)" "0 0" "not said: a policy that chooses the type; the faster type first"
# By hand: the first job takes the fast GPU until 50 s. The second job takes the slow GPU at 1 s. At 101 s both
# are free, and the third job takes the fast one.
printf 'submit_s,duration_s,gpus\n0,100,1\n1,100,1\n101,100,1\n' >both.csv
for p in fifo easy-backfill conservative-backfill; do
  "$orrery" jobs both.csv --cluster 1x1:slow:speed=1,1x1:fast:speed=2 --policy $p --set jobs.type_order=fastest --check --no-figures --out out -q
  is "$(ends out/$p.jobs.csv)" "50 101 151" "$p: a job that may start on two types takes the fastest"
done
# By hand: one GPU of the fast type and both of the slow one are in use until 100 s. The third job needs two GPUs and could have either type
# then: its reservation is on the fast one, so the last job does not take the free GPU of this type, but one of the slow type at 100 s.
printf 'submit_s,duration_s,gpus,limit_s\n0,200,1,200\n0,100,2,100\n1,100,2,100\n2,1000,1,1000\n' >reserve.csv
for p in easy-backfill conservative-backfill; do
  "$orrery" jobs reserve.csv --cluster 1x2:slow:speed=1,1x2:fast:speed=2 --policy $p --set jobs.type_order=fastest --check --no-figures --out out -q
  is "$(ends out/$p.jobs.csv)" "100 100 150 1100" "$p: a reservation is on the first type in the job's order"
done
printf 'submit_s,duration_s,gpus\n0,100,1\n0,100,2\n1,100,3\n' >t.csv
is "$(run 2x2:v100,1x3:h100)" "100 100 101" "two jobs on v100, one on h100"
printf 'submit_s,duration_s,gpus\n0,100,2\n0,100,2\n1,100,3\n' >t.csv
is "$(run 2x2:v100,1x4:h100:speed=1)" "100 100 101" "all GPUs of a job have one type"
printf 'submit_s,duration_s,gpus\n0,100,3\n0,100,3\n1,100,2\n' >t.csv
is "$(run 1x4:v100,1x4:h100:speed=1)" "100 100 200" "a job waits until enough GPUs of one type are free"
like "$(cat notes.txt)" "remark: a job runs on GPUs of one type: 1 jobs waited although enough GPUs of several types were free in total" "a remark says how many jobs waited for GPUs of one type"

# More nodes of a faster type must not delay any job under fifo, nor increase any mean under the other policies.
means() { awk -F, '$2 == "jct_mean" { print $3 }' "$1/summary.csv"; }
for seed in 1 2 3 4; do
  what=(philly-like:days=8 --seed "$seed" --set jobs.reference_type=v100 --set jobs.type_order=fastest --no-figures -q --policy fifo,las,srtf,easy-backfill)
  "$orrery" jobs "${what[@]}" --cluster 16x8:v100 --out old
  "$orrery" jobs "${what[@]}" --cluster 16x8:v100,4x8:h100 --out new
  is "$(paste -d, <(cut -d, -f5 old/fifo.jobs.csv) <(cut -d, -f5 new/fifo.jobs.csv) | awk -F, 'NR > 1 && $2 > $1' | wc -l)" 0 \
    "seed $seed: no job ends later under fifo"
  is "$(paste -d' ' <(means old) <(means new) | awk '$2 > $1' | wc -l)" 0 "seed $seed: no mean JCT is larger under fifo, las, srtf, easy-backfill"
done

# ---- the table of docs/models/jobs.md ----
rows() { # PRECISION TYPE..: rows of the table, from what a run says
  local p=$1 c=
  shift
  for t in "$@"; do c=$c${c:+,}1x1:$t; done
  "$orrery" jobs poisson:rate=1,n=1 --cluster "$c" --policy fifo --set jobs.reference_type=v100 --precision "$p" --no-figures |
    sed -n '/^recorded/{s/^recorded[^;]*; //; s/; class:.*//; s/; /\n/g; p}' |
    sed -E "s/^([^ ]*) ([0-9.]+) \(class mean, 10 to 90 % of models: (.*)\)/| $p | \1 | \2 | \3 |/"
}
is "$({ rows fp32 k80 p100 t4 a100 a100-80g h100 h200; rows fp16 t4 a100 a100-80g h100 h200; } |
  while read -r row; do grep -qxF "$row" "$tree/docs/models/jobs.md" || echo "$row"; done)" "" "class means in the documents are those of the program"

# ---- draws ----
printf 'submit_s,duration_s,gpus\n0,100,1\n0,100,1\n' >t.csv
run 2x1:h100 --set jobs.reference_type=v100 --cost-samples 40 >/dev/null
ok "$(awk -F, -v h="$h100" '$2 == "jct_mean" { exit !($4 < $3 && $5 > $3 && $3 > h - 0.01 && $3 < h + 0.01 && $5 - $4 > h / 10) }' out/summary.csv; echo $?)" \
  "draws of the class give an interval about the mean's answer: $(awk -F, '$2 == "jct_mean"' out/summary.csv)"
like "$(cat notes.txt)" '40 draws of the laws of step times and, for each job, of a model of its class' "which is said"
run 2x1:h100 --set jobs.reference_type=v100 --cost-samples 40 --set seed=1 >/dev/null
a=$(cat out/summary.csv)
"$orrery" jobs t.csv --cluster 2x1:h100 --policy fifo --set jobs.reference_type=v100 --cost-samples 40 --no-figures --out out -q -j 1
is "$(cat out/summary.csv)" "$a" "a second run draws the same samples of the cost"

tap_done
