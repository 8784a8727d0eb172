#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# serve.quality: accuracies by received answers, from a list and from sub-learners that are trained; refused values.
. "${srcdir:-.}/tests/tap.sh"
run() { "$ORRERY" serve poisson:rate=1,n=20,prompt=128 --model bert-student-2x768-t4 --cluster 1x1:t4 --policy academus "$@" --out "$work/out"; }
metric() { awk -F, -v name="$1" '$2 == name { print $3 }' "$work/out/summary.csv"; }

run --set policy.academus.students=2 --set serve.quality=0.1,0.5,0.6,0.9 >"$work/said" 2>&1
is "$? $(metric accuracy) $(metric accuracy_all) $(metric accuracy_one_missing) $(metric accuracy_one_missing_worst)" \
  "0 0.90000000000000002 0.90000000000000002 0.55000000000000004 0.5" "a list: both students, one missing on average and at worst"
is "$(metric accuracy_first_1) $(metric accuracy_without_1) $(metric accuracy_alone_2)" "0.5 0.59999999999999998 0.59999999999999998" \
  "bit k of the position is answer k"
run --set policy.academus.students=1 --set serve.quality=0.1,0.5,0.6,0.9 >"$work/said" 2>&1
is "$? $(metric accuracy)" "0 0.5" "one student: the accuracy of the first"

boost=boost:rows=500,tested=400,epochs=2,seeds=10
run --set policy.academus.students=4 --set serve.quality=$boost >"$work/said" 2>&1
is "$? $(metric accuracy | awk -v all="$(metric accuracy_all)" '{ d = $1 - all; print (all > 0.2 && d < 1e-12 && d > -1e-12) }')" "0 1" \
  "trained sub-learners: four students have the accuracy of all"
is "$(awk -F, '$2 == "accuracy_all" { print ($4 < $3 && $3 < $5) }' "$work/out/summary.csv")" 1 "ten ensembles give an interval"
is "$(metric training_loss_first_4 | awk -v first="$(metric training_loss_first_1)" '{ print ($1 < first && first < log(10)) }')" 1 \
  "the training loss falls from ln 10"
cp "$work/out/summary.csv" "$work/first.csv"
OMP_NUM_THREADS=3 run -j 3 --set policy.academus.students=4 --set serve.quality=$boost >"$work/said" 2>&1
cmp -s "$work/first.csv" "$work/out/summary.csv"
is $? 0 "three threads give the same bytes"

refused() { run "$@" 2>&1 >/dev/null | tail -1; }
is "$(refused --set serve.quality=0.1,0.2,0.3)" \
  'orrery: serve.quality: expected boost:NAME=VALUE,.. or 2, 4, 8, .. accuracies from 0 to 1 (by received answers), found "0.1,0.2,0.3"' "three accuracies"
is "$(refused --set serve.quality=0.1,1.2 | cut -c1-46)" "orrery: serve.quality: expected boost:NAME=VAL" "an accuracy above 1"
is "$(refused --set serve.quality=boost:widths=4)" "orrery: boost: sizes: expected 1 values, one per width, found 4" "a width without size"
is "$(refused --set serve.quality=0.1,0.9)" \
  "orrery: policy academus: at 0.000000000 s: students: expected at most 1, the sub-learners of serve.quality, found 8" "more students than sub-learners"
run --set serve.quality=0.1,0.2,0.3 >/dev/null 2>&1
is $? 2 "exit code of a wrong value"
tap_done
