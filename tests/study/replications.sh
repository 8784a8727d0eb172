#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# --replications at the command line: intervals, differences by replication, the same bytes for any number of threads, reuse from a
# database, refusals; and flags of policies that draw.
. "${srcdir:-.}/tests/tap.sh"
orrery=$ORRERY
source=$(cd "${srcdir:-.}" && pwd)
cd "$work" || exit 1

# ---- every policy that draws random numbers declares it ----
is "$(cd "$source" && for f in $(grep -lE 'orr_(serve|spot|step)_uniform\(' policies/*/*.c); do grep -q ORR_DRAWS "$f" || echo "$f"; done)" "" \
  "policies that draw declare ORR_DRAWS"

# ---- jobs ----
jobs=(jobs philly-like:days=2 --cluster 8x8:v100 --policy fifo,las,srtf --replications 10)
"$orrery" "${jobs[@]}" -j1 --db j1.db --out j1 --no-figures -q 2>said
is "$? $(cat said)" "0 " "jobs are replicated"
"$orrery" "${jobs[@]}" -j2 --db j2.db --out j2 --no-figures -q
is "$("$orrery" db digest j1.db) $(cat j1/summary.csv)" "$("$orrery" db digest j2.db) $(cat j2/summary.csv)" "with two threads as with one"
"$orrery" "${jobs[@]}" >table
"$orrery" "${jobs[@]}" -j1 --db j1.db >again 2>said
is "$(grep -c 'taken from j1.db' said) $(cat again)" "3 $(cat table)" "stored replications are compared like fresh ones"
"$orrery" "${jobs[@]}" --policy easy-backfill --db j1.db --out j3 --no-figures -q
is "$(grep '^las,' j3/summary.csv)" "$(grep '^las,' j1/summary.csv)" "beside a new run, too"
series() { awk -F, -v m="replications:$2" '$2 == m { printf "%s%.17g", n++ ? " " : "", $3 }' "j1/$1.series.csv"; }
value() { awk -F, -v p="$1" -v m="$2" '$1 == p && $2 == m { print $3, $4, $5 }' j1/summary.csv; }
for metric in jct_mean wait_mean slowdown_mean makespan utilisation; do
  is "$(series las $metric | wc -w)" 10 "$metric of each replication is kept"
done
is "$(paste <(series las jct_mean | tr ' ' '\n') <(series fifo jct_mean | tr ' ' '\n') | awk -v got="$(value las diff_jct_mean)" '
    { sum += $1 - $2 }
    END { split(got, g, " "); print NR, (g[1] - sum / NR) ^ 2 < 1e-6, g[2] < g[1] && g[1] < g[3] }')" "10 1 1" "the difference is that of the pairs"
is "$(value las jct_diff)" "" "in place of the one job by job"
like "$(cat table)" '^JCT mean against fifo, paired over 10 replications:$' "the table has it"
like "$(cat table)" '^  las +-[0-9.]+ [a-z]+ \[-[0-9.]+, -?[0-9.]+\]  -[0-9.]+ %' "with an interval and its share"
like "$(cat table)" '^wait mean against fifo, paired over 10 replications:$' "so have waits"
is "$("$orrery" jobs philly-like:days=2 --cluster 8x8:v100 --policy fifo,las --replications 1 --json)" \
  "$("$orrery" jobs philly-like:days=2 --cluster 8x8:v100 --policy fifo,las --json)" "one replication is the plain run"

# ---- refusals ----
"$orrery" trace synth philly-like:days=1 -o t.csv
"$orrery" jobs t.csv --cluster 8x8 --policy fifo --replications 5 --db none.db 2>said
is "$? $([ -e none.db ] && echo made)" "2 " "equal runs are refused before anything is stored"
like "$(cat said)" 'nothing in this scenario is random: 5 replications would be 5 equal runs' "with the reason"
"$orrery" step resnet50 --cluster 4x1:v100 --policy allreduce --cost-samples 5 --replications 5 2>said
is "$? $(grep -c 'expected 1 with cost_samples' said)" "2 1" "draws of the costs and replications exclude each other"
"$orrery" step resnet50 --cluster 4x1:v100 --policy ds-sync --set policy.ds-sync.schedule=random --replications 3 -q
is "$?" 0 "a policy that draws is random"
echo '{"world": "mixed", "cluster": "2x4:a100", "jobs": {"trace": "poisson:rate=0.01,n=20"}, "policies": ["fifo"]}' >mixed.json
"$orrery" run mixed.json --replications 3 --json -j1 >a && "$orrery" run mixed.json --replications 3 --json -j2 >b
is "$? $(cmp a b && tr -d '\t' <a | grep -c '^"replications":{')" "0 1" "mixed: the same with any number of threads"
"$orrery" run mixed.json --set jobs.replications=3 2>said
is "$? $(grep -c 'jobs.replications: belongs to the whole scenario' said)" "2 1" "and of the whole alone"
tap_done
