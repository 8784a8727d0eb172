# The published planner on the published profiles: splits, cuts and speed-ups, and the bound of data parallelism.
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
# The expected values were computed once from the published profiles by other code (papers/data/dapple_golden_plans.csv).
. "$srcdir/tests/tap.sh"
data=${ORRERY_DATA_PATH:-$srcdir/../shared}/papers/data
if [ ! -e "$data/dapple_golden_plans.csv" ]; then
  skip "no golden plans in $data"
  tap_done
  exit 0
fi
# batch MODEL FILE: sets file and batch of a model of dapple_models.csv
of_model() { awk -F, -v m="$1" '$1 == m { print $2, $3 }' "$data/dapple_models.csv"; }
# metric POLICY NAME: prints a metric of the last run
metric() { awk -F, -v p="$1" -v m="$2" '$1 == p && $2 == m { print $3 }' "$work/o/summary.csv"; }
# near VALUE WANTED: true if VALUE is within 0.5 % of WANTED
near() { awk -v v="$1" -v w="$2" 'BEGIN { exit !(v / w > 0.995 && v / w < 1.005) }'; }
plan() {
  "$ORRERY" plan "$data/$1:batch=$2" --cluster 2x8:v100 --global-batch "$3" --micro-batch "$4" --network star:bw=25Gbps -q --no-figures \
    --set plan.checked=0 --set step.ignore_memory=true --out "$work/o" "${@:5}"
}
tail -n +2 "$data/dapple_golden_plans.csv" >"$work/golden"
while IFS=, read -r model gbs micro dp repo paper split cut _ ar; do
  read -r file batch <<<"$(of_model "$model")"
  plan "$file" "$batch" "$gbs" "$micro" --policy data-parallel,dapple@repo,dapple@paper --set policy.repo.fill=repo
  for form in repo paper; do
    got=$(tr ',' '\n' <"$work/o/$form.plan.json" | sed -n 's/.*"gpus":[^"]*"\(.*\)/\1/p' | paste -sd' ')
    is "$(tr -d '\n\t' <"$work/o/$form.plan.json" | grep -oE '"stage_devices":"[0-9,]+"' | grep -oE '[0-9,]+' | tr , :)" "$split" \
      "$model, $gbs, $form form: the split ($got)"
    found=$(metric $form cut_after)
    # The file of expected values counts two cuts of GNMT-16 as equal.
    ok "$([ "${found%.*}" = "$cut" ] || { [ "$model" = GNMT-16 ] && [ "${found%.*}" = 55 ]; }; echo $?)" "$model, $gbs, $form form: cut after $found"
  done
  near "$(metric data-parallel own_speedup)" "$dp"
  ok $? "$model, $gbs: data parallelism $(metric data-parallel own_speedup) ($dp)"
  near "$(metric repo own_speedup)" "$repo"
  ok $? "$model, $gbs: bipartition, repo form $(metric repo own_speedup) ($repo)"
  near "$(metric paper own_speedup)" "$paper"
  ok $? "$model, $gbs: bipartition, paper form $(metric paper own_speedup) ($paper)"
  near "$(awk "BEGIN { print 1000 * $(metric data-parallel all_reduce_s) }")" "$ar"
  ok $? "$model, $gbs: all-reduce of all parameters"
done <"$work/golden"
tail -n +2 "$data/dapple_dp_overlap_bounds.csv" >"$work/bounds"
while IFS=, read -r model gbs bound; do
  read -r file batch <<<"$(of_model "$model")"
  plan "$file" "$batch" "$gbs" "$gbs" --policy data-parallel --set policy.data-parallel.overlap=bound
  near "$(metric data-parallel own_speedup)" "$bound"
  ok $? "$model, $gbs: bound with overlap $(metric data-parallel own_speedup) ($bound)"
done <"$work/bounds"
tap_done
