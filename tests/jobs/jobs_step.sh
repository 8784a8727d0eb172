#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Jobs that name a model and a strategy have the speed of `orrery step` on their GPUs and slow each other on shared links.
# Each place is simulated once.
. "${srcdir:-.}/tests/tap.sh"
orrery=$ORRERY
include=$(cd "$srcdir" && pwd)/include
plugins=$(cd "$srcdir" && pwd)/tests/plugins
graphs=$(cd "$srcdir" && pwd)/tests/data
cd "$work" || exit 1

header=submit_s,gpus,model,strategy,batch,iterations
jobs() { "$orrery" jobs "$@" --no-figures --out out -q 2>&1; }
jct() { awk -F, 'NR > 1 { printf "%s%s", (NR > 2 ? " " : ""), $6 }' "out/$1.jobs.csv"; }
metric() { awk -F, -v p="$1" -v m="$2" '$1 == p && $2 == m { print $3 }' out/summary.csv; }
# near GOT WANT TOLERANCE WHAT: relative
near() {
  ok "$(awk -v a="$1" -v b="$2" -v t="$3" 'BEGIN { d = a - b; if (d < 0) d = -d; print !(a != "" && d <= t * b) }')" "$4 ($1, $2)"
}
# step ARGUMENTS..: prints the seconds of the last iteration
step() {
  rm -rf st
  "$orrery" step "$@" --no-figures --out st -q && awk -F, 'END { printf "%.17g", $3 - $2 }' st/*.iterations.csv
}

# ---- a strategy with a file: a changed file gives another run hash ----
printf '%s\n0,2,lenet5,graph:file=graph.json,8,10\n' $header >graph.csv
for seconds in 0.010 0.010 0.020; do
  sed "s/0.010/$seconds/" "$graphs/graph-relay.json" >graph.json
  "$orrery" jobs graph.csv --cluster 2x1:v100 --network star --policy fifo --db graph.db -q 2>&1
done
is "$("$orrery" db runs graph.db | grep -c fifo)" 2 "two of three runs: the first and second have a graph of equal contents"

# ---- the speed depends on the place ----
# gpu_lat=0 makes both cases equal: GPUs of a node with several GPUs are behind its NVLink, a single GPU is not.
net=star:bw=10Gbps,gpu_lat=0
printf '%s\n0,8,vgg16,allreduce,32,1000\n' $header >vgg.csv
one=$(step vgg16 --cluster 1x8:v100 --network $net --policy allreduce --batch 32)
eight=$(step vgg16 --cluster 8x1:v100 --network $net --policy allreduce --batch 32)
jobs vgg.csv --cluster 8x8:v100 --network $net --policy fifo --placement consolidate --check
near "$(jct fifo)" "$(awk -v x="$one" 'BEGIN { printf "%.12g", 1000 * x }')" 1e-9 "on one node: 1,000 iterations of orrery step"
jobs vgg.csv --cluster 8x8:v100 --network $net --policy fifo --placement spread --check
near "$(jct fifo)" "$(awk -v x="$eight" 'BEGIN { printf "%.12g", 1000 * x }')" 1e-9 "spread over eight nodes: 1,000 iterations of orrery step there"
printf 'submit_s,gpus,model,strategy,batch,duration_s\n0,8,vgg16,allreduce,32,100\n' >duration.csv
jobs duration.csv --cluster 8x8:v100 --network $net --policy fifo --placement spread --check
near "$(jct fifo)" "$(awk -v x="$one" -v y="$eight" 'BEGIN { printf "%.12g", 100 * y / x }')" 1e-9 \
  "a duration refers to the fewest possible nodes: 100 s x ratio of the iterations"
printf '%s\n0,8,vgg16,"allreduce:fusion=none,overlap=no",,10\n0,8,vgg16,allreduce:fusion=none;overlap=no,16,10\n' $header >two.csv
jobs two.csv --cluster 2x8:v100 --network star --policy fifo --placement consolidate --batch 16
is "$(jct fifo | cut -d' ' -f1)" "$(jct fifo | cut -d' ' -f2)" "--batch applies to rows without a batch; ',' or ';' between parameters"

# ---- two jobs on one uplink ----
# Nodes 0 and 2 are in rack 0, nodes 1 and 3 in rack 1. Placement spread puts the first job on nodes 0 and 1, the
# second on 2 and 3. Compute takes no time, so an iteration consists of its messages. An uplink has the capacity of
# one of the two NICs.
cat >racks.json <<'EOT'
{"nodes": [{"gpus": 1, "type": "v100", "rack": 0}, {"gpus": 1, "type": "v100", "rack": 1},
           {"gpus": 1, "type": "v100", "rack": 0}, {"gpus": 1, "type": "v100", "rack": 1}]}
EOT
pair() { # TRACE OVERSUBSCRIPTION ARGUMENTS..
  jobs "$1" --cluster racks.json --network "racks:bw=10Gbps,lat=0,switch_lat=0,oversubscription=$2" --policy fifo \
    --placement spread --set step.compute_s=1e-9 --set step.update_cost=none --check "${@:3}"
}
printf '%s\n0,2,vgg16,allreduce,32,1000\n' $header >a.csv
printf '%s\n0,2,vgg16,allreduce,32,1000\n0,2,vgg16,allreduce,32,1000\n' $header >ab.csv
pair a.csv 2
alone=$(jct fifo)
near "$alone" "$(awk 'BEGIN { printf "%.12g", 1000 * 4 * 138357544 / 1.25e9 }')" 1e-6 "alone: 2(n-1)/n of the gradient at 10 Gb/s"
for how in analytic simulated; do
  pair ab.csv 2 --sharing $how
  near "$(jct fifo | cut -d' ' -f1)" "$(awk -v x="$alone" 'BEGIN { printf "%.12g", 2 * x }')" 1e-6 "$how: two jobs on one uplink, each gets half"
  near "$(jct fifo | cut -d' ' -f2)" "$(awk -v x="$alone" 'BEGIN { printf "%.12g", 2 * x }')" 1e-6 "$how: so does the other"
  pair ab.csv 1 --sharing $how
  is "$(jct fifo)" "$alone $alone" "$how: an uplink with room for both slows neither"
done
pair ab.csv 2 --sharing off
is "$(jct fifo)" "$alone $alone" "--sharing off: neither job is slowed"
# Times are in units of a's time alone. Job b arrives at 1/2 and has a third of a's iterations. From then on both
# run at half speed. Job b ends 2/3 after its arrival; a has then done 1/2 + 1/3, and does the last 1/6 alone. So a
# ends at 1/2 + 2/3 + 1/6.
near "$alone" 442.7441408 1e-6 "the time for which the next trace is made"
printf '%s\n0,2,vgg16,allreduce,32,1200\n265.64648448,2,vgg16,allreduce,32,400\n' $header >late.csv
for how in analytic simulated; do
  pair late.csv 2 --sharing $how
  near "$(jct fifo | cut -d' ' -f1)" "$(awk -v x="$alone" 'BEGIN { printf "%.12g", 1.2 * x * (1 / 2 + 2 / 3 + 1 / 6) }')" 1e-6 \
    "$how: rates change when the other starts and ends"
  is "$(metric fifo sharing_changes)" 2 "$how: twice"
done

# ---- with compute time: formula against simulation ----
printf '%s\n0,2,vgg16,allreduce,32,1000\n0,2,resnet50,allreduce,32,4000\n' $header >mix.csv
for how in analytic simulated; do
  jobs mix.csv --cluster racks.json --network "racks:bw=10Gbps,oversubscription=2" --policy fifo --placement spread --sharing $how --check
  jct fifo | tr ' ' '\n' >$how
done
ok "$(paste analytic simulated | awk '{ d = $1 / $2 - 1; if (d < -0.03 || d > 0.03) bad = 1 } END { print bad + 0 }')" \
  "VGG-16 beside ResNet-50: formula within 3 % of the simulation ($(paste -sd' ' analytic); $(paste -sd' ' simulated))"

jobs mix.csv --cluster racks.json --network "racks:bw=10Gbps,oversubscription=2" --policy fifo --placement spread --sharing simulated \
  --set jobs.sharing_flows=1
near "$(jct fifo | cut -d' ' -f1)" "$(head -1 analytic)" 1e-9 "a set too large to simulate uses the formula"

# ---- stopped, moved, failed: work is conserved ----
printf '%s\n0,2,vgg16,allreduce,32,500\n0,2,vgg16,allreduce,32,3000\n100,4,alexnet,allreduce,32,50\n300,2,alexnet,allreduce,32,200\n' $header >churn.csv
said=$(jobs churn.csv --cluster racks.json --network "racks:bw=10Gbps,oversubscription=2" --policy fifo,srtf,las --placement spread --check \
  --set jobs.preempt_cost=3s --set jobs.start_cost=1s)
is "$? $said $(metric srtf jobs_completed)" "0  4" "stopped and started again"
said=$(jobs churn.csv --cluster racks.json --network "racks:bw=10Gbps,oversubscription=2" --policy fjf --placement spread --check \
  --set failures.mtbf=300s --set failures.mttr=20s --set jobs.checkpoint=10s)
is "$? $said $(metric fjf jobs_completed)" "0  4" "with node failures"
# A job of 1,000 iterations runs alone, with a checkpoint every 30 s, and fails at 100 s. The work of 90 s is kept,
# at any rate.
printf 'time_s,node,event\n100,n0,fail\n100,n0,repair\n' >f.csv
pair a.csv 2 --failures f.csv --set jobs.checkpoint=30s
near "$(jct fifo)" "$(awk -v x="$alone" 'BEGIN { printf "%.12g", x + 10 }')" 1e-9 "a failure loses the work after the last checkpoint"
if ${CC:-cc} -std=c11 -Wall -Wextra -Werror -shared -fPIC -I"$include" -o elastic.so "$plugins/elastic.c"; then
  # The job runs on 1 GPU for 6 s, then on 4. The samples/s of each size come from the step world; the speedup
  # table is ignored.
  printf 'submit_s,gpus,model,strategy,batch,duration_s,speedup\n0,2,alexnet,allreduce,32,30,1:1;2:9;4:1\n' >e.csv
  rate() { awk -v n="$1" -v x="$(step alexnet --cluster "1x$1:v100" --network star --policy allreduce --batch 32)" 'BEGIN { printf "%.17g", n / x }'; }
  want=$(awk -v a="$(rate 1)" -v b="$(rate 2)" -v c="$(rate 4)" 'BEGIN { printf "%.12g", 6 + (30 - 6 * a / b) * b / c }')
  jobs e.csv --cluster 1x4:v100 --network star --policy ./elastic.so --check
  near "$(jct elastic)" "$want" 1e-9 "an elastic job grows from one GPU to four"
else
  skip "no C compiler is installed"
fi

# ---- each place is simulated once ----
n=1000
[ -z "$ORR_SANITIZED" ] || n=200
trace="poisson:n=$n,rate=0.02,mean=600,gpus=4,models=alexnet|vgg16|resnet50|googlenet|inception3,strategy=allreduce"
said=$("$orrery" jobs "$trace" --cluster 8x4:v100 --network star:bw=10Gbps --policy fifo,srtf,las --placement consolidate --no-figures --out out 2>&1 >/dev/null)
like "$said" 'step times simulated for 5 distinct placements(;|$)' "$n jobs of 5 models under three policies: 5 runs of the step world"
is "$(metric las step_shapes)" 5 "the run reports the number of shapes"
for j in 1 2; do
  "$orrery" jobs "poisson:n=200,rate=0.02,mean=600,gpus=4,models=alexnet|vgg16|resnet50,strategy=allreduce" --cluster 16x2:v100:racks=4 \
    --network "racks:bw=10Gbps,oversubscription=4" --policy fifo,srtf,las,fjf --placement spread --sharing simulated --set jobs.sharing_most=3 \
    -j $j --db d$j.db --no-figures --out o$j -q
done
is "$("$orrery" db digest d1.db)" "$("$orrery" db digest d2.db)" "one thread or two: the same digest"
is "$(cat o1/*.csv | cksum)" "$(cat o2/*.csv | cksum)" "one thread or two: the same files"
ok "$(awk -F, '$2 == "sharing_sets" && $3 > 0 { n++ } END { print n != 4 }' o1/summary.csv)" "sets of jobs were simulated with one thread and with two"

# ---- scenarios ----
"$orrery" scenario show two.csv --cluster 2x8:v100 --network star --policy fifo --sharing simulated >s.json
"$orrery" scenario show s.json >t.json 2>/dev/null || "$orrery" run s.json -q
if command -v jq >/dev/null; then
  is "$(jq -r '.sharing, .network, .batch, (.step_inputs | keys[])' s.json | paste -sd' ')" "simulated star 32 vgg16" "the scenario has all keys"
else
  skip "jq is not installed"
fi
is "$("$orrery" run s.json --no-figures --out r -q 2>&1; cut -d, -f6 r/fifo.jobs.csv | paste -sd' ')" \
  "$(jobs two.csv --cluster 2x8:v100 --network star --policy fifo --sharing simulated; cut -d, -f6 out/fifo.jobs.csv | paste -sd' ')" "the scenario shown gives the same run"

# ---- nodes that a job does not use have no effect on it ----
printf '%s\n0,8,vgg16,allreduce,32,100\n' $header >own.csv
ends() { jobs own.csv --cluster "$1" --network star --policy fifo; cut -d, -f5 out/fifo.jobs.csv | paste -sd' '; }
is "$(ends 1x8:h100,1x8:k80)" "$(ends 1x8:h100)" "the links inside a node are those of its own GPUs, not of slower nodes elsewhere"

# ---- the default network is stated where it matters ----
said() { "$orrery" jobs own.csv --policy fifo --no-figures "$@" 2>&1 | grep -c 'one NIC of 10 Gbps'; }
is "$(said --cluster 2x4:v100) $(said --cluster 1x8:v100) $(said --cluster 2x4:v100 --network star:bw=25Gbps)" "1 0 0" \
  "the default network is an assumption of jobs on several nodes"

# ---- wrong input ----
bad() { # ROW PATTERN WHAT
  printf '%s\n0,1,alexnet,allreduce,32,10\n%s\n' $header "$1" >bad.csv
  said=$("$orrery" jobs bad.csv --cluster 4x2:v100 --network star --policy fifo 2>&1 >/dev/null)
  like "$? $said" "^2 orrery: $2" "$3"
}
bad '0,1,alexnot,allreduce,32,10' 'bad.csv:3: model: .*alexnot.*alexnet' "an unknown model: file, line and nearest name"
bad '0,1,alexnet,allredoce,32,10' 'bad.csv:3: strategy: .*allredoce.*allreduce' "an unknown strategy: file, line and nearest name"
bad '0,1,alexnet,fifo,32,10' 'bad.csv:3: strategy: .*fifo' "a policy of another world"
bad '0,1,alexnet,allreduce:fuse=ddp,32,10' 'bad.csv:3: strategy: allreduce: unknown parameter "fuse"' "an unknown parameter"
bad '0,1,,allreduce,32,10' 'bad.csv:3: strategy: expected a model' "a strategy without a model"
bad '0,0,alexnet,allreduce,32,10' 'bad.csv:3: strategy: expected an empty field, for a job without whole GPUs' "a strategy without GPUs"
bad '0,1,alexnet,allreduce,-1,10' 'bad.csv:3: batch: expected' "a batch below 0"
bad '0,1,vgg16,allreduce,30000,10' 'bad.csv:3: job 1: .*GiB' "a batch that does not fit into a GPU"
bad '0,1,alexnet,,32,10' 'job 1 \(line 3 of the trace\): has no duration' "iterations without a strategy"
said=$("$orrery" jobs poisson:n=5 --cluster 4x2:v100 --network star --policy fifo 2>&1)
like "$? $said" '^2 orrery: network: this option has no effect: expected a trace whose jobs name a strategy' "a network without jobs that use it"
said=$("$orrery" jobs a.csv --cluster 4x2:abacus --policy fifo 2>&1)
like "$? $said" '^2 orrery: .*abacus' "a GPU type that is not a device"
said=$("$orrery" jobs a.csv --cluster 4x2:v100 --policy fifo --sharing some 2>&1)
like "$? $said" '^2 orrery: scenario: \$\.sharing: expected off, analytic or simulated, found "some"' "an unknown value of --sharing"
said=$("$orrery" jobs a.csv --cluster 4x2:v100 --policy fifo --set step.speeds=0:0.5 2>&1)
like "$? $said" '^2 orrery: step.speeds' "speeds of single devices"
tap_done
