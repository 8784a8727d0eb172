#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Comparison of policies over replications: the table, JSON, CSV, stored runs, and the keys compare and equal_within
. "${srcdir:-.}/tests/tap.sh"
orrery=$ORRERY
cd "$work" || exit 1

runs=(serve poisson:rate=8,n=300,prompt=200,output=20 --model llama2-7b --cluster 1x2:a100 --policy vllm,orca,sarathi,vllm@again --replications 12)
"$orrery" "${runs[@]}" --db runs.db --out plain --no-figures -j1 -q
"$orrery" "${runs[@]}" --db runs.db --out out --no-figures --equal-within 5%,ttft_mean=500ms >table 2>said
is "$(grep -c 'taken from runs.db' said)" 4 "another bound of equality reuses stored runs"
like "$(cat table)" '^end-to-end mean against vllm, paired over 12 replications, 95 % for all 6 pairs together:$' "the title has the number of pairs"
like "$(cat table)" '^  again  .*equal in each replication$' "a policy against itself is equal in each replication"
like "$(cat table)" '^  orca   .*shown equal within 5 % \(p [=<] [0-9.e-]+\)|^  orca   .*  p [=<] |^  orca   .*no difference shown \(p = ' "a verdict has a p-value"
like "$(cat table)" '^rank by end-to-end mean, 95 % for all ranks together; probability of being the best \(bootstrap\):$' "the table has ranks"
like "$(cat table)" '^  not told apart: .*(vllm, again|again, vllm)' "and the policies that are not told apart"
like "$(cat table)" '^fewer than 20 replications: if differences are skewed, more than 5 % of such comparisons have an error$' "twelve replications are few"
like "$(cat table)" '^TTFT mean against vllm' "a metric of equal_within is compared"
like "$(cat table)" '^  sarathi against orca  ' "with a bound of equality all pairs are listed"
"$orrery" "${runs[@]}" --db runs.db -q --out again --no-figures --compare first -j2 2>/dev/null
is "$(head -1 out/comparisons.csv)" \
  metric,family,replications,level,a,b,difference,low,high,p,p_holm,p_t,equal_within,p_equal,p_equal_holm,p_equal_t,is_relative,verdict \
  "comparisons.csv"
is "$(awk -F, '{ print $1, $2 }' out/comparisons.csv | sort | uniq -c | tr -s ' ' | tr '\n' ';')" " 6 completion_mean all; 1 metric family; 6 ttft_mean all;" "a row for each pair"
is "$(awk -F, 'NR > 1 { n += $3 == 12; m += $11 >= $10 || $10 == ""; k += $2 == "first" } END { print n, m, k }' again/comparisons.csv)" "3 3 3" \
  "Holm's p-values are not below the others"
# The p-value of a single comparison belongs to the interval of the metric diff_NAME.
is "$(paste -d, <(awk -F, '$1 == "completion_mean" && $5 == "vllm" && $6 != "again" { print $7 }' out/comparisons.csv) \
  <(awk -F, '$2 == "diff_completion_mean" && $1 != "again" { print $3 }' plain/summary.csv) | awk -F, '$1 != $2' | wc -l)" 0 "differences are those of diff_NAME"
is "$(awk -F, '$2 == "rank_completion_mean" { r += $3; ok += $4 <= $3 && $3 <= $5 } $2 == "best_completion_mean" { p += $3 } END { print r, ok, (p - 1) ^ 2 < 1e-9 }' plain/summary.csv)" \
  "10 4 1" "ranks 1 to 4 inside their intervals; probabilities of being the best sum to 1"

"$orrery" "${runs[@]}" --db runs.db --json >j1 2>/dev/null
"$orrery" "${runs[@]}" --json -j2 >j2
is "$(cmp j1 j2 2>&1)" "" "stored runs and new ones, one thread and two: the same JSON"
like "$(cat j1)" '"verdict":	"same"' "JSON has the verdicts"
like "$("$orrery" "${runs[@]}" --db runs.db --compare best 2>/dev/null)" '^end-to-end mean against the best of the others, paired over 12 replications, 95 % for all 4 policies together:$' \
  "against the best"

# ---- too few ----
few=(jobs philly-like:days=1 --cluster 16x8:v100 --replications 4)
like "$("$orrery" "${few[@]}" --policy fifo,las)" '^no comparison by JCT mean: 4 replications have a value of every policy; --replications 10 gives one$' \
  "four replications give no comparison"
is "$("$orrery" "${few[@]}" --policy fifo,las | grep -cE '\(p |  p |^rank')" 0 "no p-value and no rank"
is "$("$orrery" "${few[@]}" --policy las --equal-within 2% 2>&1
"$orrery" jobs philly-like:days=1 --cluster 16x8:v100 --policy las,fifo --compare first 2>&1
"$orrery" "${few[@]}" --policy las,fifo --equal-within 2 --compare best 2>&1
"$orrery" "${few[@]}" --policy las,fifo --equal-within 0% 2>&1
"$orrery" "${few[@]}" --policy las,fifo --equal-within utilisation=3s 2>&1
"$orrery" "${few[@]}" --policy las,fifo --equal-within jct=3s 2>&1)" 'orrery: scenario: $.equal_within: expected this key only together with at least two policies, and "replications" or "until_precision"
orrery: scenario: $.compare: expected this key only together with at least two policies, and "replications" or "until_precision"
orrery: scenario: $.equal_within: expected "compare" to be "all" or "first", found "best"
orrery: scenario: $.equal_within: expected a share below 100% (2%), a number above 0 in the unit of the metric, or a duration if the metric is a time (30s), found "0%"
orrery: scenario: $.equal_within: expected a share below 100% (2%), a number above 0 in the unit of the metric, or a duration if the metric is a time (30s), found "3s"
orrery: scenario: $.equal_within: expected a column of the table before the "=", found "jct"' "wrong values are refused"
tap_done
