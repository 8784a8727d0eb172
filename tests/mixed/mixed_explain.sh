#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Parts of jobs, requests and nodes in mixed runs (--record explain), compared with values computed by hand.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
cd "$work" || exit 1
echo '{"name": "slow", "source": "made up", "kind": "table", "batch": [1], "latency_ms": [10000]}' >slow.json

# explained ENTITY: the parts of an entity in x.db, times in seconds
explained() {
  sqlite3 -separator ' ' x.db "SELECT subject || ':', begin_ns / 1000000000, end_ns / 1000000000, kind, ifnull(cause, ''), ifnull(detail, '')
    FROM parts WHERE entity = '$1' ORDER BY position" | sed 's/ *$//'
}

# One node with two GPUs. A replica has one until its only answer at 20 s. Job 0 asks for both and starts then.
# Job 1 follows in order, and waits for job 0.
printf 'submit_s,duration_s,gpus\n0,100,2\n5,10,1\n' >j.csv
printf 'arrival_s\n10\n' >r.csv
cat >m.json <<'EOF'
{"world": "mixed", "cluster": "1x2", "jobs": {"trace": "j.csv"}, "policies": ["fifo+fifo"], "record": "explain",
 "serve": {"trace": "r.csv", "models": ["slow.json"], "deployments": [{"replicas": 1}]}}
EOF
"$orrery" run m.json --check --no-figures -q --db x.db
is "$? $(explained job)" "0 0: 0 20 queued replicas 2 GPUs asked, 1 free
0: 20 120 compute
1: 5 20 ordered job 0
1: 20 120 queued job 0 1 GPU asked, 0 free
1: 120 130 compute" "a job waits for GPUs of a replica"
is "$(explained request)" "0: 10 20 compute" "the request of the same run"
is "$(explained node | awk '{ print $4, $5 }' | sort -u)" "in use" "a node on which only a replica runs is in use"
like "$("$orrery" explain x.db --job 0)" 'job 0 waited 20 s: 20 s behind replicas \(2 GPUs asked, 1 free\)' "explain reads parts of a mixed run"
like "$("$orrery" explain x.db --request 0)" 'request 0 was served 10 s: 10 s compute' "and of its requests"

# The service comes first: at 40 s the autoscaler detects the request of 30 s and takes a GPU of the job, whose work is
# lost. The replica ends with its last request at 50 s.
printf 'submit_s,duration_s,gpus\n0,100,2\n' >j.csv
printf 'arrival_s\n30\n' >r.csv
cat >m.json <<'EOF'
{"world": "mixed", "cluster": "1x2", "jobs": {"trace": "j.csv"}, "policies": ["fifo+fifo"], "first": "serve", "record": "explain",
 "serve": {"trace": "r.csv", "models": ["slow.json"], "deployments": [{"replicas": 0, "least": 0, "most": 1}],
  "serve": {"autoscale": "outstanding", "scale_interval": "10s"}}}
EOF
rm -f x.db
"$orrery" run m.json --check --no-figures -q --db x.db
is "$? $(explained job)" "0 0: 0 40 lost
0: 40 50 queued replicas 2 GPUs asked, 1 free
0: 50 150 compute" "a job waits for a replica that took its GPUs"

"$orrery" run m.json --no-figures -q --out o 2>message
is "$? $(grep -c 'needs a database for the parts of times: expected --db FILE' message)" "2 1" "parts need a database"
tap_done
