# The largest ratio of PipeDream's to DAPPLE's iteration time by the executor, over profiled models, batches and clusters.
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# DAPPLE's abstract (PPoPP 2021): up to 3.23 times faster than PipeDream's planner. Clusters: its configurations A, B and C.
. "$srcdir/tests/tap.sh"
data=${ORRERY_DATA_PATH:-$srcdir/../shared}/papers/data
if [ ! -e "$data/dapple_models.csv" ]; then
  skip "no profiles in $data"
  tap_done
  exit 0
fi
# ratios FILE MODEL BATCH CLUSTER GBPS: prints the ratios by levels of PipeDream's planner, for 2, 16 and 128 micro-batches
ratios() {
  for m in 2 16 128; do
    "$ORRERY" plan "$data/$1:batch=$3" --cluster "$4:v100" --network "star:bw=$5Gbps" --global-batch $(($3 * m)) --micro-batch "$3" \
      --policy dapple,pipedream,pipedream@flat --set policy.flat.levels=flat --out "$work/o" --no-figures -q -j 1 &&
      awk -F, -v where="$2 $4 $5 $(($3 * m))" '$2 == "iteration_s" { s[$1] = $3 }
        END { print "two-levels", s["pipedream"] / s["dapple"], where; print "one-level", s["flat"] / s["dapple"], where }' "$work/o/summary.csv"
  done
}
tail -n +2 "$data/dapple_models.csv" | while IFS=, read -r model file batch _; do
  for site in "2x8 25" "16x1 25" "16x1 10"; do
    # shellcheck disable=SC2086
    ratios "$file" "$model" "$batch" $site
  done
done >"$work/ratios"
is "$(wc -l <"$work/ratios")" 180 "ten models, three clusters, three batches and both forms of the planner"
for levels in two-levels one-level; do
  grep "^$levels" "$work/ratios" | sort -k2,2 -gr | head -3 | sed 's/^/# /'
done
# largest LEVELS: prints the setting of the largest ratio, and whether it is between two bounds
largest() { grep "^$1" "$work/ratios" | sort -k2,2 -gr | awk -v low="$2" -v high="$3" 'NR == 1 { print $3, $4, $5, $6, ($2 >= low && $2 <= high ? "inside" : $2) }'; }
# docs/models/plan.md, "PipeDream's planner", has these settings.
is "$(largest two-levels 1.75 1.95)" "AmoebaNet-18 16x1 10 1024 inside" "two levels, as published: the largest ratio is 1.84"
is "$(largest one-level 5.3 5.9)" "AmoebaNet-18 2x8 25 16 inside" "one level: the largest ratio is 5.59"
tap_done
