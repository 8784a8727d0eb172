#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Several worlds on one clock: cases computed by hand, one world alone compared with its own verb, and invalid scenarios.
. "${srcdir:-.}/tests/tap.sh"
orrery=$ORRERY
tree=$(cd "$srcdir" && pwd)
cd "$work" || exit 1
export LC_ALL=C

# The model takes 10 s for one request.
echo '{"name": "slow", "source": "made up", "kind": "table", "batch": [1], "latency_ms": [10000]}' >slow.json
# run NAME CLUSTER JOBS REQUESTS DEPLOYMENT SERVE-OPTIONS [MORE KEYS]
run() {
  printf 'submit_s,duration_s,gpus\n%s' "$3" >"$1-jobs.csv"
  printf 'arrival_s\n%s' "$4" >"$1-requests.csv"
  cat >"$1.json" <<EOT
{"world": "mixed", "cluster": "$2", "jobs": {"trace": "$1-jobs.csv", "jobs": {"checkpoint": "20s"}},
 "serve": {"trace": "$1-requests.csv", "models": ["slow.json"], "deployments": [$5], "serve": {$6}},
 "policies": ["fifo+fifo"]${7:+, }${7:-}}
EOT
  rm -f "$1.db"
  "$orrery" run "$1.json" --check --no-figures -q --out "$1" --db "$1.db" 2>&1
}
count() { find "$1" -type f | wc -l; }
metric() { awk -F, -v m="$2" '$2 == m { printf "%.15g", $3 }' "$1/summary.csv"; }
ends() { awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "'"$2"'") at = i; next } { printf "%s%g", NR == 2 ? "" : " ", $at }' "$1"; }
jobs_end() { ends "$1/fifo+fifo.jobs.csv" end_s; }
requests_end() { ends "$1/fifo+fifo.requests.csv" completed_s; }
times() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.9g", a * b }'; }

# ---- accounts: a job holds 2 of 4 GPUs for 100 s, a replica one until its last answer at 70 s ----
run accounts 1x4:a100 $'0,100,2\n' $'0\n60\n' '{"replicas": 1}' '' '"prices": {"a100": 3.6}'
is "$? $(jobs_end accounts) $(requests_end accounts)" "0 100 10 70" "both worlds complete their work"
for a in jobs:200 serve:70 idle:130; do
  is "$(times "$(metric accounts "${a%:*}_gpu_hours")" 3600) $(metric accounts "${a%:*}_usd")" "${a#*:} $(times "${a#*:}" 0.001)" \
    "${a%:*}: ${a#*:} GPU-seconds, at 3.60 USD an hour"
done
is "$(times "$(metric accounts gpu_hours)" 3600) $(metric accounts usd)" "400 0.4" "the accounts sum to four GPUs for 100 s"
is "$(times "$(metric accounts jobs.gpu_hours)" 3600) $(times "$(metric accounts serve.gpu_hours)" 3600) $(metric accounts serve.usd)" "200 70 0.07" \
  "the accounts equal the GPU-hours that the worlds report"
is "$(awk -F, '$2 == "gpus_serve" && $1 < 69.5 { up += $3; n++ } $2 == "gpus_serve" && $1 > 71 { after += $3 } END { print up / n, after + 0 }' accounts/fifo+fifo.series.csv)" \
  "1 0" "the series of held GPUs shows the replica's GPU and its release"

# ---- priority: two jobs of 2 GPUs fill the node; at 60 s the autoscaler detects the request that arrived at 35 s
# ----
full=(1x4:a100 $'0,100,2\n10,100,2\n' $'35\n' '{"replicas": 0, "least": 0, "most": 1}' '"autoscale": "outstanding", "scale_interval": "30s", "scale_target": 1, "start_up": 0')
run wait "${full[@]}" '"first": "nobody"'
is "$? $(jobs_end wait) $(requests_end wait)" "0 100 110 110" "first=nobody: the replica waits for the end of the first job at 100 s"
run reclaim "${full[@]}" '"first": "serve"'
is "$? $(requests_end reclaim)" "0 70" "first=serve: the replica takes the GPUs of a job at 60 s"
is "$(jobs_end reclaim)" "100 130" "the job that started last is stopped and resumes from its checkpoint at 40 s of work"
is "$(metric reclaim reclaims) $(metric reclaim jobs_reclaimed) $(metric reclaim jobs.restarts)" "1 1 1" "the reclaim is counted"

# Jobs of 2, 4 and 2 GPUs start at 0, 1 and 2 s on nodes 0, 1 and 0. A replica of 4 GPUs needs a whole node. The
# eviction of the last job does not free enough GPUs; that of the second job does. So only the second job is
# evicted.
run fewest 2x4:a100 $'0,100,2\n1,100,4\n2,100,2\n' $'35\n' '{"replicas": 0, "least": 0, "most": 1, "tp": 4}' "${full[4]}" '"first": "serve"'
is "$? $(requests_end fewest) $(jobs_end fewest) $(metric fewest jobs_reclaimed)" "0 70 100 130 102 1" "no job is stopped without need"
run never 1x4:a100,1x2:v100 $'0,100,2\n1,90,2\n2,98,2\n' $'35\n' '{"replicas": 0, "least": 0, "most": 1, "tp": 4, "gpu_types": "a100"}' "${full[4]}" '"first": "serve"'
is "$? $(jobs_end never) $(metric never jobs.restarts)" "0 110 120 100 2" "a job on GPUs that the replica cannot use is not stopped"

# ---- nodes: the replica and the job are on n0, which fails at 50 s ----
printf 'time_s,node,event\n50,n0,fail\n80,n0,repair\n' >gone.csv
gone=(2x2:a100 $'0,100,1\n' $'45\n100\n' '{"replicas": 1}')
run fail "${gone[@]}" '"start_up": "5s"' '"failures": {"trace": "gone.csv"}'
is "$? $(requests_end fail) $(jobs_end fail)" "0 65 110 110" "both start on the other node: the replica at 55 s, the job at 50 s from its checkpoint at 40 s"
is "$(metric fail serve.replicas_lost) $(metric fail serve.restarts) $(metric fail jobs.restarts)" "1 1 1" "each world counts its restart"
is "$(times "$(metric fail gpu_hours)" 3600)" "380" "a node that is down is not paid for: 4 x 110 s, less 2 x 30 s"
# The same nodes are lent: an instance is removed at 50 s and another one is added at 80 s. A change of price leaves
# the work unchanged.
printf 'time_s,event,node,zone,type,price\n0,add,a,,,1\n0,add,b,,,\n20,price,,,,3\n50,remove,a,,,\n80,add,c,,,2\n' >lent.csv
run lent "${gone[@]}" '"start_up": "5s"' '"capacity": {"trace": "lent.csv"}'
is "$? $(requests_end lent) $(jobs_end lent) $(times "$(metric lent gpu_hours)" 3600)" "0 65 110 110 380" "lent nodes that leave and come are nodes that fail and are repaired"
run notice "${gone[@]}" '"start_up": "5s", "notice": "20s"' '"failures": {"trace": "gone.csv"}'
is "$? $(requests_end notice) $(jobs_end notice) $(metric notice serve.replicas_lost)" "0 55 110 110 0" \
  "with 20 s of notice a replica runs on the other node when the request arrives"
run late 1x2:a100 $'0,100,1\n' $'45\n100\n' '{"replicas": 1}' '' '"failures": {"trace": "gone.csv"}'
is "$? $(requests_end late) $(jobs_end late)" "0 90 110 140" "with one node all wait until it is back at 80 s"
run until 1x4:a100 $'0,100,2\n' $'0\n60\n' '{"replicas": 1}' '' '"until": "65s"'
is "$? $(times "$(metric until gpu_hours)" 3600) $(times "$(metric until serve.gpu_hours)" 3600) $(metric until serve.requests_unfinished) $(metric until jobs.jobs_unfinished)" \
  "0 260 65 1 1" "--until: accounts and both worlds stop there"

# ---- the holders of GPUs, and the causes of losses ----
# rows NAME: prints the rows of the replicas, one per line
rows() { awk -F, 'NR > 1 { printf "%s%s %s %g %g %g %s", (NR > 2 ? "; " : ""), $1, $5, $6, $7, $8, $9 }' "$1/fifo+fifo.replicas.csv"; }
evicts() { sqlite3 "$1.db" "SELECT (time_ns / 1000000000) || ' ' || detail FROM events WHERE kind = 'evict'"; }
is "$(rows fail)" "0 n0:1 0 0 50 node-failed; 0 n1:1 50 55 110 over" "a row for each time that a replica holds GPUs: where, from when, ready, until when, and why it stopped"
is "$(rows notice)" "0 n0:1 0 0 30 notice; 1 n1:1 30 35 110 over" "notice: the replica drains at 30 s"
is "$(rows reclaim)" "0 n0:1 60 60 70 over" "a replica that is started later"
is "$(rows accounts)" "0 n0:1 0 0 70 over" "the last request ends at 70 s"
is "$(rows until)" "0 n0:1 0 0 0 " "a replica that still holds its GPU has no stop"
for of in fail:node-failed notice:notice lent:preempted; do
  is "$(evicts "${of%:*}")" "50 ${of#*:}" "${of%:*}: the job is evicted at 50 s, and the event says why"
done
is "$(evicts reclaim)" "60 reclaim" "a job whose GPUs a replica takes"

# ---- one world alone equals its own verb ----
cat >serve.json <<'EOT'
{"world": "serve", "cluster": "2x4:a100,4x4:a100-spot", "trace": "poisson:rate=4,n=3000", "models": ["table.json"],
 "deployments": [{"tp": 2, "replicas": 1, "least": 1, "most": 8}],
 "serve": {"autoscale": "outstanding", "scale_target": 2, "start_up": "20s", "notice": "2m"},
 "policies": ["fifo", "clipper"], "failures": {"mtbf": "10m", "mttr": "5m", "types": "a100-spot"}, "prices": {"a100": 3, "a100-spot": 1}}
EOT
cat >jobs.json <<'EOT'
{"world": "jobs", "cluster": "2x4:a100,4x4:a100-spot", "placement": "consolidate", "trace": "poisson:n=300,rate=0.05,gpus=2,mean=600",
 "jobs": {"checkpoint": "5m"}, "policies": ["fifo", "srtf", "las", "gavel"],
 "failures": {"mtbf": "30m", "mttr": "10m", "types": "a100-spot"}}
EOT
echo '{"name": "m", "source": "made up", "kind": "table", "batch": [1, 2, 4], "latency_ms": [900, 950, 1000]}' >table.json
none() { printf '%s\n' "$1" >"empty-$2.csv"; echo "empty-$2.csv"; }
jobs_none=$(none submit_s,duration_s,gpus jobs) requests_none=$(none arrival_s requests)
# halves WORLD: writes alone-WORLD.json, with the keys of the world in a half, and beside-WORLD.json, where the
# other world is present but idle
whole='"cluster|"policies|"failures|"prices|"placement'
halve() {
  tr -d '\n' <"$1.json" | sed -E 's/^\{"world": "[a-z]*",? *//; s/\}$//' >keys
  sed -E "s/\"(policies|failures|prices|cluster|placement)\": (\"[^\"]*\"|\[[^]]*\]|\{[^}]*\}),? *//g; s/, *\$//" keys >own
  grep -oE "($whole)\": (\"[^\"]*\"|\[[^]]*\]|\{[^}]*\})" keys | paste -sd, >shared
  printf '{"world": "mixed", "%s": {%s}, %s}\n' "$1" "$(cat own)" "$(cat shared)" >"alone-$1.json"
  sed "s/{\"world\": \"mixed\", /&$(printf '%s' "$2" | sed 's/[&/]/\\&/g'), /; $3" "alone-$1.json" >"beside-$1.json"
}
halve serve "\"jobs\": {\"trace\": \"$jobs_none\"}" 's/"fifo", "clipper"/"fifo+fifo@fifo", "fifo+clipper@clipper"/'
halve jobs "\"serve\": {\"trace\": \"$requests_none\", \"models\": [\"table.json\"], \"replicas\": 2}" \
  's/"fifo", "srtf", "las", "gavel"/"fifo+fifo@fifo", "srtf+fifo@srtf", "las+fifo@las", "gavel+fifo@gavel"/'
# differs WORLD OTHER: prints the differences between the world's own verb and a mixed run
differs() {
  for f in "$1"/*.csv; do
    own=$(basename "$f")
    case $own in
    notes.csv) ;; # keys of a mixed run have other paths
    summary.csv) diff <(grep -v -e _diff, -e "$3" "$f") <(grep -v "$3" "$2/$own" | sed -n "1p; s/,$1\\./,/p") ;;
    *.series.csv) diff "$f" <(grep -v ,gpus_ "$2/$own" | sed -n "1p; s/,$1\\./,/p") ;;
    *) cmp "$f" "$2/$own" ;;
    esac
  done 2>&1 | head -n 5
}
for world in serve jobs; do
  for kind in "" alone- beside-; do
    "$orrery" run "$kind$world.json" -q --check --no-figures --out "$kind$world" || echo "# $kind$world.json fails"
  done
  is "$(count $world) $(differs $world alone-$world '^$')" "$([ $world = serve ] && echo 8 || echo 10) " "$world alone in a mixed scenario: the same rows, metrics and series"
  is "$(differs $world beside-$world events,)" "" "beside an idle world only the number of events differs"
done
"$orrery" run serve.json -q --db run.db && "$orrery" serve --scenario serve.json -q --db verb.db
is "$("$orrery" db digest run.db)" "$("$orrery" db digest verb.db)" "orrery run and orrery serve store the same"
"$orrery" run jobs.json -q --db run-jobs.db && "$orrery" jobs poisson:n=300,rate=0.05,gpus=2,mean=600 --cluster 2x4:a100,4x4:a100-spot --placement consolidate \
  --policy fifo,srtf,las,gavel --set jobs.checkpoint=5m --set failures.mtbf=30m --set failures.mttr=10m --set failures.types=a100-spot -q --db verb-jobs.db
is "$("$orrery" db digest run-jobs.db)" "$("$orrery" db digest verb-jobs.db)" "orrery run and orrery jobs store the same"

# ---- many pairs: every law holds, the results are equal for any -j, and the scenario printed by `show` is
# equivalent ----
cat >pairs.json <<'EOT'
{"world": "mixed", "cluster": "2x4:a100,4x4:a100-spot",
 "jobs": {"trace": "poisson:n=150,rate=0.05,gpus=2,mean=600", "jobs": {"checkpoint": "5m"}},
 "serve": {"trace": "mmpp:rates=8|1,durations=5m|5m,n=8000", "models": ["table.json"], "deployments": [{"tp": 2, "replicas": 1, "least": 1, "most": 8}],
  "serve": {"autoscale": "outstanding", "scale_target": 2, "start_up": "20s", "notice": "2m"}},
 "policies": ["fifo+fifo", "srtf+fifo", "las-gpu+clipper", "gavel+fifo", "easy-backfill+clipper", "optimus+fifo", "drf+fifo", "conservative-backfill+fifo"],
 "first": "serve", "failures": {"mtbf": "30m", "mttr": "10m", "types": "a100-spot"}, "prices": {"a100": 3, "a100-spot": 1}}
EOT
"$orrery" run pairs.json -q --check -j1 --db j1.db --out j1 --no-figures
is "$? $(count j1) $(awk -F, '$2 == "reclaims" && $3 > 0' j1/summary.csv | wc -l)" "0 34 8" "eight pairs of policies run under --check, and each reclaims GPUs"
for f in j1/*.replicas.csv; do
  label=$(basename "$f" .replicas.csv)
  awk -F, -v label="$label" 'FNR == 1 { file++; next } file == 1 { sum += $4 * ($8 - $6) / 3600; n++ } file == 2 && $1 == label && $2 == "serve.gpu_hours" { want = $3 }
    END { print label, (n > 9 && want > 0 && sum / want - 1 < 1e-9 && want / sum - 1 < 1e-9) }' "$f" <(echo; cat j1/summary.csv)
done >audit
is "$(awk '{ n += $NF } END { print n, NR }' audit)" "8 8" "the rows of replicas add up to the GPU-hours of the replicas"
"$orrery" run pairs.json -q -j8 --db j8.db --out j8 --no-figures
is "$("$orrery" db digest j1.db) $(cat j1/* | sha256sum)" "$("$orrery" db digest j8.db) $(cat j8/* | sha256sum)" "-j1 and -j8 give the same bytes"
"$orrery" scenario show pairs.json >shown.json && "$orrery" run shown.json -q --db j1.db --out shown --no-figures 2>said
is "$? $(cat shown/* | sha256sum) $("$orrery" db runs j1.db | wc -l)" "0 $(cat j1/* | sha256sum) 9" "the output of scenario show is an equivalent scenario"
sed 's/, "prices": {[^}]*}//; s/"policies": \[[^]]*\]/"policies": ["fifo+fifo"]/' pairs.json >auto.json
"$orrery" run auto.json -q --db given.db && "$orrery" scenario show auto.json >shown.json && "$orrery" run shown.json -q --db shown.db
is "$? $("$orrery" db digest given.db)" "0 $("$orrery" db digest shown.db)" "with prices of the catalogue too: the same digest"
"$orrery" run pairs.json -q --policy fifo+clipper@x --set policy.clipper.decrease=0.5 --set serve.serve.scale_target=4 --set jobs.jobs.checkpoint=1m --out set --no-figures
is "$? $(cd set && echo *.jobs.csv)" "0 x.jobs.csv" "--policy and --set reach both halves"
if command -v python3 >/dev/null && python3 -c 'import jsonschema' 2>/dev/null; then
  python3 -c 'import json, jsonschema, sys
schema = json.load(open(sys.argv[1]))
for f in sys.argv[2:]: jsonschema.validate(json.load(open(f)), schema)' "$tree/docs/scenario.schema.json" pairs.json shown.json alone-serve.json alone-jobs.json accounts.json 2>&1 |
    tail -n 3 | cut -c 1-200
  ok "${PIPESTATUS[0]}" "mixed scenarios conform to docs/scenario.schema.json"
else
  skip "python3 with jsonschema is not installed"
fi

"$orrery" run pairs.json -q --policy fifo+tf-serving --set policy.tf-serving.full_only=true >said 2>&1
rc=$?
like "$rc $(cat said)" '^1 orrery: policy fifo\+tf-serving: request [0-9]+ at [0-9.]+ s: [0-9]+ requests have not ended, nothing runs, no timer is set' \
  "requests that can never be served end the run, although nodes fail and are repaired forever"

# ---- refused scenarios ----
# refused SED EXPECTED: the eight pairs, edited by SED
refused() {
  sed -E "$1" pairs.json >x.json
  is "$("$orrery" run x.json -q 2>&1; echo $?)" "orrery: $2
2" "$3"
}
refused 's/"jobs": \{"trace": "[^"]*", /"jobs": {/' "x.json: \$.jobs: expected a trace" "an invalid half: the message has its JSON path"
refused 's/"models"/"modles"/' "x.json: \$.serve: unknown key \"modles\": did you mean \"models\"?" "an unknown key of a half"
refused 's/"tp": 2/"tp": "x"/' "x.json: \$.serve.deployments[0].tp: expected a whole number from 1 to 4096, found \"x\"" "an invalid value in a half"
refused 's/"fifo\+fifo", //; s/"srtf\+fifo"/"srtf"/' "x.json: \$.policies[0]: expected JOBS+SERVE, as in fifo+vllm, or an object with policy and serve" "one policy where a pair is required"
refused 's/"first": "serve"/"first": "jobs"/' "x.json: \$.first: expected nobody or serve, found \"jobs\"" "an unknown value of first"
refused 's/"jobs": \{"trace"/"jobs": {"seed": 3, "trace"/' "x.json: \$.jobs.seed: this key belongs to the mixed scenario: expected \$.seed" "a seed in one half"
refused 's/"jobs": \{.*\}\},//; s/"serve": \{"trace/"sreve": {"trace/' "x.json: unknown key \"sreve\": did you mean \"serve\"?" "an unknown world"
is "$(echo '{"world": "mixed", "cluster": "1x1:a100", "policies": ["fifo"]}' >x.json; "$orrery" run x.json -q 2>&1; echo $?)" \
  "orrery: x.json: expected \$.jobs, \$.serve or both: the scenarios of the worlds that share the cluster
2" "a scenario without either half"
# ---- the cost of --check ----
cat >busy.json <<'EOT'
{"world": "mixed", "cluster": "6x8:a100", "record": "summary", "jobs": {"trace": "tiresias-like:n=300,gap=20,high=14400"},
 "serve": {"trace": "alternating:low=5,high=30,phase=10m,n=60000,prompt=500,output=200", "models": ["llama2-7b"],
  "deployments": [{"tp": 1, "replicas": 4, "least": 2, "most": 16}], "serve": {"autoscale": "outstanding", "scale_target": 12, "scale_interval": "15s"}},
 "policies": ["fjf+vllm"], "first": "serve"}
EOT
if [ -n "${ORR_SANITIZED:-}" ]; then
  skip "sanitizers change the cost of checks"
else
  cost() { # of the fastest of three runs
    for _ in 1 2 3; do
      rm -f busy.db
      "$orrery" run busy.json -q -j1 --no-figures --db busy.db "$@" >/dev/null 2>&1 || echo failed
      sqlite3 busy.db "SELECT cpu_s FROM runs"
    done | sort -g | head -n 1
  }
  plain=$(cost) checked=$(cost --check)
  is "$(awk -v a="$plain" -v b="$checked" 'BEGIN { print (a > 0.05 && b > a / 2 && b <= 3 * a) }')" 1 "--check costs at most three times ($plain s, $checked s)"
fi
tap_done
