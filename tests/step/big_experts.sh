# DeepSeek-V3 on GPUs with 8 rails: PP 16 x EP 64. 10,240 GPUs with equal loads, lanes merged; 1,024 GPUs with Zipf 0.5, each lane simulated.
# A step of each in less than 60 s of CPU and 2 GB.
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
. "$srcdir/tests/tap.sh"

# step NODES MICRO_BATCHES REPLICAS [OPTIONS]
step() {
  "$top_builddir/tests/peak_rss" "$ORRERY" step deepseek_v3 --cluster "$1x8:h100" --network leaf-spine:leaves=8,spines=8,rails=true,bw=400Gbps,nics=8 \
    --batch 1 --precision bf16 --set step.optimizer=adam --set step.ignore_memory=true --set step.pxn=true --set step.iterations=1 \
    --policy megatron --set policy.megatron.pp=16 --set policy.megatron.ep=64 --set policy.megatron.zero=true \
    --set policy.megatron.micro_batch=1 --set "policy.megatron.global_batch=$(($2 * $3))" "${@:4}" -q --no-figures --out "$work/out" 2>&1
}
metric() { awk -F, -v n="$1" '$2 == n { print $3 }' "$work/out/summary.csv"; }
TIMEFORMAT='%U %S'
check() { # NAME KIB
  cpu=$(awk '{ print $1 + $2 }' "$work/time")
  echo "# $1: $(metric iteration_s) s an iteration; $cpu s of CPU, $(($2 / 1024)) MiB"
  ok "$(awk -v c="$cpu" 'BEGIN { print !(c > 0 && c < 60) }')" "$1: in under 60 s of CPU"
  ok "$([ "$2" -gt 0 ] && [ "$2" -lt 2000000 ]; echo $?)" "$1: peak memory is below 2 GB"
}
many=64 few=16
[ -z "${ORR_SANITIZED:-}" ] || { many=16 few=1; }

{ time kib=$(step 1280 "$many" 640 --set step.merge=on | tail -n 1); } 2>"$work/time"
check "10,240 GPUs, $many micro-batches, lanes merged" "$kib"
is "$(metric choice_nodes_per_token | cut -c1-5)" 3.629 "a token goes to 3.629 nodes"
{ time kib=$(step 128 "$few" 64 --set policy.megatron.expert_skew=0.5 | tail -n 1); } 2>"$work/time"
check "1,024 GPUs, $few micro-batches, Zipf 0.5, each lane" "$kib"
tap_done
