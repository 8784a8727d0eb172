# Measured iterations of Megatron-DeepSpeed on A100s (vTrain: Bang et al., MICRO 2024; github VIA-Research/vTrain f8dda84,
# data/ground_truth_multi.csv) against `orrery step --policy megatron` with its defaults: nothing is calibrated, and no
# measured value of this source is an input. The network is that of vTrain's example: 800 Gb/s per node, 8 GPUs per node.
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
. "$srcdir/tests/tap.sh"

rows=$data/papers/data/vtrain_iteration_times.csv
need "$rows" || {
  tap_done
  exit
}

# step GPUS BATCH MICRO HIDDEN HEADS LAYERS SEQ TP PP [OPTIONS]: prints ms of an iteration
step() {
  "$ORRERY" step "gpt:hidden=$4,layers=$6,heads=$5,seq=$7,vocab=51200" --cluster "$(($1 / 8))x8:a100-80g" \
    --network star:bw=100Gbps,nics=8 --batch 1 --precision fp16 --set step.optimizer=adam --set step.ignore_memory=true \
    --policy megatron --set "policy.megatron.tp=$8" --set "policy.megatron.pp=$9" --set "policy.megatron.micro_batch=$3" \
    --set "policy.megatron.global_batch=$2" --set policy.megatron.recompute=full -q --no-figures --out "$work/out" "${@:10}" &&
    awk -F, '$2 == "iteration_s" { print $3 * 1e3 }' "$work/out/summary.csv"
}

# times [OPTIONS]: prints size, plan, measured and predicted ms of every row
times() {
  tail -n +2 "$rows" | while IFS=, read -r size gpus batch micro hidden heads layers seq tp dp pp ms; do
    echo "$size TP=$tp,DP=$dp,PP=$pp,micro-batch=$micro $ms $(step "$gpus" "$batch" "$micro" "$hidden" "$heads" "$layers" "$seq" "$tp" "$pp" "$@")"
  done
}

# mean FILE: prints the mean absolute error in %, by size and over all
mean() {
  awk '{ e = 100 * ($4 / $3 - 1); e = e < 0 ? -e : e; n[$1]++; s[$1] += e; all += e }
    END { for (k in n) printf "%s B: %.1f %%, ", k, s[k] / n[k]; printf "all %d: %.2f\n", NR, all / NR }' "$1"
}

times > "$work/default"
awk '{ printf "# %5s B %-34s %9.1f ms, predicted %9.1f, %+6.1f %%\n", $1, $2, $3, $4, 100 * ($4 / $3 - 1) }' "$work/default"
times --set step.algorithm=ring > "$work/ring"
echo "# default: $(mean "$work/default")"
echo "# step.algorithm=ring (one NIC of a node, links of the data sheet): $(mean "$work/ring")"
is "$(wc -l < "$work/default")" 56 "all rows are predicted"
error=$(mean "$work/default" | sed 's/.*: //')
ok "$(awk -v e="$error" 'BEGIN { print !(e > 0 && e <= 12) }')" "mean error of at most 12 %"
tap_done
