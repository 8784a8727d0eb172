# orrery step with "learn": time to a loss, independent of the number of threads.
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
. "$srcdir/tests/tap.sh"

step() {
  "$ORRERY" step alexnet --cluster 4x1:v100 --network star:bw=10Gbps -q "$@"
}
learn=(--set learn.target=0.45 --set learn.eval_samples=512 --set learn.seeds=3 --set step.stragglers=lognormal)

for j in 1 4; do
  step --policy allreduce,ds_sync,local_sgd "${learn[@]}" -j "$j" --db "$work/$j.db" --json >"$work/$j.json"
done
is "$("$ORRERY" db digest "$work/1.db")" "$("$ORRERY" db digest "$work/4.db")" "one thread or four: the same database"
is "$(cmp "$work/1.json" "$work/4.json" 2>&1)" "" "one thread or four: the same results"
is "$(grep -c '"time_to_target_s"' "$work/1.json")" 3 "every policy has a time to the target"
# DS-Sync averages over two workers, all-reduce over four. So DS-Sync has half of the traffic and a third of the
# waiting.
is "$(awk '/^[[:space:]]*"label"/ { gsub(/[",]/, ""); p = $2 } /"time_to_target_s"/ { getline; gsub(/,/, ""); t[p] = $2 }
  END { print (t["ds-sync"] < t["allreduce"]) }' "$work/1.json")" 1 "ds_sync reaches the target loss before allreduce"
is "$(step --policy allreduce --json | grep -c final_loss)" 0 "without learn options there is no learning"

step --policy allreduce --set learn.nonsense=1 2>"$work/err"
is "$? $(grep -c 'learn: unknown parameter "nonsense"' "$work/err")" "2 1" "an unknown option is refused"
tap_done
