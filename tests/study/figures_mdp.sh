#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# orrery figures mdp at fewer points: ratios of FLOP counts, gains over links against closed forms, bytes, time-outs.
. "${srcdir:-.}/tests/tap.sh"
. "$srcdir/tests/study/figures.sh"
small mdp 's/"Gbps": \[.*\]/"Gbps": [0.1, 1, 100]/; s/"loss": \[.*\]/"loss": [0, 0.1]/; s/"rate": \[.*\]/"rate": [20, 150]/; s/n=20000/n=4000/; s/seeds=10/seeds=2/'
carry_out mdp
value() { simulated "$1" | awk '{ printf "%.4g", $1 }'; }
within() { awk -v a="$(simulated "$1")" -v b="$2" -v e="$3" 'BEGIN { off = a / b - 1; print((off <= e && off >= -e) ? "within" : a " for " b) }'; }
is "$(within latency-high 5.297 1e-3) $(within latency-low 1.990 1e-3)" "within within" "latency gains without links are ratios of FLOP counts"
is "$(value lat-S-192-shared-0.1) $(value lat-S-192-per-replica-0.1) $(value lat-S-192-shared-1) $(value lat-S-192-per-replica-1)" \
  "0.8166 2.532 2.901 4.55" "latency gains by the link of the front"
is "$(within thr-S-192-shared-0.1 0.58734 0.02) $(within thr-S-192-per-replica-0.1 2.34936 0.02) $(within thr-S-192-per-replica-1 5.29749 0.02)" \
  "within within within" "throughput gains are those of the busiest stage"
is "$(simulated bytes-192) $(simulated bytes-224)" "114592 154528" "bytes per device and image"
is "$(within deadline-0.1 0.3439 0.02) $(within answers-0.1 3.6 0.003) $(simulated deadline-0)" "within within 0" "time-outs"
is "$(within p99-0.1 0.0106808 1e-5)" within "the 99th percentile is the deadline plus the fusion"
is "$(within part-tensor-1 0.098071 1e-4) $(within part-pipeline-1 0.0466862 1e-4)" "within within" "partitions on Xavier NX, as in the README"
lost() { awk -v all="$(simulated "accuracy-$1-4")" -v three="$(simulated "accuracy-$1-3")" 'BEGIN { print 100 * (all - three) }'; }
ok "$(awk "BEGIN { print !($(lost supervised) < 3 && $(lost alone) > 5) }")" \
  "a missing answer costs $(lost supervised) points with the supervised part (3 at most), $(lost alone) without it (5 at least)"
is "$(between quality-supervised "$(simulated accuracy-supervised-3)" "$(simulated accuracy-supervised-4)")" 1 "the accuracy of requests lies between those of 3 and 4 answers"
drawn accuracy latency-S-192 throughput-S-192 latency-B-160 throughput-B-160 partitions timeouts-latency timeouts-answers load-latency load-goodput
tap_done
