#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# orrery serve at the command line: files, error messages, exit codes (0 done, 1 failed, 2 the input is wrong).
. "${srcdir:-.}/tests/tap.sh"
orrery=$ORRERY
tree=$(cd "$srcdir" && pwd)
cd "$work" || exit 1

# A model with times computed by hand, and three requests: the second waits for the first.
echo '{"name": "slow", "source": "made up", "kind": "table", "batch": [1, 2], "latency_ms": [20, 25]}' >slow.json
printf 'arrival_s,request_id\n0,first\n0.01,"a ""b"", c"\n0.1,\n' >three.csv
one=(--model slow.json --cluster 1x1 --no-figures)

# ---- output ----
"$orrery" serve three.csv "${one[@]}" --policy fifo --out o --check -q >stdout 2>said
is "$? $(cat stdout said)" "0 " "-q prints nothing"
is "$(cd o && echo *)" "fifo.replicas.csv fifo.requests.csv fifo.series.csv notes.csv summary.csv" "--out writes the expected files"
is "$(cat o/fifo.requests.csv)" 'request_id,arrival_s,first_token_s,completed_s,queue_s,preemptions,model,prompt_tokens,output_tokens,status,replica
first,0.000000000,0.020000000,0.020000000,0.000000000,0,slow,1,0,completed,0
"a ""b"", c",0.010000000,0.040000000,0.040000000,0.010000000,0,slow,1,0,completed,0
2,0.100000000,0.120000000,0.120000000,0.000000000,0,slow,1,0,completed,0' "requests run in order, 20 ms each, one at a time"
metric() { awk -F, -v p="$1" -v m="$2" '$1 == p && $2 == m { print $3 }' "${3:-o}/summary.csv"; }
near() { awk -v a="$1" -v b="$2" 'BEGIN { off = a / b - 1; print (off * off < 1e-18) ? "near" : a " for " b }'; }
is "$(near "$(metric fifo completion_mean)" "$(awk 'BEGIN { printf "%.17g", 0.07 / 3 }')")" near "mean time from arrival to completion"
is "$(near "$(metric fifo utilisation)" 0.5)" near "the GPU is busy for 60 of 120 ms"
text=$("$orrery" serve three.csv "${one[@]}" --policy fifo)
like "$text" '^policy +completed +requests/s +end-to-end mean +median +p99 +utilisation +preemptions$' "the table's columns"
like "$text" '^fifo +3 +25\.0 +23\.3 ms ' "a row of the table"
is "$("$orrery" serve three.csv "${one[@]}" --policy fifo --json | tr -d '\t' | grep -c '^"world":"serve",$')" 1 "the output of --json names the world"

# ---- the same bytes for every -j, and from the database ----
study=(poisson:rate=40,n=2000 "${one[@]}" --policy fifo,tf-serving,fifo@again)
"$orrery" serve "${study[@]}" -j1 --out j1 --db runs.db --json >j1.json 2>&1
rc=$?
"$orrery" serve "${study[@]}" -j2 --out j2 --json >j2.json 2>&1
is "$rc $? $(cat j1/* j1.json | sha256sum)" "0 0 $(cat j2/* j2.json | sha256sum)" "-j1 and -j2 give the same bytes"
"$orrery" serve "${study[@]}" --out again --db runs.db --json >again.json 2>said
is "$? $(cat again/* again.json | sha256sum)" "0 $(cat j1/* j1.json | sha256sum)" "runs from the database give the same bytes"
like "$(cat said)" 'tf-serving: the run is taken from runs.db' "a message names the database"
is "$(cmp j1/fifo.requests.csv j1/again.requests.csv; echo $?)" 0 "a policy under another label gives the same results"
like "$("$orrery" serve "${study[@]}")" '^  again +[+]?0 ms' "a policy under another label differs by 0 ms request by request"
"$orrery" db export runs.db --run 2 --out exported
is "$(cat exported/tf-serving.*.csv | sha256sum)" "$(cat j1/tf-serving.*.csv | sha256sum)" "db export writes the same files"
cp slow.json copy.json
runs() { "$orrery" db runs runs.db | tail -n +2 | wc -l; }
"$orrery" serve "${study[@]/slow.json/copy.json}" --db runs.db -q
is "$(runs)" 3 "a model file with the same contents gives the same run"
sed 's/25/26/' slow.json >other.json
"$orrery" serve "${study[@]/slow.json/other.json}" --db runs.db -q
is "$(runs)" 6 "a model file with other contents gives another run"
"$orrery" serve "${study[@]}" --seed 2 --db runs.db -q
is "$(runs)" 9 "another seed gives another run"
cp three.csv elsewhere.csv
"$orrery" serve three.csv "${one[@]}" --policy fifo --db traces.db -q
"$orrery" serve elsewhere.csv "${one[@]}" --policy fifo --db traces.db -q
is "$("$orrery" db runs traces.db | wc -l)" 2 "a trace is identified by its contents"
"$orrery" serve "${study[@]}" --record sample --db sample.db -q
is "$? $("$orrery" db runs sample.db | awk 'NR == 2 { print $5 }')" "0 2000" "--record sample: number of rows"

# ---- scenarios ----
cat >base.json <<'E'
{"world": "serve", "trace": "three.csv", "models": ["slow.json"], "cluster": "1x2:a100", "policies": ["fifo"]}
E
show=(scenario show poisson:rate=40,n=50 --world serve "${one[@]}" --policy fifo --slo 1s --router random --replicas 1)
"$orrery" "${show[@]}" >s.json
is "$?" 0 "scenario show --world serve"
"$orrery" scenario show s.json >s2.json
is "$(cmp s.json s2.json; echo $?)" 0 "scenario show of its own output is unchanged"
"$orrery" run s.json --out r1 -q --no-figures && "$orrery" serve poisson:rate=40,n=50 "${one[@]}" --policy fifo --slo 1s --router random --replicas 1 --out r2 -q
is "$(cat r1/* | sha256sum)" "$(cat r2/* | sha256sum)" "orrery run and orrery serve give the same bytes"
"$orrery" serve --scenario s.json --compress 2 --out r3 -q --no-figures
is "$? $(awk -F, 'NR == 3 { printf "%.6f", $2 * 2 }' r3/fifo.requests.csv)" "0 $(awk -F, 'NR == 3 { printf "%.6f", $2 }' r1/fifo.requests.csv)" \
  "flags override the file: arrivals in half the time"
"$orrery" run base.json --set models=slow.json,other.json --set deployments=x 2>said
is "$? $(cat said)" '2 orrery: base.json: $.models[1]: duplicate name "slow" (of model 0): expected a unique name' "--set models=A,B is a list"
"$orrery" serve three.csv --scenario s.json --set serve.router=jsq --out r4 -q --no-figures
is "$? $(wc -l <r4/fifo.requests.csv)" "0 4" "TRACE and --set override the file"
if command -v python3 >/dev/null && python3 -c 'import jsonschema' 2>/dev/null; then
  python3 -c 'import json, jsonschema, sys
schema = json.load(open(sys.argv[1]))
for f in sys.argv[2:]: jsonschema.validate(json.load(open(f)), schema)' "$tree/docs/scenario.schema.json" s.json base.json 2>&1 | tail -n 3 | cut -c 1-200
  ok "${PIPESTATUS[0]}" "the scenario conforms to docs/scenario.schema.json"
else
  skip "python3 with jsonschema is not installed"
fi

# ---- errors ----
"$orrery" serve three.csv "${one[@]}" --policy fifo --db before.db -q
before=$("$orrery" db digest before.db)
# try KEYS: runs the base scenario with these keys; null removes a key
cat >edit.awk <<'E'
{ base = $0 }
END {
  n = split(keys, pair, /;/)
  for (i = 1; i <= n; i++) {
    key = pair[i]; sub(/=.*/, "", key)
    value = pair[i]; sub(/^[^=]*=/, "", value)
    gsub("\"" key "\": (\"[^\"]*\"|\\[[^]]*\\])(, )?", "", base)
    if (value != "null") sub(/\}$/, ", \"" key "\": " value "}", base)
  }
  gsub(/, *,/, ",", base); sub(/\{, /, "{", base); sub(/, *\}$/, "}", base)
  print base
}
E
try() {
  awk -v keys="$1" -f edit.awk base.json >x.json
  "$orrery" run x.json --db before.db --no-figures -q 2>&1
}
printf 'arrival_s,model\n0,slow\n1,fast\n' >two-models.csv
printf 'arrival_s\n1\n1\n' >at-once.csv
while IFS='|' read -r keys expected; do
  said=$(try "$keys")
  is "$? $said" "2 orrery: $expected" "$keys"
done <<'EOT'
worlds="x"|x.json: unknown key "worlds": did you mean "world"?
world="cloud"|x.json: $.world: expected "jobs", "step", "serve", "spot", "mixed" or "plan", found "cloud"
trace=null|x.json: expected a trace
compress=0|x.json: $.compress: expected a number from 1e-06 to 1000000, found "0"
compress="x"|x.json: $.compress: expected a number, found "x"
trace_options=[]|x.json: $.trace_options: expected an object
trace="two-models.csv"|two-models.csv:3: request 1 names model "fast": expected a served model (--model), or serve.any_model=true, which uses the first one
models=null|x.json: expected a model (--model NAME or FILE.json)
models=3|x.json: $.models: expected a list of 1 to 4096 models
models=[]|x.json: $.models: expected a list of 1 to 4096 models
models=["slow.json",3]|x.json: $.models[1]: expected the name of a model, a file, or a model as an object
models=["slow.json","copy.json"]|x.json: $.models[1]: duplicate name "slow" (of model 0): expected a unique name
models=["nowhere.json"]|x.json: $.models[0]: nowhere.json: No such file or directory
models=[{"kind": "x"}]|x.json: $.models[0]: $.kind: expected one of table, llm, found "x"
cluster=null|x.json: expected a cluster (--cluster 64x8:v100, or a file)
cluster="2x0"|cluster 2x0: expected at least one GPU
placement="x"|x.json: $.placement: expected count, consolidate, spread, best-fit, topology or fgd, found "x"
precision="fp17"|x.json: $.precision: expected fp32, tf32, fp16, bf16 or fp8, found "fp17": did you mean "fp16"?
device="warp9"|device: unknown device "warp9": 'orrery device list' shows all devices; the name of a file ends in .json
deployments={}|x.json: $.deployments: expected a list of 1 to 4096 objects
deployments=[3]|x.json: $.deployments[0]: expected an object
deployments=[{"replica": 1}]|x.json: $.deployments[0]: unknown key "replica": did you mean "replicas"?
deployments=[{"model": "x"}]|x.json: $.deployments[0].model: expected "any" or one of the models: slow, found "x"
deployments=[{"role": "x"}]|x.json: $.deployments[0].role: expected both, prefill or decode, found "x"
deployments=[{"tp": 0}]|x.json: $.deployments[0].tp: expected a whole number from 1 to 4096, found "0"
deployments=[{}, {"pp": "x"}]|x.json: $.deployments[1].pp: expected a whole number from 1 to 4096, found "x"
deployments=[{"kv_blocks": -1}]|x.json: $.deployments[0].kv_blocks: expected a whole number from 0 to 1000000000, found "-1"
deployments=[{"gpu_types": "a100,h100"}]|x.json: $.deployments[0].gpu_types: expected types that the cluster has, found "a100,h100"
deployments=[{"replicas": 3}]|x.json: $.deployments[0]: 3 replicas of 1 x 1 GPUs are 3 GPUs: expected at most 2, the GPUs of the cluster
deployments=[{"replicas": 2}, {}]|x.json: $.deployments: request 3 GPUs in total: expected at most 2, the GPUs of the cluster
deployments=[{"replicas": 0}]|x.json: $.deployments[0].replicas: expected at least 1, because "most" is 0
deployments=[{"least": 2, "most": 1}]|x.json: $.deployments[0].most: expected at least 2, the value of "least", found 1
deployments=[{"replicas": 2, "most": 1}]|x.json: $.deployments[0].replicas: expected from 0 ("least") to 1 ("most"), found 2
tp=[]|x.json: $.tp: expected a string or a number
serve=3|x.json: $.serve: expected an object
serve={"route": "jsq"}|serve: unknown parameter "route": did you mean "router"?
serve={"slo": "soon"}|serve: slo: expected a time such as 90, 90s, 1.5m, 2h, found "soon"
failures={"mtbf": "1h", "trace": "f.csv"}|failures: "trace" and "mtbf" exclude each other: expected only one of them
prices=3|x.json: $.prices: expected auto, none, TYPE=USD,.. or an object with such keys, found "3"
prices="a100"|x.json: $.prices: expected auto, none or TYPE=USD,.., found "a100"
prices={"h100": 3}|x.json: $.prices: expected GPU types of the cluster, found "h100"
prices={"a100": "x"}|x.json: $.prices.a100: expected USD per GPU and hour, from 0 to 1e6, found "x"
replications=0|x.json: $.replications: expected a number from 1 to 1000000, found "0"
until="later"|x.json: $.until: expected a time such as 30d, found "later"
record="none"|x.json: $.record: expected summary, sample, all, metrics or explain, found "none"
policies=[]|expected a policy, such as --policy academus,cascade; 'orrery policy list' shows all policies
policies=["fif"]|unknown policy "fif": did you mean "fifo"? 'orrery policy list' shows all policies; a plugin is named by its file
policies=["srtf"]|policy "srtf" is a jobs policy (for 'orrery jobs'): expected a serve policy
policies=["fifo","fifo"]|two policies have the label "fifo": expected fifo@LABEL for one of them
EOT
while IFS='|' read -r args expected; do
  # shellcheck disable=SC2086
  said=$("$orrery" serve $args 2>&1)
  is "$? $said" "2 orrery: $expected" "serve $args"
done <<'EOT'
|serve: expected TRACE (a file, or a generator such as poisson:rate=2,n=500); --help shows the forms
three.csv --models x|unknown option "--models": did you mean "--model"?
three.csv --model slow.json --cluster 1x1 --policy fifo --attainment 0.5|serve: --attainment: expected this option only together with --find-rate or --find-replicas
three.csv --model slow.json --cluster 1x1 --policy fifo --find-rate e2e=1s --db x.db|serve: --find-rate stores no runs: expected neither --db nor --out
three.csv --model slow.json --cluster 1x1 --policy fifo --find-rate e2e=1s --until 9s|--find-rate: expected no --until, because an end of the run cuts off requests, and more of them at lower rates
three.csv --model slow.json --cluster 1x1 --policy fifo --find-rate e2e=1s --set serve.clients=2|--find-rate: expected no serve.clients, because the rate of closed-loop users does not follow the trace
at-once.csv --model slow.json --cluster 1x1 --policy fifo --find-rate e2e=1s|--find-rate: all requests arrive at the same time: expected different arrival times
three.csv --model slow.json --cluster 1x1 --policy fifo --find-rate e2e|--find-rate: expected ttft=TIME, tpot=TIME or e2e=TIME, comma-separated, found "e2e"
three.csv --model slow.json --cluster 1x1 --policy fifo --find-rate e2e=1s --attainment 2|--attainment: expected a share of the requests above 0 and at most 1, found "2"
poisson:rate=3,n=0 --model slow.json --cluster 1x1 --policy fifo|poisson:rate=3,n=0: this trace has no end: expected a number of requests (n=..) or --until
--scenario nowhere.json|nowhere.json: No such file or directory
EOT
echo '{"world": "jobs"}' >jobs.json
said=$("$orrery" serve --scenario jobs.json 2>&1)
is "$? $said" '2 orrery: jobs.json: $.world: expected "serve" ('\''orrery run'\'' runs scenarios of any world)' "a scenario of another world"
is "$("$orrery" db digest before.db)" "$before" "the database is unchanged"

# ---- --find-rate, against a fine grid ----
load=(poisson:rate=40,n=4000 "${one[@]}" --policy fifo)
found=$("$orrery" serve "${load[@]}" --find-rate e2e=100ms --attainment 0.9 --json)
factor=$(printf '%s\n' "$found" | sed -n 's/.*"factor": \([0-9.]*\),.*/\1/p' | head -1)
share() { # FACTOR: share of the requests that are completed within 100 ms
  "$orrery" serve "${load[@]}" --compress "$1" --out grid -q
  awk -F, 'NR > 1 { n++; good += $4 - $2 <= 0.1 } END { print good / n }' grid/fifo.requests.csv
}
best=0
for k in $(seq 0 40); do
  x=$(awk -v f="$factor" -v k="$k" 'BEGIN { printf "%.9g", f * (0.9 + 0.005 * k) }')
  awk -v s="$(share "$x")" 'BEGIN { exit !(s >= 0.9) }' && best=$x
done
like "$(awk -v a="$factor" -v b="$best" 'BEGIN { print a / b }')" '^(0\.99|1|1\.00)' "--find-rate finds what a grid in steps of 0.5 % finds, within 1 % ($factor, $best)"
like "$("$orrery" serve "${load[@]}" --find-rate e2e=100ms)" '^fifo: [0-9.]+ requests/s, [0-9.]+ times the trace.s rate: 9[0-9.]+ % of the requests meet the SLO; at [0-9.]+ requests/s 8[0-9.]+ %, bound by e2e: of the completed requests 8[0-9.]+ % keep e2e \([0-9]+ runs\)$' \
  "--find-rate prints the rate, its share, and a rate with a lower share"

# In M/D/1 the share of requests that wait for at most four services of 20 ms is 0.9 at 37.885 requests/s. Erlang
# 1909: P(W <= t) = (1 - rho) sum over k <= t/D of (l (kD - t))^k / k! exp(-l (kD - t)), solved for l.
rate=$("$orrery" serve poisson:rate=40,n=40000 "${one[@]}" --policy fifo --replications 3 --find-rate e2e=100ms --json |
  sed -n 's/.*"rate_per_s": \([0-9.]*\),.*/\1/p')
is "$(awk -v r="$rate" 'BEGIN { off = r / 37.8848219 - 1; print (off * off < 1e-4) ? "near" : r }')" near "--find-rate: the rate is within 1 % of the closed form"

# ---- replications ----
"$orrery" serve poisson:rate=40,n=300 "${one[@]}" --policy fifo,fifo@twin --replications 5 --out reps -q 2>said
is "$? $(metric fifo replications reps)" "0 5" "--replications: the metric replications is their number"
is "$(near "$(metric fifo completion_mean reps)" "$(awk -F, '$2 == "replications:completion_mean" { s += $3; n++ } END { printf "%.17g", s / n }' reps/fifo.series.csv)")" \
  near "a metric is the mean over replications"
is "$(awk -F, '$2 == "replications:completion_mean" { print $3 }' reps/fifo.series.csv | sort -u | wc -l)" 5 "replications differ"
is "$(awk -F, '$1 == "twin" && $2 == "ratio_completion_mean" { print $3, "(" $4 ")" }' reps/summary.csv)" "1 ()" \
  "common random numbers: the ratio of a twin is 1"
"$orrery" serve poisson:rate=40,n=300 "${one[@]}" --policy fifo --out rep0 -q
is "$(cmp rep0/fifo.requests.csv reps/fifo.requests.csv; echo $?)" 0 "the rows are those of the first replication"
"$orrery" serve poisson:rate=40,n=300 "${one[@]}" --policy fifo,fifo@twin --replications 5 -j2 --db reps.db --out reps2 -q 2>said
"$orrery" serve poisson:rate=40,n=300 "${one[@]}" --policy fifo,fifo@twin --replications 5 --db reps.db --out reps3 -q 2>said
is "$(cat reps2/* | sha256sum) $(cat reps3/* | sha256sum)" "$(cat reps/* | sha256sum) $(cat reps/* | sha256sum)" \
  "replications in parallel and from the database give the same bytes"

# ---- a user's policy ----
: "${CC:=cc}"
if command -v "${CC%% *}" >/dev/null; then
  "$orrery" policy new mine --kind serve >/dev/null && said=$(ORRERY_CFLAGS="-I$tree/include" ./mine_test.sh 2>&1)
  is "$? $(printf '%s\n' "$said" | tail -1)" "0 ok: same times as fifo" "policy new --kind serve: it compiles, runs and does what its test says"
  like "$("$orrery" policy show ./mine.so)" '^kind: serve$' "policy show"
  is "$("$orrery" serve three.csv "${one[@]}" --policy ./mine.so --set policy.mine.batch=2 --json | grep -c '"batch":.*"2"')" 1 "--set changes a parameter of the plugin"
  build() { # SED-PROGRAM: mine.c changed by it
    sed "$1" mine.c >bad.c && $CC -std=c11 -O1 -shared -fPIC -w "-I$tree/include" -o bad.so bad.c &&
      "$orrery" serve three.csv "${one[@]}" --policy ./bad.so --db before.db -q 2>&1
  }
  while IFS='|' read -r change expected; do
    said=$(build "$change")
    is "$? $said" "$expected" "$change"
  done <<'EOT'
/\.arrive = arrive/d|2 orrery: ./bad.so: policy mine: expected a function arrive, found NULL
s/\.create = create,//|2 orrery: ./bad.so: policy mine: expected a function create, found NULL
s/^ORR_POLICY_SERVE(.*/struct few { void *f; } few; ORR_POLICY_DECLARE(serve_mine, mine, "", "serve", 0u, params, struct few, few);/|2 orrery: ./bad.so: policy mine: its table of functions has 8 bytes: expected 72, as in the headers of this program
EOT
  said=$("$orrery" jobs poisson:rate=1,n=5 --cluster 1x1 --policy ./mine.so 2>&1)
  is "$? $said" "2 orrery: policy \"mine\" is a serve policy (for 'orrery serve'): expected a jobs policy" "orrery jobs refuses a serving policy"
  is "$("$orrery" db digest before.db)" "$before" "the database is unchanged"
else
  skip "no C compiler ($CC)" 8
fi
tap_done
