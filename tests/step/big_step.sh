# A training step of GPT-3 175B on a fat tree with TP 8, PP 16 and as many replicas as fit. There is one NIC per GPU; routes
# are D-mod-k; every collective runs as flows. Lanes are merged where routes and loads are equal, and the merged step equals
# the unmerged one. Sizes: 1,024 GPUs merged and unmerged; 10,240 GPUs (80 replicas, batch 2,560, micro-batch 1) merged.
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
. "$srcdir/tests/tap.sh"

# step NODES NETWORK BATCH [OPTIONS]: prints the duration of an iteration, or the error
step() {
  "${prefix[@]}" "$ORRERY" step gpt3_175b --cluster "$1x8:a100-80g" --network "fat-tree:$2,bw=200Gbps,nics=8" --batch 1 \
    --precision bf16 --set step.optimizer=adam --policy megatron --set policy.megatron.tp=8 --set policy.megatron.pp=16 \
    --set policy.megatron.micro_batch=1 --set "policy.megatron.global_batch=$3" --set policy.megatron.recompute=selective \
    --set policy.megatron.sequence_parallel=true --set policy.megatron.order=tp-pp-dp "${@:4}" -q --no-figures --out "$work/out" 2>&1
}
duration() { awk -F, '$2 == "iteration_s" { print $3 }' "$work/out/summary.csv"; }
prefix=()

# There are 8 replicas with 8 micro-batches each. Unmerged, each replica needs more than a thousand rings of 8 GPUs.
batch=64 nodes=1280 k=64 samples=2560 cpu_limit=10 mib_limit=1024
if [ -n "${ORR_SANITIZED:-}" ]; then
  batch=8 nodes=256 k=64 samples=512 cpu_limit=60 mib_limit=4096
fi

step 128 k=16 "$batch" --set step.merge=on --set step.iterations=2
merged=$(duration)
step 128 k=16 "$batch" --set step.merge=off --set step.iterations=2
unmerged=$(duration)
echo "# 1,024 GPUs, batch $batch: merged $merged s, unmerged $unmerged s"
ok "$(awk -v a="$merged" -v b="$unmerged" 'BEGIN { d = a - b; print !(b > 0 && (d < 0 ? -d : d) <= 1e-9 * b) }')" \
  "1,024 GPUs: merged and unmerged agree to 1e-9"

# ZeRO-1 without sequence parallelism uses other collectives, and gathers on arrival.
other=(--set policy.megatron.zero=true --set policy.megatron.sequence_parallel=false)
step 128 k=16 8 --set step.merge=on --set step.iterations=1 "${other[@]}"
merged=$(duration)
step 128 k=16 8 --set step.merge=off --set step.iterations=1 "${other[@]}"
ok "$(awk -v a="$merged" -v b="$(duration)" 'BEGIN { d = a - b; print !(b > 0 && (d < 0 ? -d : d) <= 1e-9 * b) }')" \
  "ZeRO-1 without sequence parallelism: merged and unmerged agree to 1e-9"

# With 64 ports a pod has 1,024 NICs, for 8 replicas. The ring of replicas goes from pod to pod, so all hops are
# alike.
prefix=("$top_builddir/tests/peak_rss")
TIMEFORMAT='%U %S'
big=(--set step.merge=on --set policy.megatron.dp_stride=8)
{ time kib=$(step "$nodes" "k=$k" "$samples" "${big[@]}" | tail -n 1); } 2>"$work/time"
cpu=$(awk '{ print $1 + $2 }' "$work/time")
echo "# $((nodes * 8)) GPUs, batch $samples: $(duration) s an iteration; $cpu s of CPU, $((kib / 1024)) MiB"
ok "$(awk -v c="$cpu" -v l="$cpu_limit" 'BEGIN { print !(c > 0 && c < l) }')" "$((nodes * 8)) GPUs in under $cpu_limit s of CPU"
ok "$([ "$kib" -gt 0 ] && [ "$kib" -lt $((mib_limit * 1024)) ]; echo $?)" "peak memory is below $mib_limit MiB"
prefix=()

like "$(step "$nodes" "k=$k,routing=ecmp" "$samples" "${big[@]}")" 'merge=on.*ecmp' "step.merge=on is refused with hashed routes"
# With 48 ports a pod has 576 NICs, so a replica spans two pods.
like "$(step "$nodes" k=48 "$samples" --set step.merge=on)" 'routes or loads of the lanes differ' \
  "step.merge=on is refused if pods end within replicas"
tap_done
