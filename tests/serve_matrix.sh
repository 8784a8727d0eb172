#!/usr/bin/env bash
# Every built-in policy for requests, over models, arrivals and settings of the world, under --check: conservation holds, every
# request ends, and a second run with other threads has the same digest.
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
    vllm | sarathi | orca | splitwise | fastertransformer | mlfq) llm+=("$p") ;;
    fifo) llm+=("$p") tables+=("$p") ;;
    academus) ;;
    *) tables+=("$p") ;;
  esac
done
join() { local IFS=,; echo "$*"; }
ok "$((${#all[@]} < 14))" "there are at least 14 policies (${#all[@]})"

# A run of some policies: nothing left unfinished, nothing broken.
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
tap_done
