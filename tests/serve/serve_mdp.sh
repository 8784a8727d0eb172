#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The policy mdp as a command: time-outs, links, losses that policies share, speed; a plugin with part answers.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
tree=$(cd "$srcdir" && pwd)
cd "$work" || exit 1
n=100000 many=1000000
[ "${ORR_SANITIZED:-}" = 1 ] && n=20000 many=10000
model() { # NAME MS INPUT: a table model with answers of 4 kB
  echo '{"name": "'"$1"'", "kind": "table", "source": "made up", "batch": [1], "latency_ms": ['"$2"'], "input_bytes": '"$3"', "output_bytes": 4000}' >"$1.json"
}
# Model S at 192 px has 2 x 3.315 GFLOP and B at 224 px has 2 x 17.56 GFLOP, on a device of 1.69 TFLOP/s (the peak
# of a Xavier NX).
s_ms=$(awk 'BEGIN { printf "%.17g", 2 * 3.315 / 1.69 }') b_ms=$(awk 'BEGIN { printf "%.17g", 2 * 17.56 / 1.69 }')
model s "$s_ms" 110592
model b "$b_ms" 150528
# Requests are 20 ms apart, so that every request is served alone.
awk -v n=$n 'BEGIN { print "arrival_s"; for (i = 0; i < n; i++) printf "%.3f\n", i * 0.02 }' >apart.csv
serve() { # TRACE ARGS..
  rm -rf o
  timeout 300 "$orrery" serve "$@" --cluster 4x1 --replicas 4 --out o --no-figures -q >said 2>&1 || { cat said; return 1; }
}
metric() { awk -F, -v m="$1" -v c="${2:-3}" '$2 == m { print $c }' o/summary.csv; }
check() { ok "$(awk "BEGIN { print !($1) }")" "$2 ($1)"; }

# Each of four devices answers with probability 0.9. T is the time of computation and links; the deadline tau is 2
# T. A request ends at the deadline unless all four devices answer, with probability 1 - 0.9^4.
links="--set serve.front=per-replica --set serve.front_Bps=125e6"
# shellcheck disable=SC2086
serve apart.csv --model s.json --policy mdp --set policy.mdp.deadline_factor=2 --set policy.mdp.fusion=1ms $links --set serve.loss=0.1 --set serve.ci_level=0.99 --check
is "$? $(cat said)" "0 " "time-outs: conservation holds"
tau=$(awk 'BEGIN { printf "%.17g", 2 * ('"$s_ms"' / 1000 + (110592 + 4000) / 125e6) }')
check "$(metric deadline_share 4) <= 0.3439 && 0.3439 <= $(metric deadline_share 5)" "34.39 % of requests end at the deadline, 99 % interval"
check "$(metric answers 4) <= 3.6 && 3.6 <= $(metric answers 5)" "3.6 answers in the mean"
check "($(metric completion_p99) - $tau - 0.001) ^ 2 < 1e-18" "the 99 % quantile is the deadline and the fusion"
check "($(metric completion_p50) - $tau / 2 - 0.001) ^ 2 < 1e-18" "the median is the slowest device and the fusion"
# The number of requests without an answer is binomial, n requests at 1e-4: the mean is 10, and 2.58 standard
# deviations are 8.2.
[ "${ORR_SANITIZED:-}" = 1 ] || check "$(metric requests_shed) >= 2 && $(metric requests_shed) <= 19" "1 in 10,000 requests has no answer"
check "($(metric answers_lost) / $n / 4 - 0.1) ^ 2 < (2.58 ^ 2) * 0.09 / $n / 4" "a tenth of the answers is lost"
lost=$(metric answers_lost)
# Requests of the metric deadline_share that were not shed have part of their answers.
check "$(metric completed_partial) == int($(metric deadline_share) * $n - $(metric requests_shed) + 0.5)" "requests with part of their answers"
like "$(cat said o/notes.csv 2>/dev/null)" "$lost of [0-9]+ answers were lost by serve\\.loss" "a remark counts lost answers"
# shellcheck disable=SC2086
serve apart.csv --model s.json --policy mdp --set policy.mdp.deadline=19ms --set policy.mdp.late=cancel $links --set serve.loss=0.1
is "$(metric answers_lost)" "$lost" "another deadline loses the same answers"

# irina has no deadline for answers: the error says so, after any number of losses (more than 16 runs of a GPU).
for seed in 1 2 3 4; do
  "$orrery" serve irina:n=200 --model irina-yolov3,irina-vgg16,irina-googlenet,irina-alexnet --cluster 2x2:2080 --replicas 4 --policy irina \
    --set serve.loss=0.8 --set failures.mtbf=10s --set failures.mttr=2s --seed $seed --check -q >said 2>&1
  like "$? $(cat said)" '^1 .* answers to this request never come' "irina: losses and failures, seed $seed"
done

# One request over each kind of link, compared with closed forms: s on four devices against b on one device.
head -2 apart.csv >one.csv
for bw in 12.5e6 37.5e6 125e6 1.25e9; do
  for front in shared per-replica; do
    serve one.csv --model s.json --policy mdp --set serve.front=$front --set serve.front_Bps=$bw && mdp=$(metric completion_mean)
    serve one.csv --model b.json --policy mdp --set policy.mdp.devices=0 --set serve.front=$front --set serve.front_Bps=$bw && single=$(metric completion_mean)
    flows=$([ $front = shared ] && echo 4 || echo 1)
    check "($mdp - $flows * (110592 + 4000) / $bw - $s_ms / 1000) ^ 2 < 1e-18 && ($single - (150528 + 4000) / $bw - $b_ms / 1000) ^ 2 < 1e-18" \
      "$bw bytes/s, $front: gain $(awk "BEGIN { printf \"%.3f\", $single / $mdp }")"
  done
done

# Throughput of 16 users who send the next request after each answer. Inputs are sent while devices compute, so the
# busier of link and device determines the throughput.
for bw in 12.5e6 125e6; do
  for front in shared per-replica; do
    flows=$([ $front = shared ] && echo 4 || echo 1)
    serve poisson:rate=1,n=5000 --model s.json --policy mdp --set serve.clients=16 --set serve.front=$front --set serve.front_Bps=$bw --check
    busiest=$(awk "BEGIN { x = $flows * 110592 / $bw; y = $s_ms / 1000; printf \"%.17g\", (x > y ? x : y) }")
    check "($(metric throughput) * $busiest - 1) ^ 2 < 0.005 ^ 2" "throughput over $bw bytes/s, $front"
  done
done

# Speed: N requests on four devices have 8 N flows. The work per request must not grow with N, so ten times the
# requests may take at most 16 times as long in the same run; a step per waiting flow and event would take 100 times.
cpu_of() { # N ARGS..: processor time in seconds
  local n=$1
  shift
  { TIMEFORMAT='seconds %U %S'; time serve "poisson:rate=100,n=$n" --model s.json --policy mdp --set policy.mdp.deadline_factor=4 --record sample "$@"; } 2>&1 |
    awk '$1 == "seconds" { print $2 + $3 }'
}
speed() { # WHAT ARGS..
  local what=$1 few all
  shift
  few=$(cpu_of $((many / 10)) "$@")
  all=$(cpu_of "$many" "$@")
  check "$(metric requests) == $many && ($all < 16 * $few || ${ORR_SANITIZED:-0})" "$what: ten times the requests take $(awk "BEGIN { printf \"%.1f\", $all / $few }") times as long, below 16"
}
speed "$many requests with a link each" --set serve.front=per-replica --set serve.front_Bps=125e6
speed "$many requests that share one link, at 93 % of its bandwidth" --set serve.front=shared --set serve.front_Bps=47.5e6

# ---- inputs that are refused ----

model negative 5 -1
"$orrery" serve one.csv --model s.json --cluster 4x1 --replicas 4 --policy mdp --no-figures -q --db runs.db
before=$("$orrery" db digest runs.db)
while IFS='|' read -r args expected; do
  # shellcheck disable=SC2086
  said=$("$orrery" serve one.csv --cluster 4x1 --replicas 4 --policy mdp --no-figures -q --db runs.db ${args:---model s.json} 2>&1)
  like "$? $said" "^2 orrery: $expected" "refused: $args"
done <<'EOT'
--model negative.json|scenario: \$\.models\[0\]: negative\.json: \$\.input_bytes: expected a number from 0 to 1e\+18, found -1$
--model s.json --set serve.front=both|serve: front: expected one of none\|shared\|per-replica, found "both"$
--model s.json --set serve.front=shared|serve\.front=shared: expected serve\.front_Bps=BYTES, the bandwidth of a link in bytes per second, found 0$
--model s.json --set serve.loss=2|serve: loss: expected a number from 0 to 1, found "2"$
--model s.json --set policy.mdp.quality=1,2 --set serve.notice=1s --set failures.mtbf=9h --set failures.mttr=1s|policy mdp: .*quality: expected 9 numbers, .* found 2 \(devices include replicas that come up later, by serve.notice
--model s.json --set policy.mdp.quality=1,2|policy mdp: .*quality: expected 5 numbers, for 0 to 4 answers, or 2\^4, by the sum of 2\^device over the devices that answered, found 2$
--model s.json --set policy.mdp.submodels=x|policy mdp: .*submodels: expected balanced, uniform or names of served models joined by \+, found "x"$
--model s.json --set policy.mdp.devices=4|policy mdp: .*devices: expected different numbers of replicas from 0 to 3, found 4$
--model s.json --set policy.mdp.target=1ms|policy mdp: .*submodels=balanced: no served model answers from replica 0 within 0\.001 s: expected a larger target$
EOT

is "$("$orrery" db digest runs.db)" "$before" "the database is unchanged"

# ---- a plugin ----

: "${CC:=cc}"
if ! command -v "${CC%% *}" >/dev/null; then
  skip "no C compiler ($CC)"
  tap_done
  exit
fi
$CC -std=c11 -Wall -Wextra -Werror -O1 -shared -fPIC -I"$tree/include" -o parts.so "$tree/tests/plugins/serve_parts.c"
ok $? "a policy with part answers compiles with the public headers alone"
# shellcheck disable=SC2086
serve apart.csv --model s.json --policy ./parts.so --set policy.serve-parts.enough=3 $links --set serve.loss=0.1 --check
is "$? $(cat said)" "0 " "the plugin runs, and conservation holds"
# Answers that arrive at one instant count together. If three of four answers are needed, a request waits for 1 s if
# at least two are lost, with probability 1 - 0.9^4 - 4 x 0.1 x 0.9^3 = 0.0523.
check "($(metric answered) - 3.6) ^ 2 < 0.01 ^ 2 && $(metric completion_p90) < 0.01 && ($(metric completion_p99) - 1) ^ 2 < 1e-18" \
  "three answers of four are enough"
while IFS='|' read -r how expected; do
  said=$("$orrery" serve one.csv --model s.json --cluster 4x1 --replicas 4 --policy ./parts.so --set "policy.serve-parts.how=$how" --no-figures -q 2>&1)
  like "$? $said" "^$expected" "$how"
done <<'EOT'
read_early|1 orrery: policy serve-parts: request 0 at 0\.000000000 s: orr_req_answer\(\) of answer 0, which has not been received: expected a number below 0, the number of answers received so far$
read_early_of|1 orrery: policy serve-parts: request 0 at 0\.000000000 s: orr_req_answer_of\(\) of replica 1, whose answer has not been received: expected one of the 0 replicas whose answers were received
read_late|1 orrery: policy serve-parts: request 0 at 0\.003923077 s: orr_req_answer\(\) of answer 4, which has not been received: expected a number below 4
complete_early|1 orrery: policy serve-parts: request 0 at 0\.000000000 s: orr_complete\(\) of a request without an answer
leave_waiting|1 orrery: policy serve-parts: request 0 at 0\.000000000 s: orr_leave_runs\(\) of a request that waits
leave_oddly|1 orrery: policy serve-parts: request 0 at 0\.000000000 s: orr_leave_runs\(\) with how = 7: expected ORR_LATE_DETACH or ORR_LATE_CANCEL
read_unknown|1 orrery: policy serve-parts: at 0\.000000000 s: orr_req_answer\(\) of a request that has ended or never existed
EOT
# ---- models that are loaded on demand: the first request waits 100 ms ----
echo '{"name": "loaded", "source": "by hand", "kind": "table", "batch": [1, 2], "latency_ms": [10, 12], "load_ms": 100}' >loaded.json
for policy in mdp academus; do
  "$orrery" serve periodic:rate=1,n=2 --model loaded.json --cluster 2x1 --policy $policy --set serve.preloaded=false --check --no-figures -q --out loaded
  is "$? $(awk -F, 'NR > 1 { printf "%.3f ", $4 - $2 }' loaded/$policy.requests.csv)" "0 0.110 0.010 " "$policy loads the model"
done
echo '{"world": "serve", "trace": "periodic:rate=1,n=2", "models": ["loaded.json"], "cluster": "2x1", "policies": ["clockwork"],
 "deployments": [{"replicas": 1, "least": 1, "most": 2}], "serve": {"preloaded": false, "autoscale": "outstanding"}}' >few.json
"$orrery" run few.json --check --no-figures -q --out loaded
is "$? $(awk -F, 'NR > 1 { printf "%.3f ", $4 - $2 }' loaded/clockwork.requests.csv)" "0 0.110 0.010 " "clockwork does not count replicas that are not up"
# ---- a group of two replicas whose first node is given notice at 9 s: the replacement joins the group ----
printf 'time_s,node,event\n10,n0,fail\n' >gone.csv
"$orrery" serve periodic:rate=10,n=300 --model loaded.json --cluster 3x1 --replicas 2 --policy academus --set policy.academus.gpus=2 --failures gone.csv --set serve.notice=1s --check --no-figures -q --out loaded
is "$? $(awk -F, '$2 == "requests_completed" || $2 == "completion_max" { printf "%.3f ", $3 }' loaded/summary.csv)" "0 0.010 300.000 " "academus: a group stays complete when a replica is replaced"
# Replicas 1 and 2 fail, one of each group of two: the other two form a group, which takes all requests.
printf 'time_s,node,event\n1.5,n1,fail\n1.5,n2,fail\n' >gone.csv
"$orrery" serve periodic:rate=10,n=30 --model loaded.json --cluster 4x1 --replicas 4 --policy academus --set policy.academus.gpus=2 --failures gone.csv --check --no-figures -q --out loaded
is "$? $(awk -F, '$2 == "requests_completed" { print $3 }' loaded/summary.csv)" "0 30" "academus: replicas of incomplete groups form a group"
# A sub-model that does not fit into the memory of a device is not chosen for it: 9 GB on 8 GiB. The smaller model takes 5 ms.
echo '{"name": "small", "source": "made up", "kind": "table", "batch": [1], "latency_ms": [5], "weight_bytes": 3e9}' >small.json
echo '{"name": "large", "source": "made up", "kind": "table", "batch": [1], "latency_ms": [20], "weight_bytes": 9e9}' >large.json
fits=(serve periodic:rate=5,n=4,model=small --model small.json,large.json --cluster 2x1:2080 --policy mdp --set serve.preloaded=false --check --no-figures -q)
"$orrery" "${fits[@]}" --out fits
is "$(awk -F, '$2 == "submodel_slowest" { print $3 + 0 }' fits/summary.csv)" 0.005 "a sub-model that fits"
like "$("$orrery" "${fits[@]}" --set policy.mdp.submodels=large 2>&1)" 'submodels: the model of device 0 .* does not fit into its memory' "a named one that does not"
tap_done
