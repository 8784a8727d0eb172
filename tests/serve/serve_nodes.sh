#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Replicas on several nodes: bytes of their messages by hand, times against the collectives of `orrery step`.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
cd "$work" || exit 1
metric() { awk -F, -v m="$1" '$2 == m { print $3 }' o/summary.csv; }
check() { ok "$(awk "BEGIN { print !($1) }")" "$2 ($1)"; }
# Serves one prompt of 512 tokens with one output. This is one iteration, so TTFT is the time of the iteration.
serve() { # CLUSTER NETWORK ARGS..
  local cluster=$1 network=$2
  shift 2
  rm -rf o
  timeout 100 "$orrery" serve poisson:rate=1,n=1,prompt=512,output=1 --model llama2-70b --policy vllm --cluster "$cluster" \
    --network "$network" "$@" --check --out o --no-figures >said 2>&1 || cat said
}
step_s() { # CLUSTER NETWORK OP: seconds of the op alone
  rm -rf o
  echo '{"ops": [{"id": "a", '"$3"'}]}' >g.json
  timeout 100 "$orrery" step resnet50 --cluster "$1" --network "$2" --policy graph --set policy.graph.file=g.json --batch 1 \
    --set step.iterations=1 --out o --no-figures >said 2>&1 || cat said
  metric iteration_s
}

# Llama-2-70B has 80 blocks, width 8192, 32,000 words and two bytes per element. Each block has two all-reduces and
# the embedding has one, of 512 tokens each; there is one all-gather of the scores of one token.
M=$((512 * 8192 * 2))
slow=star:bw=10Gbps
free=star:bw=1000000Gbps,lat=0
for cluster in 8x1:h100 2x4:h100; do
  serve $cluster $slow --tp 8
  there=$(metric ttft_mean) bytes=$(metric group_network_bytes)
  serve $cluster $free --tp 8
  base=$(metric ttft_mean)
  one=$(step_s $cluster $slow '"collective": {"op": "all-reduce", "group": [0,1,2,3,4,5,6,7], "bytes": '$M'}')
  none=$(step_s $cluster $free '"collective": {"op": "all-reduce", "group": [0,1,2,3,4,5,6,7], "bytes": '$M'}')
  scores=$(step_s $cluster $slow '"collective": {"op": "all-gather", "group": [0,1,2,3,4,5,6,7], "bytes": 64000}')
  check "($there - $base) / (161 * ($one - $none) + $scores) - 1 < 0.05 && ($there - $base) / (161 * ($one - $none) + $scores) - 1 > -0.05" \
    "$cluster: 161 all-reduces take what orrery step says"
  # M is the size of an all-reduce. In a ring of 8 nodes each node sends 2 x 7/8 M. Two nodes form a tree: one
  # node sends its sum, and the other one returns the total. An all-gather is a ring: 7/8 of the result passes
  # each hop between nodes.
  nodes=${cluster%%x*}
  crossing=$((nodes == 2 ? 2 * M : 14 * M))
  check "($bytes / (161 * $crossing + 7 * 64000 * $nodes / 8) - 1) ^ 2 < 1e-12" "$cluster: bytes between nodes by hand"
done
serve 1x8:h100 $slow --tp 8
check "$(metric ttft_mean) < 0.1 && $there > 1" "eight GPUs on one node do not use the network"
is "$(metric group_network_bytes)" "" "one node: no bytes between nodes"
like "$(cat said)" "network has no effect: no KV cache was sent to another replica, and no replica is on several nodes" "said"

# With stages, each hop carries the hidden state of the tokens once. The last of the two stages has no hop.
serve 2x1:h200 $slow --pp 2
there=$(metric ttft_mean)
check "($(metric group_network_bytes) - $M) ^ 2 < 1" "two stages on two nodes: one hop"
serve 2x1:h200 $free --pp 2
check "($there - $(metric ttft_mean) - ($M / 1.25e9 + 1e-5)) ^ 2 < 1e-10" "the hop takes latency + bytes / bandwidth"
# There are four stages of two GPUs. Each GPU of a stage sends half of the state through the single NIC of its node.
serve 4x2:h100 $slow --tp 2 --pp 4
there=$(metric ttft_mean)
check "($(metric group_network_bytes) / (3 * $M) - 1) ^ 2 < 1e-12" "four stages on four nodes: three hops"
serve 4x2:h100 $free --tp 2 --pp 4
check "(($there - $(metric ttft_mean)) / (3 * ($M / 1.25e9 + 1e-5)) - 1) ^ 2 < 1e-4" "three hops in sequence"

# Without a network the replica uses the default of orrery step, and a line below the table names it.
serve 8x1:h100 none --tp 8
like "$(cat said)" "cross the network star \(network=none; its bw is 10Gbps\) with step.algorithm=auto, each timed as if alone" \
  "without --network: the default network"
check "$(metric ttft_mean) > 1" "the default network takes time"
# Several replicas get arrivals that interrupt repetitions of iterations. Conservation must hold, and equal replicas
# must send equal bytes.
rm -rf o
"$orrery" serve poisson:rate=2,n=60,prompt=300,output=40 --model llama2-70b --policy vllm --cluster 8x4:h100 --tp 8 --network star:bw=100Gbps \
  --check --out o --no-figures -q >said 2>&1
is "$? $(cat said) $(metric requests_completed)" "0  60" "four replicas of two nodes"
tap_done
