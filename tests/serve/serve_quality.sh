#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# serve.quality: accuracies by received answers, from a list and from sub-learners that are trained; refused values.
. "${srcdir:-.}/tests/tap.sh"
# run DEVICES OPTION..: serves 20 requests on this number of devices under mdp
run() {
  local n=$1
  shift
  "$ORRERY" run "$srcdir/scenarios/mdp/timeouts.json" --set trace=poisson:rate=0.1,n=20 --set cluster="${n}x1:flat:flops=1.69e12" "$@" --out "$work/out"
}
metric() { awk -F, -v name="$1" '$2 == name { printf "%.9g\n", $3 }' "$work/out/summary.csv"; }

run 2 --set serve.quality=0.1,0.5,0.6,0.9 >"$work/said" 2>&1
is "$? $(metric quality) $(metric accuracy_all) $(metric accuracy_one_missing) $(metric accuracy_one_missing_worst)" \
  "0 0.9 0.9 0.55 0.5" "a list: both answers, one missing on average and at worst"
is "$(metric accuracy_first_1) $(metric accuracy_without_1) $(metric accuracy_alone_2)" "0.5 0.6 0.6" "bit k of the position is answer k"

boost=boost:rows=500,tested=400,epochs=2,seeds=10
run 4 --set serve.quality=$boost >"$work/said" 2>&1
is "$? $(metric quality)" "0 $(metric accuracy_all)" "trained sub-learners: four answers have the accuracy of all"
is "$(awk -F, '$2 == "accuracy_all" { print ($4 < $3 && $3 < $5 && $3 > 0.2) }' "$work/out/summary.csv")" 1 "ten ensembles give an interval"
is "$(metric training_loss_first_4 | awk -v first="$(metric training_loss_first_1)" '{ print ($1 < first && first < log(10)) }')" 1 \
  "the training loss falls from ln 10"
cp "$work/out/summary.csv" "$work/first.csv"
OMP_NUM_THREADS=3 run 4 -j 3 --set serve.quality=$boost >"$work/said" 2>&1
cmp -s "$work/first.csv" "$work/out/summary.csv"
is $? 0 "three threads give the same bytes"

refused() { run "$@" 2>&1 >/dev/null | tail -1; }
is "$(refused 2 --set serve.quality=0.1,0.2,0.3)" \
  'orrery: serve.quality: expected boost:NAME=VALUE,.. or a list of 2^n accuracies from 0 to 1, one for each set of received answers, found "0.1,0.2,0.3"' "three accuracies"
is "$(refused 2 --set serve.quality=0.1,1.2 | cut -c1-46)" "orrery: serve.quality: expected boost:NAME=VAL" "an accuracy above 1"
is "$(refused 2 --set serve.quality=boost:widths=4)" "orrery: boost: sizes: expected 1 values, one per width, found 4" "a width without size"
is "$(refused 2 --set serve.quality=0.1,0.9)" "orrery: policy mdp: at 0.000000000 s: serve.quality: expected 2 sub-learners, one per device, found 1" "fewer sub-learners than devices"
run 2 --set serve.quality=0.1,0.2,0.3 >/dev/null 2>&1
is $? 2 "exit code of a wrong value"
tap_done
