#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# orrery jobs, run and scenario at the command line: output files, messages for invalid input, and exit codes (0: done, 1:
# failed, 2: invalid input).
. "${srcdir:-.}/tests/tap.sh"
orrery=$ORRERY
cd "$work" || exit 1

# Expected on 2 GPUs, times in s. fifo: a runs 0-10; b, which needs both GPUs, 10-14; c has length zero; d 14-19.
# srtf: b preempts a at 1; c takes a GPU of b for an instant, in which a also runs; b ends at 5 and d at 10; a has 9
# s left and ends at 19.
printf 'job_id,submit_s,duration_s,gpus\na,0,10,1\n"b,x",1,4,2\nc,1.5,0,1\nd,2,5,2\n' >t.csv
base=(--cluster 1x2 --no-figures)

# ---- output ----
"$orrery" jobs t.csv "${base[@]}" --policy fifo,srtf@quick --out o -q >stdout
is "$? $(cat stdout)" "0 " "-q prints nothing"
is "$(cat o/fifo.jobs.csv)" 'job_id,gpus,submit_s,start_s,end_s,jct_s,wait_s,preemptions,status,user,model,queue
a,1,0.000000000,0.000000000,10.000000000,10.000000000,0.000000000,0,completed,,,
"b,x",2,1.000000000,10.000000000,14.000000000,13.000000000,9.000000000,0,completed,,,
c,1,1.500000000,14.000000000,14.000000000,12.500000000,12.500000000,0,completed,,,
d,2,2.000000000,14.000000000,19.000000000,17.000000000,12.000000000,0,completed,,,' "fifo.jobs.csv"
is "$(cat o/quick.jobs.csv)" 'job_id,gpus,submit_s,start_s,end_s,jct_s,wait_s,preemptions,status,user,model,queue
a,1,0.000000000,0.000000000,19.000000000,19.000000000,9.000000000,2,completed,,,
"b,x",2,1.000000000,1.000000000,5.000000000,4.000000000,0.000000000,1,completed,,,
c,1,1.500000000,1.500000000,1.500000000,0.000000000,0.000000000,0,completed,,,
d,2,2.000000000,5.000000000,10.000000000,8.000000000,3.000000000,0,completed,,,' "the label names the file, which has the preemptions"
is "$(head -1 o/summary.csv)" policy,metric,value,ci_low,ci_high "summary.csv: the header"
# Expected: means of the columns above; utilisation 28 GPU-seconds of 19 s x 2 GPUs; the mean JCT of srtf is 7.75 s,
# 5.375 s below that of fifo (13.125 s).
is "$(grep -E '^(fifo|quick),(jct_mean|wait_mean|makespan|jobs|preemptions|jct_diff),' o/summary.csv)" 'fifo,jct_mean,13.125,,
fifo,wait_mean,8.375,,
fifo,makespan,19,,
fifo,jobs,4,,
fifo,preemptions,0,,
quick,jct_mean,7.75,,
quick,wait_mean,3,,
quick,makespan,19,,
quick,jobs,4,,
quick,preemptions,3,,
quick,jct_diff,-5.375,,' "summary.csv has the values computed by hand"
is "$(awk -F, '$1 == "fifo" && $2 == "utilisation" { printf "%.9f", $3 }' o/summary.csv)" 0.736842105 "utilisation: 28 of 38 GPU-seconds"
is "$("$orrery" jobs t.csv "${base[@]}" --policy fifo --out until --until 3s -q; cat until/fifo.jobs.csv)" \
  'job_id,gpus,submit_s,start_s,end_s,jct_s,wait_s,preemptions,status,user,model,queue
a,1,0.000000000,0.000000000,,,0.000000000,0,unfinished,,,
"b,x",2,1.000000000,,,,2.000000000,0,unfinished,,,
c,1,1.500000000,,,,1.500000000,0,unfinished,,,
d,2,2.000000000,,,,1.000000000,0,unfinished,,,' "--until: times of later events are empty"
like "$("$orrery" jobs t.csv "${base[@]}" --policy fifo --until 3s)" 'fifo: jobs not completed: unfinished 4' "the table shows the unfinished jobs"
said=$("$orrery" jobs t.csv --cluster 1x1 --policy fifo --no-figures --drop-unfit --out drop -q)
is "$? $said $(cut -d, -f1,5 drop/fifo.jobs.csv | tail -n +2 | paste -sd' ')" "0  a,10.000000000 c,10.000000000" \
  "--drop-unfit leaves out b and d, which request two GPUs"
is "$(awk -F, '$2 == "jobs_refused" { print $3 }' drop/summary.csv)" 2 "--drop-unfit reports the number of jobs left out"

if command -v python3 >/dev/null; then
  # Python in strict mode checks the JSON, because cJSON accepts more than JSON.
  "$orrery" jobs t.csv "${base[@]}" --policy fifo,srtf --json >out.json
  is "$? $(python3 -c '
import json, sys
d = json.load(sys.stdin, parse_constant=lambda c: sys.exit("not JSON: " + c))
print([r["label"] for r in d["runs"]], d["runs"][0]["metrics"]["jct_mean"]["value"])' <out.json 2>&1)" \
    "0 ['fifo', 'srtf'] 13.125" "the output of --json is valid JSON"
else
  skip "python3 is not installed"
fi

# ---- refusals: arguments | exit code and message (an extended regular expression) ----
printf 'nodes: 3\n' >words.json
printf '{"nodes": [{"gpus": 2},\n{"gpu": 2}]}' >key.json
printf 'submit_s,duration_s,gpus,gpu_types\n0,10,2,a100\n' >types.csv
printf '{"nodes": [{"gpus": 2},\n{"gpus": "2"}]}' >kind.json
printf '{"nodes": [{"gpus": 2},\n{gpus: 2}]}' >syntax.json
printf 'name,gpus,type\nn0,2,v100\nn1,two,v100\n' >cell.csv
printf 'host,cores\nn0,2\n' >columns.csv
printf 'sn,cpu_milli,memory_mib,gpu,model\nx,96000,1000,2000,V100\n' >wide.csv
: >empty.csv
printf 'job_id,submit_s,duration_s,gpus\na,0,10,1\nb,1,4,two\n' >bad.csv
printf 'time_s,node,event\n5,n0,fail\n6,n0,fail\n' >twice.csv
printf 'time_s,node,event\n5,n7,fail\n' >where.csv
printf '{"trace": "t.csv", "cluster": "1x2", "policies": ["fifo"], "sed": 1}' >typo.json
printf '{"trace": "t.csv", "cluster": "1x2", "policies": ["fifo", ["srtf"]]}' >list.json
printf '{"trace": "t.csv",\n "cluster": "1x2" "policies": ["fifo"]}' >comma.json
refused() {
  while IFS='|' read -r args expected; do
    # shellcheck disable=SC2086
    said=$("$orrery" $args 2>&1 >/dev/null)
    like "$? $said" "^$expected" "orrery $args"
  done
}
refused <<'EOT'
jobs|2 orrery: jobs: expected TRACE
jobs t.csv --cluster 1x2|2 orrery: expected a policy
jobs t.csv --policy fifo|2 orrery: scenario: expected a cluster
jobs t.csv more --cluster 1x2 --policy fifo|2 orrery: unexpected argument "more": expected at most one argument
jobs t.csv --cluster 1x2 --plicy fifo|2 orrery: unknown option "--plicy": did you mean "--policy"?
jobs t.csv --cluster 1x2 --policy|2 orrery: option --policy: expected a value
jobs t.csv --cluster 1x2 --policy fifo -z|2 orrery: unknown option "-z"
jobs t.csv --cluster 1x2 --policy fifoo|2 orrery: unknown policy "fifoo": did you mean "fifo"?
jobs t.csv --cluster 1x2 --policy fifo --placement consolidat|2 orrery: scenario: \$\.placement: expected count, .* or fgd, found "consolidat": did you mean "consolidate"?
jobs t.csv --cluster 1x2 --policy fifo --format philli|2 orrery: .*philli
jobs t.csv --cluster 1x2 --policy fifo,fifo|2 orrery: two policies have the label "fifo": expected fifo@LABEL
jobs t.csv --cluster 1x2 --policy fifo@a,srtf@a|2 orrery: two policies have the label "a"
jobs t.csv --cluster 1x2 --policy fifo --set jobs.start_cot=1|2 orrery: jobs: unknown parameter "start_cot": did you mean "start_cost"?
jobs t.csv --cluster 1x2 --policy fifo --set jobs.start_cost=soon|2 orrery: jobs: start_cost: .*"soon"
jobs t.csv --cluster 1x2 --policy fifo --set sed=1|2 orrery: scenario: unknown key "sed": did you mean "seed"?
jobs t.csv --cluster 1x2 --policy fifo --set seed|2 orrery: --set seed: expected PATH=VALUE
jobs t.csv --cluster 1x2 --policy fifo --set policy.srtf.rules=own|2 orrery: --set policy.srtf.rules: expected the label of a policy of this run, found "srtf"
jobs t.csv --cluster 1x2 --policy srtf --set policy.srtf.rule=own|2 orrery: policy srtf: unknown parameter "rule": did you mean "rules"?
jobs t.csv --cluster 1x2 --policy srtf --set policy.srtf.rules=mine|2 orrery: policy srtf: rules: expected one of own\|helios, found "mine"
jobs t.csv --cluster 1x2 --policy fifo --set failures.mttf=1h|2 orrery: failures: unknown parameter "mttf": did you mean "mtbf"?
jobs t.csv --cluster 1x2 --policy fifo --seed x|2 orrery: scenario: \$\.seed: expected a whole number
jobs t.csv --cluster 1x2 --policy fifo --until soon|2 orrery: scenario: \$\.until: expected a time such as 30d, found "soon"
jobs t.csv --cluster 1x2 --policy fifo --record some|2 orrery: scenario: \$\.record: expected summary, sample, all, metrics or explain, found "some"
jobs t.csv --cluster 1x2 --policy fifo -j 0|2 orrery: -j: expected a whole number from 1
jobs t.csv --cluster 1x2 --policy fifo --policy-timeout 0|2 orrery: scenario: \$\.policy_timeout: expected a number from 0\.1
jobs t.csv --cluster 1x1 --policy fifo|2 orrery: t\.csv:3: job 1 requests 2 GPUs .*can never be placed.*--drop-unfit
jobs poisson:n=500,gpus=2 --cluster 1x1 --policy fifo|2 orrery: poisson:n=500,gpus=2: job 0 requests 2 GPUs and can never be placed on this cluster, and so do 499 others: expected
jobs mmpp:n=70,gpus=3 --cluster 1x2 --policy fifo|2 orrery: mmpp:n=70,gpus=3: job 0 requests 3 GPUs and can never be placed on this cluster, and so do 69 others: expected
jobs types.csv --cluster 1x2:v100,1x1:a100 --policy fifo|2 orrery: types\.csv:2: job 0 requests 2 GPUs of type a100 and can never
jobs t.csv --cluster 1x --policy fifo|2 orrery: cluster "1x": expected NODESxGPUS such as 64x8, found "1x"
jobs t.csv --cluster 0x2 --policy fifo|2 orrery: cluster "0x2": expected 1 to 1048576 nodes
jobs t.csv --cluster 1x9999 --policy fifo|2 orrery: cluster "1x9999": expected 0 to 1024 GPUs on a node
jobs t.csv --cluster 1x2:v100:cpu=3 --policy fifo|2 orrery: cluster "1x2:v100:cpu=3": expected cpus=CORES
jobs t.csv --cluster 2x2:racks=3 --policy fifo|2 orrery: cluster "2x2:racks=3": expected .*racks=N
jobs t.csv --cluster words.json --policy fifo|2 orrery: words\.json:1: expected a column "gpus"
jobs t.csv --cluster key.json --policy fifo|2 orrery: key\.json: \$\.nodes\[1\]: unknown key "gpu"
jobs t.csv --cluster kind.json --policy fifo|2 orrery: kind\.json: \$\.nodes\[1\]\.gpus: expected a number
jobs t.csv --cluster syntax.json --policy fifo|2 orrery: syntax\.json:2: invalid JSON
jobs t.csv --cluster cell.csv --policy fifo|2 orrery: cell\.csv:3: gpus: expected a whole number from 0 to 1024, found "two"
jobs t.csv --cluster columns.csv --policy fifo|2 orrery: columns\.csv:1: expected a column "gpus"
jobs t.csv --cluster wide.csv --policy fifo|2 orrery: wide\.csv:2: gpu: expected a whole number from 0 to 1024, found "2000"
jobs t.csv --cluster empty.csv --policy fifo|2 orrery: empty\.csv: the file is empty
jobs gone.csv --cluster 1x2 --policy fifo|2 orrery: gone\.csv: No such file
jobs bad.csv --cluster 1x2 --policy fifo|2 orrery: bad\.csv:3: gpus: .*"two"
jobs t.csv --cluster 1x2 --policy fifo --failures twice.csv|2 orrery: twice\.csv:3: node n0 is already down
jobs t.csv --cluster 1x2 --policy fifo --failures where.csv|2 orrery: where\.csv:2: expected node: the name or number
jobs t.csv --cluster 1x2 --policy fifo --failures gone.csv|2 orrery: gone\.csv: No such file
jobs t.csv --cluster 1x2 --policy fifo --throughputs gone.json|2 orrery: gone\.json: No such file
jobs poisson:rat=1 --cluster 1x2 --policy fifo|2 orrery: generator poisson: unknown parameter "rat": did you mean "rate"?
jobs poisson:n=0 --cluster 1x2 --policy fifo|2 orrery: poisson:n=0: this trace has no end
run|2 orrery: run: expected the name of a scenario file
run gone.json|2 orrery: gone\.json: No such file
run typo.json|2 orrery: typo\.json: unknown key "sed": did you mean "seed"?
run list.json|2 orrery: list\.json: \$\.policies\[1\]: expected a name or an object
run comma.json|2 orrery: comma\.json:2: invalid JSON
scenario|2 orrery: scenario: expected "show"
scenario show|2 orrery: scenario show: expected the name of a scenario file or a trace
policy show fifoo|2 orrery: unknown policy "fifoo": did you mean "fifo"?
EOT
is "$("$orrery" jobs bad.csv --cluster 1x2 --policy fifo --db none.db 2>/dev/null; [ -e none.db ]; echo $?)" 1 \
  "wrong input creates no database"

# ---- outputs that cannot be written: exit code 1 ----
said=$("$orrery" jobs t.csv "${base[@]}" --policy fifo 2>&1 >&-)
like "$? $said" '^1 orrery: standard output: cannot be written' "standard output is closed"
if [ -w /dev/full ]; then
  said=$("$orrery" jobs t.csv "${base[@]}" --policy fifo --json 2>&1 >/dev/full)
  like "$? $said" '^1 orrery: standard output: cannot be written' "standard output is full"
else
  skip "this system has no /dev/full"
fi
: >file
said=$("$orrery" jobs t.csv "${base[@]}" --policy fifo -q --out file/o 2>&1)
like "$? $said" '^1 orrery: file/o: ' "--out below a file"
said=$("$orrery" jobs t.csv "${base[@]}" --policy fifo -q --db file/runs.db 2>&1)
like "$? $said" '^2 orrery: file/runs\.db: .*Not a directory' "--db below a file"
mkdir shut && chmod 555 shut
if (: >shut/probe) 2>/dev/null; then
  rm -f shut/probe
  skip "the tests run as root, for whom every folder is writable" 2
else
  said=$("$orrery" jobs t.csv "${base[@]}" --policy fifo -q --out shut/o 2>&1)
  like "$? $said" '^1 orrery: shut/o: ' "--out in a folder that cannot be written"
  said=$("$orrery" jobs t.csv "${base[@]}" --policy fifo -q --db shut/runs.db 2>&1)
  like "$? $said" '^1 orrery: shut/runs\.db: ' "--db in a folder that cannot be written"
fi

# ---- stored runs are reused ----
# shellcheck disable=SC2054 # the commas belong to the values
study=(jobs "poisson:rate=0.5,n=3000,gpus=2,mean=3" --cluster 1x4 --policy fifo,srtf,las --no-figures)
"$orrery" "${study[@]}" --db runs.db --out first --json -q >first.json
one=$("$orrery" db digest runs.db)
said=$("$orrery" "${study[@]}" --db runs.db --out again --json 2>&1 >again.json)
like "$said" 'fifo: the run is taken from runs\.db' "an existing run is reused, and reported so"
is "$(diff -r first again; diff first.json again.json)" "" "a run from the database writes the same bytes"
said=$("$orrery" "${study[@]}" --db runs.db --fresh --out fresh 2>&1)
is "$(printf '%s' "$said" | grep -c 'taken from') $("$orrery" db digest runs.db)" "0 $one" "--fresh runs again, to the same digest"
is "$(diff -r first fresh)" "" "--fresh writes the same files"
is "$("$orrery" db runs runs.db | grep -cE ' (fifo|srtf|las) ')" 3 "each run is stored once"
"$orrery" "${study[@]}" --seed 2 --db other.db -q
is "$([ "$("$orrery" db digest other.db)" != "$one" ]; echo $?)" 0 "another seed gives another digest"

# ---- scenario and flags ----
# shellcheck disable=SC2054 # the commas belong to the values
flags=(t.csv --cluster 1x2 --policy fifo,srtf@b,las --placement consolidate --set jobs.start_cost=2s
  --set policy.las.limits=1s,3s --set policy.b.rules=helios --seed 7 --until 1h)
"$orrery" jobs "${flags[@]}" --no-figures --db flags.db --out flags -q
"$orrery" scenario show "${flags[@]}" >s.json
is "$?" 0 "scenario show prints the scenario of the flags"
"$orrery" run s.json --no-figures --db file.db --out file_out -q
is "$? $("$orrery" db digest file.db)" "0 $("$orrery" db digest flags.db)" "the scenario shown gives the digest of the flags"
is "$(diff -r flags file_out)" "" "the scenario shown gives the same files"
is "$("$orrery" scenario show s.json)" "$(cat s.json)" "scenario show of its own output is unchanged"
"$orrery" run s.json --seed 8 --set policy.las.limits=2s --no-figures -q --out changed
is "$?" 0 "flags override a scenario"
said=$("$orrery" run s.json --set policy.srtf.rules=own 2>&1)
like "$? $said" '^2 .*expected the label of a policy of this run, found "srtf"' "policy parameters are addressed by label"

# ---- number of stored rows: all, a sample, none ----
big=(jobs "poisson:rate=0.9,n=25000,mean=1" --cluster 1x1 --policy fifo --no-figures)
for record in all sample summary; do
  "$orrery" "${big[@]}" --record $record --out "r-$record" --db "r-$record.db" 2>"r-$record.err" >/dev/null
done
is "$(for r in all sample summary; do tail -n +2 "r-$r/fifo.jobs.csv" | wc -l; done | paste -sd' ')" "25000 6250 0" \
  "--record: all rows, every fourth (at most 10,000), none"
is "$(diff r-all/summary.csv r-sample/summary.csv; diff r-all/summary.csv r-summary/summary.csv)" "" \
  "the summary is the same for each"
like "$(cat r-sample.err)" 'rows of 6250 of 25000 jobs are kept \(a sample\)' "a sample is reported as one"
is "$(grep -c . r-all.err)" 0 "no remark if all rows are kept"

# ---- runs without a job ----
printf 'submit_s,duration_s,gpus\n' >none.csv
printf 'submit_s,duration_s,gpus\n200,10,1\n' >late.csv
is "$("$orrery" jobs none.csv "${base[@]}" --policy fifo 2>&1 | grep 'no job')" "the trace has no job" "a trace without a job"
is "$("$orrery" jobs late.csv "${base[@]}" --policy fifo --until 10s 2>&1 | grep 'no job')" \
  "no job was submitted before the end of the run at 10 s: the first submission is at 200 s" "--until before the first submission"

# ---- an elastic job whose request is larger than the cluster, although one of its sizes is not ----
# The job requests its largest size that fits: 10 s at the rate 1 are 10 / 0.6 s on 4 GPUs.
printf 'submit_s,duration_s,gpus,speedup\n0,10,8,2:0.4;4:0.6;8:1\n' >sizes.csv
for p in fifo optimus muri; do
  "$orrery" jobs sizes.csv --cluster 1x4,1x2:other:speed=1 --policy $p --no-figures --check --out sizes >said 2>&1
  is "$? $(sed -n 2p sizes/$p.jobs.csv | cut -d, -f 2,4,5)" "0 8,0.000000000,16.666666667" "$p: an elastic job requests its largest size that fits"
  is "$(grep -c '^1 elastic job requests more GPUs than can ever run together here: the largest of its sizes that can counts as the request' said)" 1 "$p: which is said"
done
is "$("$orrery" jobs sizes.csv --cluster 1x4 --policy fifo --no-figures --partitions '*=3' --check -q --out sizes 2>&1; sed -n 2p sizes/fifo.jobs.csv | cut -d, -f 5)" \
  25.000000000 "its largest size within a quota"
# Its limit is for 8 GPUs: 12 s there are 20 s at the rate 0.6, so the job is not killed before its end.
printf 'submit_s,duration_s,gpus,speedup,limit_s\n0,10,8,2:0.4;4:0.6;8:1,12\n' >limits.csv
for p in easy-backfill conservative-backfill; do
  "$orrery" jobs limits.csv --cluster 1x4 --policy $p --set policy.$p.overrun=kill --check --no-figures -q --out sizes
  is "$(sed -n 2p sizes/$p.jobs.csv | cut -d, -f 5,9)" 16.666666667,completed "$p: the limit of a job that requests a smaller size"
done
said=$("$orrery" jobs sizes.csv --cluster 1x1 --policy optimus --no-figures 2>&1)
like "$? $said" '^2 orrery: sizes.csv:2: job 0 requests 8 GPUs .*, a smaller size in speedup, or --drop-unfit' "no size fits"
like "$("$orrery" jobs sizes.csv --cluster 1x1 --policy optimus --no-figures --drop-unfit 2>&1)" '^orrery: 1 job is left out, because it can' "one job is left out"

# ---- help ----
for command in jobs run scenario policy db; do
  like "$("$orrery" $command --help; echo "code $?")" '^usage: orrery' "$command --help"
done
tap_done
