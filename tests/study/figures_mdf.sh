#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# orrery figures mdf over fewer seeds: identities of the cost model, the spilled sets worked out by hand, and the loss of each stop rule.
. "${srcdir:-.}/tests/tap.sh"
. "$srcdir/tests/study/figures.sh"
small mdf 's/"seed": \[1, 2, .*\]/"seed": [1, 2]/; s/"problem": \[\(.*\), {"value": "mlp".*/"problem": [\1],/'
carry_out mdf
value() { simulated "$1" | awk '{ printf "%.9g", $1 }'; }
is "$(value F1) $(value F2-44)" "0.857142857 0.88" "savings are those of the cost model"
is "$(value F3-amm) $(value F3-lru) $(value F3-touch-count)" "10 11 10" "sets spilled and read"
is "$(value regret-logistic-never) $(value share-logistic-never) $(value share-logistic-satisfied)" "0 1 0.166666667" \
  "all branches lose nothing; two of twelve do a sixth of the work"
is "$(awk -v a="$(simulated share-logistic-improving)" -v b="$(simulated share-logistic-improving-2)" -v c="$(simulated share-logistic-successive-halving)" \
  'BEGIN { print((c < a && a <= b && b < 1) ? "ordered" : a " " b " " c) }')" ordered "a rule that keeps more branches runs more; halving does least"
is "$(awk -v a="$(simulated regret-logistic-satisfied)" 'BEGIN { print((a > 0.1) ? "large" : a) }')" large "the first two of ascending rates are not the best"
drawn saving memory pruning-logistic regret-logistic
is "$(awk -F, '$1 == "\"successive halving\"" && $2 > 0.3 && $2 < 0.37 && $3 >= 0 && $3 < 0.01' "$work/out/pruning-logistic.csv" | wc -l)" 2 \
  "the figure of regret over work has a mark of each seed"
is "$(grep -c '^"all branches",1,0,' "$work/out/pruning-logistic.csv")" 2 "all branches: all of the work, no regret"
tap_done
