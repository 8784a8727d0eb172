#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# orrery goodput --learn: the gradient noise scale measured on real SGD predicts the samples to a loss at batches from 1 to 1,024. The
# expected values are the measured samples of the same command: real runs of SGD, by other seeds than those of the prediction.
. "${srcdir:-.}/tests/tap.sh"
cd "$work" || exit 1
batches=1,4,16,32,64,256,1024 seeds=3
[ "${ORR_SANITIZED:-0}" = 1 ] && batches=1,32,1024 seeds=1
# worst PROBLEM..: the largest error, %, of the batches that reach the target; the number that don't
worst() {
  "$ORRERY" goodput --learn "batch=32,seeds=$seeds,max_samples=1000000,$1" --batches "$batches" -o out.csv || echo failed
  awk -F, 'NR > 1 { d = $7 < 0 ? -$7 : $7; if ($6 == 1 && d > w) w = d; n += $6 < 1 } END { printf "%.1f %d\n", 100 * w, n }' out.csv
}
# Four problems whose learning rate is far from the limit of stability at M0.
for problem in problem=least-squares,target=0.15,lr=0.02 problem=least-squares,condition=100,target=0.16,lr=0.02 problem=logistic,target=0.45,lr=0.1 \
  problem=mlp,inputs=16,rows=1024,target=0.8,lr=0.05; do
  read -r error lost < <(worst "$problem")
  ok "$(awk -v e="$error" -v n="$lost" 'BEGIN { print !(e > 0 && e < 8 && n == 0) }')" "$problem: predicted within 8 % ($error %, $lost batches fail)"
  # The prediction is not trivial: batch 1,024 needs several times the samples of batch 1.
  is "$(awk -F, 'NR == 2 { first = $3 } END { print ($3 > 3 * first) }' out.csv)" 1 "$problem: a batch of 1,024 needs more than three times the samples"
done
# A case in which the prediction fails: the steps of large batches are r times as long. They are unstable if the steps at M0 are long
# already, because phi does not contain the curvature.
read -r error lost < <(worst problem=least-squares,target=0.15,lr=1)
ok "$(awk -v e="$error" -v n="$lost" 'BEGIN { print !(e > 20 || n > 0) }')" "a learning rate near the limit of stability: off by $error %, $lost batches fail"
is "$("$ORRERY" goodput --learn problem=logistic,target=0.45,seeds=1 --batches 8,64 | md5sum)" "$("$ORRERY" goodput --learn problem=logistic,target=0.45,seeds=1 --batches 8,64 | md5sum)" "the same bytes again"
refused() { out=$("$ORRERY" goodput "$@" 2>&1); echo "$? $out"; }
is "$(refused --learn problem=gcn,target=1)" "2 orrery: learn.problem: expected least-squares, logistic or mlp, whose gradients are sums over samples" "another problem"
is "$(refused --learn problem=mlp)" "2 orrery: learn.target: expected a loss above 0" "no target"
like "$(refused --learn problem=mlp,target=1 --batches 0)" '^2 orrery: goodput: --batches: expected at most 64 whole numbers from 1 to 1000000, found "0"' "a batch of 0"
like "$(refused --learn problem=logistic,target=0.001,seeds=1,max_samples=2000)" "^1 orrery: goodput: the loss 0.001 is not reached within 2000 samples" "a target out of reach"
is "$(refused --batches 1)" "2 orrery: goodput: --batches has no effect: expected --learn too" "batches without a problem"
tap_done
