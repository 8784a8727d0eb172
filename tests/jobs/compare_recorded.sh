#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# orrery jobs --compare-recorded: waits of the trace beside those of each policy. The expected numbers are computed by hand, those of a
# real trace with SQL.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
cd "$work" || exit 1
# One GPU. fifo: waits 0, 90, 180, 270 s; recorded: 30, 60, unknown, 120.
printf 'job_id,submit_s,duration_s,gpus,wait_s\na,0,100,1,30\nb,10,100,1,60\nc,20,100,1,\nd,30,100,1,120\n' >t.csv
"$orrery" jobs t.csv --cluster 1x1 --policy fifo,srtf --compare-recorded --no-figures >said 2>err
is "$? $(cat err)" "0 " "no error"
# a, b, d: mean (30 + 60 + 120) / 3 = 70, (0 + 90 + 270) / 3 = 120; median 60 and 90; p90 at index 1.8: 60 + 0.8 * 60 = 108,
# 90 + 0.8 * 180 = 234; p99 at 1.98: 118.8, 266.4; within 1 min: 2 of 3, 1 of 3; amount of the differences (30 + 30 + 150) / 3 = 70.
"$orrery" jobs t.csv --cluster 1x1 --policy fifo --compare-recorded --json >j.json
value() { tr -d '\n\t ' <j.json | sed "s/.*\"$1\":{\"value\":\([^,]*\),.*/\1/"; }
is "$(value compared_jobs) $(value recorded_wait_mean) $(value compared_wait_mean)" "3 70 120" "jobs and means"
is "$(value recorded_wait_p50) $(value compared_wait_p50) $(value recorded_wait_p90) $(value compared_wait_p90)" "60 90 108 234" "quantiles"
is "$(value recorded_wait_p99) $(value compared_wait_p99) $(value recorded_wait_max) $(value compared_wait_max)" "118.8 266.4 120 270" "the longest"
is "$(value compared_wait_difference) $(value compared_wait_off) $(value compared_wait_rank)" "50 70 1" "differences and rank correlation"
is "$(value recorded_wait_minute | cut -c1-6) $(value compared_wait_minute | cut -c1-6)" "0.6666 0.3333" "waits of at most a minute"
like "$(grep -A 3 '^waits' said | head -n 4 | paste -sd';')" '^waits +jobs +wait mean.*;recorded +3 +1\.17 min.*;fifo +3 +2(\.00)? min.*;srtf \(oracle\) +3 ' "the table"
like "$("$orrery" jobs t.csv --cluster 1x1 --policy fifo --compare-recorded --table markdown)" '\| recorded \|' "in Markdown"
# Without the option the output has no such table, and the stored run is the same.
is "$("$orrery" jobs t.csv --cluster 1x1 --policy fifo --json | grep -c compared)" 0 "not without the option"
"$orrery" jobs t.csv --cluster 1x1 --policy fifo --db a.db -q
"$orrery" jobs t.csv --cluster 1x1 --policy fifo --db b.db --compare-recorded -q
is "$("$orrery" db digest a.db)" "$("$orrery" db digest b.db)" "nothing is stored"
like "$("$orrery" jobs t.csv --cluster 1x1 --policy fifo --db a.db --compare-recorded 2>&1)" 'recorded +3 ' "a stored run can be compared"
# ---- errors ----
printf 'job_id,submit_s,duration_s,gpus\na,0,100,1\n' >none.csv
said=$("$orrery" jobs none.csv --cluster 1x1 --policy fifo --compare-recorded -q 2>&1)
like "$? $said" '^2 orrery: .*--compare-recorded: the trace records no wait of a completed job: expected' "a trace without waits"
said=$("$orrery" jobs t.csv --cluster 1x1 --policy fifo --compare-recorded --record metrics -q 2>&1)
like "$? $said" '^2 orrery: .*--compare-recorded: the runs have no rows of jobs: expected --record all' "runs without rows"
# ---- the report ----
"$orrery" report a.db -o a.html
is "$(grep -c '<caption>Recorded and simulated waits</caption>' a.html)" 1 "the report has the table"
like "$(sed -n '/Recorded and simulated waits/,/<\/table>/p' a.html | tr -d '\n')" '<td>recorded</td>.*<td>fifo</td>' "with both rows"
"$orrery" jobs none.csv --cluster 1x1 --policy fifo --db none.db -q
"$orrery" report none.db -o none.html
is "$(grep -c 'Recorded and simulated waits' none.html)" 0 "a trace without waits has no such table"
# ---- a real trace: the same means by SQL ----
if need "$traces/openb/openb_pod_list_gpuspec33.csv" && command -v sqlite3 >/dev/null; then
  "$orrery" jobs "$traces/openb/openb_pod_list_gpuspec33.csv" --cluster "$traces/openb/openb_node_list_gpu_node.csv" --drop-unfit --policy fifo --compare-recorded \
    --db o.db --json -q >j.json
  is "$(value compared_jobs) $(printf %.6g "$(value recorded_wait_mean)") $(printf %.6g "$(value compared_wait_mean)")" \
    "$(sqlite3 o.db "SELECT count(*) || ' ' || printf('%.6g', avg(recorded_wait_ns) / 1e9) || ' ' || printf('%.6g', avg(wait_ns) / 1e9) FROM jobs
      WHERE status = 0 AND recorded_wait_ns >= 0" 2>&1)" "openb: counts and means as in the database"
fi
tap_done
