#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# orrery figures academus, with fewer replications: A1 to A8. Closed forms: T = l (D + c), u(m) = max(1, m / 4), padding and depth of a
# burst, floor + (1 - floor) decay^m. Published: Wang et al., arXiv 2408.12526, abstract (4.1, 1.6, 22.27).
. "${srcdir:-.}/tests/tap.sh"
. "$srcdir/tests/study/figures.sh"
small academus 's/"load": \[.*\]/"load": [0.2]/'
sed -i 's/"replications": 20/"replications": 3/; s/boost:rows=10000/boost:rows=1000,tested=500,seeds=2/' "$work"/academus/*.json
carry_out academus
is "$(off '^(A1|A2|A3-.*|A4-.*|A6-[1-8]|fitted-.*|measured-.*)$' 1e-8)" "" "depth, overhead, co-running and residual equal their closed forms"
is "$(off '^A5' 0.01)" "" "throughput in a burst: depth x padding / students, within 1 %"
is "$(within A1) $(within A2) $(within A5)" "yes yes yes" "4.1 (calibrated), 1.6 and 22.27 within the bounds of the sheet"
is "$(within A1-measured) $(within A5-t4)" "no no" "an overhead measured elsewhere, or latencies of a T4, leave these bounds"
# more ID ID..: prints "more" if each value exceeds the next
more() {
  for id; do simulated "$id"; done | awk 'NR > 1 && !($1 < last) { bad = 1 } { last = $1; all = all " " $1 } END { print bad ? all : "more" }'
}
is "$(between A7-all 150 1000) $(between A7-pruned 4 40)" "1 1" "the queue grows without pruning and stays short with it"
is "$(more A7-p99-all A7-p99-pruned)" more "pruning reduces the 99th percentile"
is "$(more A7-residual-pruned A7-residual-four A7-residual-to-four A7-residual-all)" more "fewer students, more residual error"
is "$(more A6-loss-0-1 A6-loss-0-2 A6-loss-0-4 A6-loss-0-8)" more "the training loss of trained students falls"
is "$(more A6-without-0-8 A6-without-0-1)" more "a missing first student costs more than a missing last one"
is "$(more A7-accuracy-all A7-accuracy-pruned)" more "pruning costs accuracy"
is "$(more A8-padding-saturated-fifo A8-padding-saturated-bucket A8-padding-saturated-length)" more "padding falls with narrower ranges of length"
is "$(simulated A8-padding-saturated-length) $(simulated A8-padding-launches-length)" "0 0" "equal lengths need no padding"
is "$(more A8-p99-saturated-fifo A8-p99-saturated-length)" more "time proportional to tokens: equal lengths reduce the 99th percentile"
is "$(more A8-p99-launches-length A8-p99-launches-fifo)" more "latencies of a T4: equal lengths raise it"
drawn latency overhead co-running burst residual accuracy queue buffer-saturated buffer-launches padding-saturated
tap_done
