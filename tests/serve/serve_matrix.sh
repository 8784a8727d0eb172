#!/usr/bin/env bash
# Every built-in serve policy over models, arrivals and options of the world, under --check: conservation holds, every request
# ends, and a run with four threads has the same digest.
# SPDX-License-Identifier: GPL-3.0-or-later
set -u
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"

n=400
[ "${ORR_SANITIZED:-}" = 1 ] && n=120

mapfile -t all < <("$ORRERY" policy list --kind serve | awk '/^  / { print $1 }')
tables=() llm=()
for p in "${all[@]}"; do
  case $p in
    vllm | sarathi | orca | splitwise | fastertransformer | mlfq | distserve) llm+=("$p") ;;
    fifo) llm+=("$p") tables+=("$p") ;;
    academus) ;;
    *) tables+=("$p") ;;
  esac
done
join() { local IFS=,; echo "$*"; }
ok "$((${#all[@]} < 14))" "there are at least 14 policies (${#all[@]})"

# matrix NAME POLICIES ARGS..: runs the policies; all requests must end without a failed check
matrix() { # NAME POLICIES ARGS..
  local name=$1 policies=$2
  shift 2
  rm -f "$work"/*.db
  if ! "$ORRERY" serve "$@" --policy "$policies" --check --seed 3 -j 1 --record summary --db "$work/1.db" --json >"$work/out" 2>"$work/err"; then
    ok 1 "$name: $(head -n 1 "$work/err")"
    return
  fi
  local left
  left=$(python3 - "$work/out" <<'PY'
import json, sys
bad = []
for r in json.load(open(sys.argv[1]))["runs"]:
    m = {k: v["value"] for k, v in r["metrics"].items()}
    ended = sum(m.get("requests_" + k) or 0 for k in ("completed", "refused", "shed"))
    if ended != m["requests"] or m.get("requests_unfinished") or not m["requests_completed"]:
        bad.append("%s: %g of %g ended, %g completed" % (r["label"], ended, m["requests"], m["requests_completed"]))
print("; ".join(bad))
PY
  )
  "$ORRERY" serve "$@" --policy "$policies" --check --seed 3 -j 4 --record summary --db "$work/2.db" -q 2>/dev/null
  ok "$((${#left} > 0))" "$name${left:+: $left}"
  is "$("$ORRERY" db digest "$work/2.db")" "$("$ORRERY" db digest "$work/1.db")" "$name: the same with four threads"
}

chat="poisson:rate=4,n=$n,prompt=lognormal:500:3000,output=1-300"
matrix "one replica" "$(join "${llm[@]}")" "$chat" --model llama2-7b --cluster 1x1:a100
matrix "little memory" "$(join "${llm[@]}")" "$chat" --model llama2-7b --cluster 1x1:a100 --kv-blocks 700 \
  --set policy.orca.output=300 --set policy.fastertransformer.output=300
matrix "four replicas, tensor parallel" "$(join "${llm[@]}")" "$chat" --model llama2-13b --cluster 2x4:a100 --tp 2 --router power-of-two
matrix "bursts" "$(join "${llm[@]}")" "mmpp:rates=1|40,durations=20|4,n=$n,prompt=300,output=100" --model llama2-7b --cluster 1x2:h100
matrix "a closed loop" "$(join "${llm[@]}")" "$chat" --model llama2-7b --cluster 1x1:a100 --set serve.clients=8 --set serve.think=1s
matrix "nodes fail" "$(join "${llm[@]}")" "$chat" --model llama2-7b --cluster 4x1:a100 --set failures.mtbf=60s --set failures.mttr=10s
echo '{"world": "serve", "deployments": [{"model": "llama2-7b", "replicas": 1, "least": 1, "most": 4}]}' >"$work/scaled.json"
matrix "scaled" "$(join "${llm[@]}")" "$chat" --scenario "$work/scaled.json" --model llama2-7b --cluster 4x1:a100 \
  --set serve.autoscale=outstanding --set serve.start_up=5s
matrix "batches" "$(join "${tables[@]}")" "poisson:rate=60,n=$n" --model irina-googlenet --cluster 1x1:2080 --slo 500ms
matrix "batches on three GPUs" "$(join "${tables[@]}")" "poisson:rate=200,n=$n" --model irina-alexnet-curve --cluster 3x1:2080 --slo 300ms
matrix "batches, nodes fail" "$(join "${tables[@]}")" "poisson:rate=60,n=$n" --model irina-vgg16-curve --cluster 3x1:2080 --slo 500ms \
  --set failures.mtbf=5s --set failures.mttr=1s
matrix "exits at layers" "$(join irina fifo)" "poisson:rate=60,n=$n,prompt=100" --model bert-base-t4 --cluster 1x1:t4 --slo 500ms --set serve.exit=layer
matrix "students" academus "poisson:rate=60,n=$n,prompt=lognormal:35:110:128" --model bert-student-2x768-t4 --cluster 2x1:t4 \
  --set serve.interference=occupancy
# Cases of earlier faults: nodes of one replica that fail in turn, with notice; a started prompt that continues on
# another replica; arrivals at the end of an iteration; batches limited by memory or samples; scaling by rate to
# zero replicas.
small=$((n / 4))
matrix "a replica over two nodes, notices" sarathi,vllm "poisson:rate=1000,n=$small,prompt=mooncake,output=lognormal:100:600" --model llama2-7b \
  --cluster 2x2:h100 --tp 4 --kv-blocks 5000 --set failures.mtbf=20s --set failures.mttr=2s --set serve.notice=1s
python3 -c 'import random
r = random.Random(1)
t = 0
print("arrival_s,prompt_tokens,output_tokens,session")
for i in range(60):
    t += r.expovariate(3)
    print("%.6f,%d,%d,%d" % (t, r.randint(1, 1500), r.randint(1, 200), r.randint(0, 8)))' >"$work/talk.csv"
matrix "conversations, nodes fail" "$(join "${llm[@]}")" "$work/talk.csv" --model llama2-13b --cluster 2x1:h100 --set serve.sessions=grow \
  --set serve.shed=late --set serve.slo=20s --set failures.mtbf=8s --set failures.mttr=1s
echo '{"world": "serve", "deployments": [{"model": "llama2-7b", "role": "prefill", "replicas": 2, "kv_blocks": 200},
  {"model": "llama2-7b", "role": "decode", "replicas": 2, "kv_blocks": 200}]}' >"$work/split.json"
matrix "prefill and decode, nodes fail" splitwise "$work/talk.csv" --scenario "$work/split.json" --model llama2-7b --cluster 4x1:a100 \
  --set failures.mtbf=20s --set failures.mttr=1s
matrix "samples, little memory" "$(join "${tables[@]}"),academus" "poisson:rate=40,n=$small,samples=1-40,model=irina-yolov3|irina-googlenet" \
  --model irina-yolov3,irina-googlenet --cluster 2x1:2080
echo '{"world": "serve", "deployments": [{"model": "irina-b", "replicas": 1}, {"model": "irina-googlenet", "replicas": 2}]}' >"$work/own.json"
matrix "a model for each replica" "$(join "${tables[@]}"),academus" "poisson:rate=40,n=$small,model=irina-b|irina-googlenet" \
  --scenario "$work/own.json" --model irina-b,irina-googlenet --cluster 3x1:2080
echo '{"world": "serve", "deployments": [{"model": "irina-a", "replicas": 1, "least": 0, "most": 2}]}' >"$work/none.json"
matrix "scaled by rate to zero and back" "$(join "${tables[@]}")" "mmpp:rates=0.01|60,durations=20s|2s,n=$small" --scenario "$work/none.json" \
  --model irina-a --cluster 2x1:t4 --set serve.autoscale=rate --set serve.scale_target=10 --set serve.scale_interval=1s --set serve.scale_quiet=0
printf 'arrival_s\n0\n3999999999\n4000000000\n' >"$work/late.csv"
matrix "the last arrivals that a trace may have" "$(join "${tables[@]}"),academus" "$work/late.csv" --model irina-a --cluster 1x1:t4 --slo 1s
tap_done
