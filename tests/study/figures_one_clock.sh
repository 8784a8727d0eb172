#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# orrery figures one-clock, much smaller and over two seeds: all runs succeed, and results that do not depend on sizes hold.
# By definition, the same cluster is paid for a shorter time, and GPUs are reclaimed only if replicas have priority.
. "${srcdir:-.}/tests/tap.sh"
. "$srcdir/tests/study/figures.sh"
small one-clock 's/"seed": \[1, 2, 3, 4, 5\]/"seed": [1, 2]/'
sed -i 's/n=500000/n=20000/; s/phase=2h/phase=10m/; s/n=300,gap=120/n=40,gap=60/' "$work"/one-clock/*.json
carry_out one-clock
is "$(printf '%s\n' "$rows" | awk -F, '$6 == ""' | wc -l) $(printf '%s\n' "$rows" | wc -l)" "0 36" "every row has a value"
is "$(simulated restarts-first) $(simulated restarts-nobody)" "$(printf '%s %s\n' "$(simulated restarts-first)" "$(simulated restarts-nobody)" |
  awk '{ print ($1 > $2) ? $0 : "more than " $2 }')" "jobs lose their GPUs more often where replicas go first"
is "$(simulated jct-first) $(simulated jct-split)" "$(printf '%s %s\n' "$(simulated jct-first)" "$(simulated jct-split)" |
  awk '{ print ($1 < $2) ? $0 : "less than " $2 }')" "jobs take longer on a half of the cluster"
is "$(awk -F, '$1 == "\"jobs\"" || $1 == "\"replicas\"" || $1 == "\"idle\"" { gsub(/"/, "", $2); if ($2 < 0.5) sum[$2] += $3 }
  END { for (x in sum) if (sum[x] > 48.01 || sum[x] < 31.9) print x, sum[x] }' "$work/out/gpus-serve-first.csv")" "" \
  "jobs, replicas and idle GPUs are those of the nodes that are up"
drawn gpus-serve-first gpus-nobody-first gpus-split
tap_done
