#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Tests of Dorylus: epochs of constant task times and bills, computed by hand; staleness, stragglers, errors, size.
. "${srcdir:-.}/tests/tap.sh"
orrery=$ORRERY
cd "$work" || exit 1

# go NAME=VALUE.. -- ARGUMENTS..: runs the policy with these parameters; metric NAME: prints a metric of this run
go() {
  local set=()
  while [ "$1" != -- ]; do
    set+=(--set "policy.dorylus.$1")
    shift
  done
  shift
  "$orrery" step "$@" --policy dorylus "${set[@]}" --check --out o -q 2>said || cat said >&2
}
metric() { awk -F, -v m="$1" '$2 == m { print $3 }' o/summary.csv; }
near() { awk -v x="$1" -v y="$2" -v e="${3-1e-9}" 'BEGIN { d = x - y; print (x != "" && d <= e * y && -d <= e * y) ? "equal" : x " not " y }'; }

# One graph server has 10 chunks of a GCN of two layers: GA, AV, SC, GA, AV (fused), SC, GA, AV. GA takes a = 0.1 s
# and runs alone on the server; AV takes v. A segment between barriers is a flow shop of 10 chunks.
one=(gcn:vertices=1000,edges=8000,widths=32-16-4 --cluster 1x1:c5n.2xlarge --set step.update_cost=none)
plain=(weight_servers=0 chunks=10 lambda_start=0 relaunch=false)
go "${plain[@]}" lambdas=1 task_s=0.1,0.05,0,0,0 -- "${one[@]}" --set step.iterations=3
is "$(near "$(metric iteration_s)" 3.15)" equal "pipe, one function, v = 0.05 s: 3 (10 a + v)"
go "${plain[@]}" lambdas=1 task_s=0.1,0.2,0.01,0,0 -- "${one[@]}" --set step.iterations=3
is "$(near "$(metric iteration_s)" 6.32)" equal "v = 0.2 s, scatter 0.01 s: 3 (a + 10 v) + 2 x 0.01"
go "${plain[@]}" lambdas=1 variant=no-pipe task_s=0.1,0.05,0.01,0,0 -- "${one[@]}" --set step.iterations=3
is "$(near "$(metric iteration_s)" 4.52)" equal "no-pipe: 3 (10 a + 10 v) + 2 x 0.01"
go "${plain[@]}" lambdas=10 variant=no-pipe task_s=0.1,0.05,0.01,0,0 -- "${one[@]}" --set step.iterations=3
is "$(near "$(metric iteration_s)" 3.17)" equal "no-pipe, 10 functions: 3 (10 a + v) + 2 x 0.01"
go "${plain[@]}" mode=cpu task_s=0.1,0.05,0.01,0,0 -- "${one[@]}" --set step.iterations=3
is "$(near "$(metric iteration_s)" 4.52)" equal "on the CPU all tasks but scatters take turns: 3 (10 a + 10 v) + 2 x 0.01"
go "${plain[@]}" lambdas=1 variant=async staleness=3 task_s=0.1,0.05,0,0,0 -- "${one[@]}" --set step.iterations=200
is "$(near "$(metric iteration_s)" 3.0 0.001)" equal "async: an epoch tends to the time of GA, the slowest stage"
go "${plain[@]}" lambdas=1 variant=async staleness=3 task_s=0.1,0.2,0,0,0 -- "${one[@]}" --set step.iterations=200
is "$(near "$(metric iteration_s)" 6.0 0.001)" equal "async: or to that of AV"
go "${plain[@]}" lambdas=10 task_s=0,0,0,0,0.02 -- "${one[@]}" --set step.iterations=3
is "$(near "$(metric iteration_s)" 0.4)" equal "an epoch ends after its updates: 20 gradients of 0.02 s at one server"

# Cost per epoch: 30 invocations of 0.05 s with 192 MiB each. The server runs for two epochs of 3.15 s at 0.432
# USD/h.
bill=("${plain[@]}" lambdas=10 task_s=0.1,0.05,0,0,0)
go "${bill[@]}" -- "${one[@]}" --set step.iterations=2
is "$(near "$(metric function_GB_s)" "$(awk 'BEGIN { print 60 * 0.1 * 192 / 1024 }')") $(metric invocations)" "equal 60" "each of 60 invocations is billed 0.1 s"
is "$(near "$(metric usd)" "$(awk 'BEGIN { printf "%.17g", 6.3 * 0.432 / 3600 + 60 * (0.1 * 192 / 1024 * 1.66667e-5 + 2e-7) }')")" equal "USD of a server and of functions"
is "$(near "$(metric value)" "$(awk -v c="$(metric usd)" 'BEGIN { printf "%.17g", 1 / (6.3 * c) }')")" equal "value is 1 / (time x cost)"
go "${bill[@]}" lambda_rounding=0.001 -- "${one[@]}" --set step.iterations=2 --set step.prices=c5n.2xlarge=3600
is "$(near "$(metric function_GB_s)" "$(awk 'BEGIN { print 60 * 0.05 * 192 / 1024 }')") $(near "$(metric node_usd)" 6.3)" "equal equal" \
  "billing per ms, 1 USD per s of a server"

# Transfers of one chunk of 1,000 rows with widths 100-20-5: the link of a function carries 1 MB/s, the matrix
# product runs at 1 GFLOP/s.
go weight_servers=0 lambdas=1 relaunch=false lambda_bandwidth=1e6 lambda_rate=1e9 lambda_start=0.5 lambda_rounding=0 fuse=true rematerialise=true -- \
  gcn:vertices=1000,edges=8000,widths=100-20-5 --cluster 1x1:c5n.2xlarge --network star:lat=0 --set step.iterations=1
want=$(awk 'BEGIN {
  w0 = 4 * 100 * 20; w1 = 4 * 20 * 5; f0 = 2 * 1000 * 100 * 20; f1 = 2 * 1000 * 20 * 5
  t = 4 * 1000 * 100 + w0 + f0 / 1e3 + 4 * 1000 * 20                              # AV of layer 0
  t += 4 * 1000 * 20 + 4 * 1000 + w1 + 3 * f1 / 1e3 + 4 * 1000 * 20 + w1          # AV of layer 1, forward and backward, with labels
  t += 4 * 1000 * 100 + 4 * 1000 * 20 + w0 + 2 * f0 / 1e3 + w0                    # AV of layer 0, backward, with the forward product
  printf "%.17g", t / 1e6 }')
is "$(near "$(metric function_s)" "$want")" equal "bytes and FLOPs of the three invocations of a chunk, without start times"

# Staleness: some functions take seconds longer. The current epochs of chunks must differ by at most S, and reach a
# difference of S.
tail=(chunks=4 lambdas=4 weight_servers=2 variant=async lambda_tail_p=0.02 relaunch=false)
six=(gcn:vertices=4000,edges=40000,widths=32-16-6 --cluster 4x1:c5n.2xlarge,2x1:c5.xlarge)
for s in 0 1 2 3; do
  go "${tail[@]}" staleness=$s -- "${six[@]}" --set step.iterations=60
  metric choice_ahead
done >ahead
is "$(tr '\n' ' ' <ahead)" "0 1 2 3 " "epochs under way differ by at most S, and S is reached"

# Stragglers: a task is relaunched at the age max(0.5 s, 5 x mean).
slow=(chunks=4 lambdas=4 weight_servers=2)
go "${slow[@]}" lambda_tail_p=0.02 relaunch=false -- "${six[@]}" --set step.iterations=60
without=$(metric time_s)
go "${slow[@]}" lambda_tail_p=0.02 lambda_tail=5 -- "${six[@]}" --set step.iterations=60
with=$(metric time_s)
is "$(awk -v a="$(metric choice_relaunched)" -v b="$(metric choice_wasted)" 'BEGIN { print (a > 10 && a == b) ? "each" : a " " b }')" each \
  "every relaunch gives one result too many"
is "$(awk -v a="$with" -v b="$without" 'BEGIN { print (a < b) ? "shorter" : a " " b }')" shorter "relaunches remove the tail, even one five times as long"
go "${slow[@]}" lambda_tail_p=0.02 lambda_tail=0.35 lambda_tail_exponent=100 -- "${six[@]}" --set step.iterations=60
is "$(metric choice_relaunched)" 0 "no task is started again before 0.5 s"
go "${slow[@]}" lambda_tail_p=0.02 lambda_tail=0.35 lambda_tail_exponent=100 relaunch_after=0.3 relaunch_check=0.01 -- "${six[@]}" --set step.iterations=60
is "$(awk -v x="$(metric choice_relaunched)" 'BEGIN { print (x > 10) }')" 1 "with 0.3 s they are"
go "${slow[@]}" lambda_tail_p=1 lambda_tail=2 lambda_tail_exponent=100 -- "${six[@]}" --set step.iterations=20
is "$(metric choice_relaunched)" 0 "tasks that all take 2 s are below 5 means"
go "${slow[@]}" lambda_tail_p=1 lambda_tail=2 lambda_tail_exponent=100 -- gat:vertices=4000,edges=40000,widths=32-16-6 "${six[@]:1}" --set step.iterations=3
is "$(metric choice_relaunched)" 0 "edge tasks of 2 s are below 6 s"
go "${slow[@]}" lambda_tail_p=1 lambda_tail=2 lambda_tail_exponent=100 relaunch_edge=1 -- gat:vertices=4000,edges=40000,widths=32-16-6 "${six[@]:1}" --set step.iterations=3
is "$(awk -v x="$(metric choice_relaunched)" 'BEGIN { print (x > 0) }')" 1 "with 1 s they are started again"

# tuned WHAT BANDWIDTH CHUNKS LAMBDAS..: tests that the tuner, which starts from min(CHUNKS, 100) functions per
# server, ends within 10 % of the best value of the sweep. best: the best number of functions in the sweep
tuned() {
  local what=$1 l best_value end chunks=$3 amazon=(gcn_amazon --cluster 8x1:c5n.2xlarge,4x1:c5.xlarge --network "star:bw=$2")
  shift 3
  best_value=$(for l in "$@"; do
    go weight_servers=4 chunks="$chunks" peers=1 lambdas="$l" -- "${amazon[@]}" --set step.iterations=2
    echo "$(metric value) $l"
  done | sort -g | tail -1)
  go weight_servers=4 chunks="$chunks" peers=1 lambda_autotune=true -- "${amazon[@]}" --set step.iterations=25
  end=$(metric choice_lambdas)
  go weight_servers=4 chunks="$chunks" peers=1 lambdas="$end" -- "${amazon[@]}" --set step.iterations=2
  is "$(awk -v x="$(metric value)" -v best="${best_value% *}" 'BEGIN { print (x >= 0.9 * best) ? "near" : x " of " best }')" near \
    "the tuner ends at $end functions, within 10 % of the best value, $what"
  best=${best_value#* }
}
tuned "near the start of the search" 10Gbps 240 30 60 90 120 240
ok $((best <= 30 || best >= 240)) "the best number is inside the sweep: $best"
tuned "far from the start" 1Gbps 90 5 10 15 20 40 90
ok $((best > 20)) "with links of 1 Gb/s the best number is at most 20"

# Each graph server has the times of its own type: the slowest ends last, wherever it is.
go mode=cpu -- gcn_amazon --cluster 9x1:c5.xlarge --set step.ignore_memory=true --set step.iterations=2
alike_s=$(metric iteration_s)
go mode=cpu -- gcn_amazon --cluster 1x1:c5n.2xlarge,8x1:c5.xlarge --set step.ignore_memory=true --set step.iterations=2
is "$(near "$(metric iteration_s)" "$alike_s" 1e-4)" equal "one faster graph server does not make the others faster"

# Friendster on 32 + 8 servers with 1,600 functions must take at most 30 CPU s and 1 GB for 20 epochs.
(
  [ -n "${ORR_SANITIZED:-}" ] || ulimit -t 30 -v 1000000
  go weight_servers=8 lambdas=50 peers=1 -- gcn_friendster --cluster 32x1:c5n.4xlarge,8x1:c5.2xlarge --network star:bw=15Gbps --set step.iterations=20
  echo "$(metric invocations) $(cat said)"
) >large 2>&1
is "$(cat large)" "96000 " "Friendster, 1,600 functions, 20 epochs: 30 CPU s and 1 GB suffice, --check holds"

# ---- what the devices are ----
# A GPU has the rows of its gather, R in and R out, G ghosts in, of 300 values of 4 bytes, and the edges of 8 bytes. R = V / 7 servers; with
# Poisson degrees of mean E / V the ghosts are 6 V (1 - exp(-E / V / 7)).
go mode=gpu -- gcn_amazon --cluster 8x1:v100 --set step.iterations=2
is "$(awk -v x="$(metric peak_memory_bytes)" 'BEGIN { V = 9.2e6; E = 313.9e6; G = 6 * V * (1 - exp(-E / V / 7)) / 7
  off = x / (1200 * (2 * V / 7 + G) + 8 * E / 7) - 1; print (off * off < 1e-6 ? "near" : off) }')" near "mode=gpu: the memory of a GPU holds a gather"
said() { "$orrery" step gcn_amazon --policy dorylus --set policy.dorylus.mode="$1" --cluster "$2" --set step.iterations=2 --no-figures 2>&1; }
like "$(said lambda 9x1:v100)" 'graph servers have the times, memory and price of v100, a GPU' "GPUs as graph servers are named"
like "$(said gpu 9x1:c5n.2xlarge)" 'mode=gpu: c5n.2xlarge is no GPU' "servers as GPUs are named"
is "$(said gpu 8x1:v100 | grep -c 'is no GPU\|a GPU:') $(said cpu 9x1:c5n.2xlarge | grep -c 'is no GPU\|a GPU:')" "0 0" "neither, where the devices fit"

# refuses TEXT ARGUMENTS..: checks for exit code 2 and a message with TEXT
refuses() {
  local text=$1
  shift
  "$orrery" step "$@" --policy dorylus -q >stdout 2>said
  like "$? $(cat said)" "^2 .*$text" "refused: $text"
}
graph=gcn:vertices=100,edges=500,widths=8-4
refuses 'expected a graph neural network, a GCN or GAT' resnet50 --cluster 2x1:c5.xlarge
refuses 'edges: expected a number from 1 to "vertices" x \("vertices" - 1\) = 9900' gcn:vertices=100,edges=10000,widths=8-4 --cluster 2x1:c5.xlarge
refuses 'widths: expected the widths of the input' gcn:vertices=100,edges=500 --cluster 2x1:c5.xlarge
refuses 'widths: expected 2 to 9 whole numbers' gcn:vertices=100,edges=500,widths=8-x --cluster 2x1:c5.xlarge
refuses 'did you mean "vertices"?' gcn:verticez=100,edges=500,widths=8-4 --cluster 2x1:c5.xlarge
refuses 'degrees: expected regular, poisson or power' $graph,degrees=normal --cluster 2x1:c5.xlarge
refuses 'exponent: expected a number from 2.01' $graph,degrees=power,exponent=2 --cluster 2x1:c5.xlarge
refuses 'weight_servers: expected fewer than the 2 devices' $graph --cluster 2x1:c5.xlarge --set policy.dorylus.weight_servers=2
refuses 'at most one per vertex' $graph --cluster 4x1:c5.xlarge
refuses 'task_s: expected 5 times' $graph --cluster 2x1:c5.xlarge --set policy.dorylus.lambdas=2 --set policy.dorylus.task_s=1,2
refuses 'expected a larger lambda_memory or more chunks' gcn_amazon --cluster 9x1:c5n.2xlarge --set policy.dorylus.lambdas=1
refuses 'no price of p100 is known: expected --set step.prices=p100=USD_PER_HOUR' $graph --cluster 2x1:p100 --set policy.dorylus.lambdas=2
refuses 'step.prices: expected TYPE=USD_PER_HOUR' $graph --cluster 2x1:p100 --set step.prices=p100=-1
refuses 'unknown GPU type .v100.: expected types of the cluster, such as p100' $graph --cluster 2x1:p100 --set step.prices=v100=1
tap_done
