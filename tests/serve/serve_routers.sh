#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Routers by name, with parameters, and as plugins: the same choices as built-in ones, messages, hashes of runs.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY") tree=$(realpath "$srcdir")
cd "$work" || exit 1
printf '{"name":"constant","source":"made up","kind":"table","batch":[1],"latency_ms":[20]}\n' >one.json
cat >llm.json <<'EOT'
{"name": "m", "source": "made up", "kind": "llm", "weight_bytes": 0, "kv_bytes_per_token": 100000,
 "closed": {"constant_ms": 20, "token_ms": 0.1, "context_ms": 1e-4, "pair_ms": 0}}
EOT
serve() { # ROUTER ARGS..: three replicas with their own queues
  local router=$1
  shift
  timeout 60 "$orrery" serve poisson:rate=120,n=400 --model one.json --cluster 1x3 --policy fifo --set policy.fifo.queue=per-replica \
    --router "$router" --check --no-figures -q "$@" 2>&1
}

# ---- names and parameters ----
is "$("$orrery" policy list --router | awk '/^  / { print $1 }' | paste -sd' ')" \
  "conductor dynamo jsq least-outstanding lor power-of-two prefix-aware random round-robin session-affinity sglang" "policy list --router"
is "$("$orrery" policy list --kind serve --router | wc -l)" 12 "policy list --kind serve --router"
like "$("$orrery" policy show sglang --router)" '^  --router sglang:cache_threshold=0.3$' "policy show --router shows parameters as they are given"
for router in $("$orrery" policy list --router | awk '/^  / && $1 != "conductor" { print $1 }'); do
  serve "$router" --out "$router" >said || cat said
  is "$(awk -F, '$2 == "requests_completed" { print $3 }' "$router/summary.csv")" 400 "$router: all requests complete under --check"
done
while IFS='|' read -r router expected; do
  said=$(serve "$router")
  is "$? $said" "2 orrery: $expected" "$router"
done <<'EOT'
round-robn|serve.router: unknown router "round-robn": did you mean "round-robin"? 'orrery policy list --router' shows all routers; a plugin is named by its file
|serve.router: unknown router "": 'orrery policy list --router' shows all routers; a plugin is named by its file
sglang:cache_threshold=2|router sglang: cache_threshold: expected a number from 0 to 1, found "2"
sglang:rule=v0.2|router sglang: rule: expected one of v0.1|v0.3, found "v0.2"
jsq:of=tokens|router jsq: expected no parameters, found "of"
./none.so|serve.router: ./none.so: No such file or directory
EOT
said=$(serve prefix-aware:load_factor=0.5)
like "$? $said" '^2 orrery: policy fifo: .*router prefix-aware: load_factor=0\.5: expected 0, or at least 1' "a parameter that create() refuses"
said=$(serve conductor)
like "$? $said" 'router conductor: model constant has latency tables: expected language models' "conductor needs language models"
said=$("$orrery" policy list --kind jobs --router 2>&1)
is "$? $said" "2 orrery: --router: expected --kind serve, found --kind jobs, which has no routers" "jobs has no routers"

# ---- the hash of a run covers the router's parameters, not their spelling ----
llm() { timeout 60 "$orrery" serve poisson:rate=20,n=50,prompt=100,output=10 --model llm.json --cluster 1x2 --kv-blocks 1000 --policy vllm \
  --router "$1" --db runs.db --no-figures 2>&1; }
llm sglang >/dev/null
like "$(llm sglang:cache_threshold=0.30)" 'the run is taken from runs.db' "equal parameters: the run is reused"
is "$(llm sglang:cache_threshold=0.4 | grep -c 'is taken from')" 0 "other parameters: another run"
is "$(llm random --replications 2 >/dev/null; echo $?)" 0 "random routers allow replications"

# ---- a plugin ----
: "${CC:=cc}"
if command -v "${CC%% *}" >/dev/null; then
  said=$("$orrery" policy new mine --kind serve --router)
  like "$said" '--policy vllm --router ./mine.so$' "policy new --router names the next command"
  said=$(ORRERY=$orrery ORRERY_CFLAGS="-I$tree/include" ./mine_test.sh 2>&1)
  is "$? $(printf '%s\n' "$said" | tail -1)" "0 ok: same choices as jsq" "policy new --router: it compiles, runs and does what its test says"
  like "$("$orrery" policy show ./mine.so --router)" '^  --router ./mine.so:weight=1$' "policy show of a plugin"
  said=$(serve ./mine.so:weight=2 --out mine) && cmp jsq/fifo.requests.csv mine/fifo.requests.csv
  ok $? "a plugin with a parameter, in a separate process"
  said=$(serve ./mine.so --in-process --out mine2) && cmp jsq/fifo.requests.csv mine2/fifo.requests.csv
  ok $? "a plugin in this process"
  said=$("$orrery" serve poisson:rate=1,n=5 --model one.json --cluster 1x1 --policy ./mine.so 2>&1)
  is "$? $said" '2 orrery: policy "mine" is a router (for --router): expected a serve policy' "a router is no policy"
  "$orrery" policy new other --kind serve >/dev/null
  $CC -std=c11 -O1 -shared -fPIC "-I$tree/include" -o other.so other.c
  said=$(serve ./other.so)
  is "$? $said" "2 orrery: serve.router: ./other.so is a serve policy (for --policy): expected a router" "a policy is no router"
  build() { sed "$1" mine.c >bad.c && $CC -std=c11 -O1 -shared -fPIC -w "-I$tree/include" -o bad.so bad.c; }
  build 's/, \.pick = pick//'
  said=$(serve ./bad.so)
  is "$? $said" "2 orrery: serve.router: ./bad.so: policy mine: expected a function pick, found NULL" "a router without pick()"
  build 's/return best;/return 77;/'
  said=$(serve ./bad.so)
  like "$? $said" '^1 orrery: policy fifo: request 0 at [0-9.]+ s: router mine: pick\(\) returned replica 77: expected a candidate' "a wrong replica"
  build 's/return best;/orr_refuse(w, r, ORR_REQ_SHED); return best;/'
  said=$(serve ./bad.so)
  like "$? $said" '^1 orrery: policy fifo: .*orr_refuse\(\): expected a call in arrive' "a router must not act"
  build 's/return best;/*(volatile int *)0 = 1; return best;/'
  said=$(serve ./bad.so)
  like "$? $said" '^1 orrery: .*fifo.*(segmentation|Segmentation|SIGSEGV|signal)' "a crash is an error of the run"
else
  skip "no C compiler ($CC)" 12
fi
tap_done
