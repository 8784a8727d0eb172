#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Jobs and replicas on lent nodes: accounts by hand, fences during notices, the order of events, one half alone, errors.
. "${srcdir:-.}/tests/tap.sh"
orrery=$ORRERY
cd "$work" || exit 1
export LC_ALL=C
echo '{"name": "slow", "source": "made up", "kind": "table", "batch": [1], "latency_ms": [10000]}' >slow.json
metric() { awk -F, -v m="$2" '$2 == m { printf "%.12g", $3 }' "$1/summary.csv"; }
s() { awk -v a="$(metric "$@")" 'BEGIN { printf "%.9g", a * 3600 }'; }
ends() { awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "'"$2"'") at = i; next } { printf "%s%g", NR == 2 ? "" : " ", $at }' "$1"; }
# run NAME CLUSTER JOBS REQUESTS CAPACITY [MORE KEYS]: runs a replica, and jobs with a checkpoint after each 20 s of work
run() {
  printf 'submit_s,duration_s,gpus\n%s' "$3" >"$1-jobs.csv"
  printf 'arrival_s\n%s' "$4" >"$1-requests.csv"
  cat >"$1.json" <<EOT
{"world": "mixed", "cluster": "$2", "jobs": {"trace": "$1-jobs.csv", "jobs": {"checkpoint": "20s"}},
 "serve": {"trace": "$1-requests.csv", "models": ["slow.json"], "deployments": [{"replicas": 1}]},
 "policies": ["fifo+fifo"], "capacity": {"trace": "lent.csv"$5}${6:+, }${6:-}}
EOT
  rm -f "$1.db"
  "$orrery" run "$1.json" --check --no-figures -q --out "$1" --db "$1.db" 2>&1
}
events() { sqlite3 "$1.db" "SELECT group_concat((time_ns / 1000000000) || ' ' || kind, ', ') FROM (SELECT * FROM events WHERE kind LIKE 'node%' ORDER BY time_ns)"; }

# Instance a is present from 0 to 50 s, b from 0 s on; c is added at 80 s; d finds no free node. The job needs 100
# s, and the last answer is at 110 s.
printf 'time_s,event,node,price\n0,add,a,1\n0,add,b,\n50,remove,a,\n80,add,c,2\n85,add,d,\n200,end,,\n' >lent.csv
run plain 2x2:a100 $'0,100,1\n' $'45\n100\n' ', "price": 3'
is "$? $(ends plain/fifo+fifo.jobs.csv end_s) $(ends plain/fifo+fifo.requests.csv completed_s)" "0 110 60 110" "a job and a replica move to the other node at 50 s"
is "$(s plain node_hours)" "$((50 + 110 + 30))" "an instance is paid while it has a node"
is "$(metric plain instances) $(metric plain instances_unused) $(metric plain nodes_lost) $(metric plain nodes_noticed)" "4 1 1 0" "instances offered and unused; nodes lost"
is "$(awk -v x="$(s plain capacity_usd)" 'BEGIN { printf "%.9g", x }')" "$((50 * 1 + 110 * 3 + 30 * 2))" "an instance costs its price, else capacity.price"
is "$(s plain gpu_hours) $(s plain jobs_gpu_hours)" "$((2 * 190)) 110" "GPUs of nodes that are up"
is "$(metric plain starting_hours)" 0 "instances start at once"
is "$(events plain)" "50 node-fail, 80 node-repair" "each event of a node after time 0 appears once, in order of time"

# With a start-up time of 5 s all nodes are ready 5 s later. The start-up time is billed.
run startup 2x2:a100 $'0,100,1\n' $'45\n100\n' ', "price": 3, "startup": "5s"'
is "$? $(s startup starting_hours) $(ends startup/fifo+fifo.jobs.csv end_s)" "0 15 110" "start-up: three instances of 5 s; the job starts at 5 s, and its checkpoint at 45 s has 40 s of work"

# With 20 s of notice the replica drains from 30 s on; the job stays until the node is removed.
run notice 2x2:a100 $'0,100,1\n' $'45\n100\n' ', "notice": "20s"'
is "$? $(metric notice nodes_noticed) $(metric notice nodes_lost) $(ends notice/fifo+fifo.jobs.csv end_s)" "0 1 1 110" "notice: the node is lost, and the job restarts"
is "$(metric notice serve.replicas_lost) $(ends notice/fifo+fifo.requests.csv completed_s)" " 55 110" "the replica has moved before the request"
is "$(sqlite3 notice.db "SELECT detail FROM events WHERE kind = 'evict'")" "notice" "the event says why"
is "$(s notice idle_gpu_hours) $(s notice gpu_hours)" \
  "$(awk -v g="$(s notice gpu_hours)" -v j="$(s notice jobs_gpu_hours)" -v r="$(s notice serve_gpu_hours)" 'BEGIN { printf "%.9g %.9g", g - j - r, g }')" \
  "fenced GPUs are idle"
# The second job fills the other node from 35 to 65 s. The free GPU beside the first job is fenced, so the third job
# waits.
run fenced 2x2:a100 $'0,100,1\n35,30,2\n36,10,1\n' '' ', "notice": "20s"'
is "$? $(ends fenced/fifo+fifo.jobs.csv start_s) $(ends fenced/fifo+fifo.jobs.csv end_s)" "0 0 35 65 125 65 75" "no job starts on a node that was given notice"

# The first node has an instance only from 10 s on.
printf 'time_s,event,node\n10,add,a\n200,end,\n' >late.csv
run late 1x2:a100 $'0,100,1\n' $'45\n' ', "price": 3'
sed 's/lent.csv/late.csv/' late.json >late2.json
"$orrery" run late2.json --check --no-figures -q --out late2
is "$? $(ends late2/fifo+fifo.jobs.csv start_s) $(s late2 gpu_hours)" "0 10 200" "a node is down until its first instance comes"

# ---- the notice of capacity defaults to that of the service ----
notices() { "$orrery" scenario show "$1" | tr -d ' \t\n' | grep -o '"notice":"*[0-9]*' | sort -u | tr -d '"' | tr '\n' ' '; }
is "$(notices notice.json)" "notice:20 " "the service has the notice of the nodes"
sed 's/"models"/"serve": {"notice": "5s"}, &/' notice.json >own.json
is "$(notices own.json)" "notice:20 notice:5 " "a notice of the service is kept"
sed 's/"models"/"serve": {"start_up": "5s"}, &/' notice.json >other.json
is "$(notices other.json)" "notice:20 " "another option of the service leaves it"

# ---- chance ----
sed 's/"capacity": {[^}]*}/"failures": {"mtbf": "60s", "mttr": "5s"}/' plain.json >chance.json
is "$("$orrery" run chance.json --no-figures --seed 9 | grep -c 'seed has no effect')" 0 "failures at random"
like "$("$orrery" run plain.json --no-figures --seed 9)" 'seed has no effect: nothing of this run is drawn at random' "a seed without effect is named"
sed 's/"plain-jobs.csv"/"poisson:n=3,rate=1,mean=9"/' plain.json >drawn.json
is "$("$orrery" run drawn.json --no-figures --seed 9 | grep -c 'seed has no effect')" 0 "jobs at random"
sed 's/"plain-requests.csv"/"poisson:n=3,rate=1"/' plain.json >drawn.json
is "$("$orrery" run drawn.json --no-figures --seed 9 | grep -c 'seed has no effect')" 0 "requests at random"

# ---- reclaims ----
cat >reclaim.json <<'EOT'
{"world": "mixed", "cluster": "1x4:a100", "jobs": {"trace": "two-jobs.csv", "jobs": {"checkpoint": "20s"}},
 "serve": {"trace": "one-request.csv", "models": ["slow.json"], "deployments": [{"replicas": 0, "least": 0, "most": 1}],
  "serve": {"autoscale": "outstanding", "scale_interval": "30s", "scale_target": 1}}, "policies": ["fifo+fifo"], "first": "serve"}
EOT
printf 'submit_s,duration_s,gpus\n0,100,2\n10,100,2\n' >two-jobs.csv
printf 'arrival_s\n35\n' >one-request.csv
"$orrery" run reclaim.json --check --no-figures -q --out reclaim
is "$? $(metric reclaim reclaims) $(metric reclaim jobs_reclaimed) $(ends reclaim/fifo+fifo.requests.csv completed_s)" "0 1 1 70" "one replica takes the GPUs of one job"

# ---- one half alone ----
cat >jobs.json <<'EOT'
{"world": "mixed", "cluster": "2x2:a100", "jobs": {"trace": "plain-jobs.csv"}, "policies": ["fifo", "srtf"], "capacity": {"trace": "lent.csv"}}
EOT
"$orrery" run jobs.json --check --no-figures -q --out jobs
is "$? $(metric jobs serve.requests) $(metric jobs serve_gpu_hours | tr -d 0)" "0  " "jobs alone have no metrics of a service"
# The second job waits for four GPUs until the first one, which restarts at 50 s, ends at 150 s; it runs for 10 s. Three GPUs are free from
# 5 s, two from the notice at 30 s, one from 50 s, three from 80 s on.
printf 'submit_s,duration_s,gpus\n0,100,1\n5,10,4\n' >wait-jobs.csv
sed 's/"lent.csv"/&, "notice": "20s"/; s/plain-jobs/wait-jobs/; s/, "srtf"//' jobs.json >half.json
sed 's/"mixed"/"jobs"/; s/"jobs": {\("trace": "[^"]*"\)}/\1/' half.json >whole.json
for f in half whole; do "$orrery" run $f.json --check --no-figures -q --out $f; done
is "$(metric half jobs.stranded_gpus) $(metric whole stranded_gpus)" "2.21875 2.21875" "stranded GPUs of jobs alone, as in their own world"
cat >serve.json <<'EOT'
{"world": "mixed", "cluster": "2x2:a100", "serve": {"trace": "plain-requests.csv", "models": ["slow.json"], "replicas": 1}, "policies": ["fifo"], "prices": {"a100": 3.6}}
EOT
"$orrery" run serve.json --check --no-figures -q --out serve
is "$? $(s serve serve_gpu_hours) $(metric serve serve_usd) $(metric serve usd)" "0 110 0.11 0.44" "a service alone: one of four GPUs until its last answer"

# ---- pairs as objects ----
sed 's/"fifo+fifo"/{"policy": "fifo", "serve": "clipper", "label": "one", "serve_set": {"decrease": 0.5}}, {"policy": "las", "serve": "fifo", "set": {"limits": "1h"}}/' plain.json >objects.json
"$orrery" run objects.json --check --no-figures -q --out objects 2>said
is "$? $(cd objects && echo *.jobs.csv) $(cat said)" "0 las+fifo.jobs.csv one.jobs.csv " "pairs may be objects with settings of both halves"
"$orrery" scenario show objects.json | tr -d ' \t\n' >shown
is "$(grep -c '"decrease":"*0.5' shown) $(grep -c '"label":"las+fifo"' shown)" "1 1" "scenario show writes settings and labels of pairs"

# ---- refusals ----
refused() {
  sed -E "$1" plain.json >x.json
  said=$("$orrery" run x.json -q 2>&1)
  like "$? $said" "^2 orrery: .*$2" "$1"
}
refused 's/"models"/"modles"/' 'x\.json: \$\.serve: unknown key "modles": did you mean "models"?'
refused 's/"replicas": 1/"replicas": "x"/' 'x\.json: \$\.serve\.deployments\[0\]\.replicas: expected'
refused 's/"jobs": \{"trace": "[^"]*", /"jobs": {/' 'x\.json: \$\.jobs: expected a trace'
refused 's/\["fifo\+fifo"\]/[]/' '\$\.policies: expected a list of pairs such as \["fifo\+vllm"\]'
refused 's/\["fifo\+fifo"\]/"fifo"/' '\$\.policies: expected a list'
refused 's/"fifo\+fifo"/"fifo+"/' '\$\.policies\[0\]: expected JOBS\+SERVE'
refused 's/"fifo\+fifo"/{"policy": "fifo", "serve": "fifo", "sett": {}}/' 'policies\[0\].*"sett": did you mean "set"?'
refused 's/"fifo\+fifo"/"fifo+fifo", "fifo"/' '\$\.policies\[1\]: expected JOBS\+SERVE'
refused 's/"fifo\+fifo"/"fifo+las"/' 'policy "las" is a jobs policy'
refused 's/"jobs": \{[^}]*\}\}/"jobs": 7/' '\$\.jobs: expected an object, the scenario of that world'
refused 's/"serve": \{"trace/"serve": {"until": 5, "trace/' '\$\.serve\.until: this key belongs to the mixed scenario: expected \$\.until'
refused 's/"lent.csv"/"hazard:p=0.1,slots=2,length=0"/' '\$\.capacity\.trace: the trace of instances has no end: expected a length and no repeat, or \$\.until'
refused 's/"lent.csv"/"lent.csv", "repeat": true/' '\$\.capacity\.trace: the trace of instances has no end'
refused 's/"capacity"/"failures": {"mtbf": "1h"}, &/' 'capacity'
sed 's/"lent.csv"/"lent.csv", "repeat": true/; s/"capacity"/"until": "2h", &/' plain.json >x.json
"$orrery" run x.json -q --no-figures
is $? 0 "with until, lent nodes may change without end"
tap_done
