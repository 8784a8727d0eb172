#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Serving plugins with one mistake each: an error that names the policy, the request (if any), the time and the mistake, exit
# code 1, and the database unchanged. A policy cannot query the length of an output.
. "${srcdir:-.}/tests/tap.sh"
: "${CC:=cc}"
if ! command -v "${CC%% *}" >/dev/null; then
  skip "no C compiler ($CC)"
  tap_done
  exit
fi
tree=$(cd "$srcdir" && pwd)
cd "$work" || exit 1
$CC -std=c11 -Wall -Wextra -Werror -O1 -shared -fPIC -I"$tree/include" -o hostile.so "$tree/tests/plugins/serve_hostile.c"
ok $? "the plugin compiles with the public headers alone"
# Two runs of one request exceed the 16 GB of a V100.
cat >table.json <<'E'
{"name": "table", "source": "made up", "kind": "table", "batch": [1, 2], "latency_ms": [20, 25], "memory": [9e9, 12e9]}
E
cat >llm.json <<'E'
{"name": "llm", "source": "made up", "kind": "llm", "weight_bytes": 1e9, "kv_bytes_per_token": 1000, "closed": {"constant_ms": 10, "token_ms": 0.1, "context_ms": 0, "pair_ms": 0}}
E
printf 'arrival_s,prompt_tokens,output_tokens\n0.5,100,20\n0.6,100,30\n' >two.csv
run() { # MODEL HOW [OPTIONS]
  local model=$1 how=$2
  shift 2
  (ulimit -c 0 && "$ORRERY" serve two.csv --model "$model.json" --cluster 1x1:v100 --kv-blocks 1000 --policy ./hostile.so \
    --set "policy.serve-hostile.how=$how" --policy-timeout 1 --no-figures -q "$@") 2>&1
}
is "$(run table "" --db runs.db; echo $?)" 0 "the plugin without a mistake serves a table model"
is "$(run llm "" --db runs.db; echo $?)" 0 "the plugin without a mistake serves a language model"
before=$("$ORRERY" db digest runs.db)
while IFS='|' read -r model how expected; do
  said=$(run "$model" "$how" --db runs.db --fresh)
  like "$? $said" "^$expected" "$how"
done <<'EOT'
table|silent|2 orrery: policy serve-hostile: at 0\.000000000 s: create\(\) returned NULL without an error message: expected an object, or \*err filled in$
table|hang_in_create|1 orrery: policy serve-hostile: .*create\(\) has not returned for 1 s
table|hang|1 orrery: policy serve-hostile: .*has not returned for 1 s
table|act_in_create|1 orrery: policy serve-hostile: at 0\.000000000 s: orr_model_unload\(\): expected a call in arrive\(\), run_end\(\), replica\(\), timer\(\) or schedule\(\)$
table|act_in_route|1 orrery: policy serve-hostile: at 0\.500000000 s: orr_refuse\(\): expected a call in arrive\(\)
table|route_nowhere|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: route\(\) returned replica 4000000000: expected a replica that is up$
table|never|1 orrery: policy serve-hostile: request 0 at 0\.600000000 s: 2 requests have not ended, nothing runs, no timer is set and no request will arrive
table|spin|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: schedule\(\) still acts after 1000 calls at one instant: expected at most serve\.max_calls_per_instant$
table|ended_request|1 orrery: policy serve-hostile: at 0\.520000000 s: start with a request that has ended or never existed
table|null_batch|1 orrery: policy serve-hostile: at 0\.500000000 s: start of a batch: a pointer is NULL: expected an object$
table|null_requests|1 orrery: policy serve-hostile: at 0\.500000000 s: start of a batch: a pointer is NULL: expected an object$
table|empty_batch|1 orrery: policy serve-hostile: at 0\.500000000 s: start of a batch of 0 requests: expected 1 to 2147483646$
table|replica_nowhere|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: start on replica 4000000000: expected a number below 1$
table|batch_too_large|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: start: model table has no batch of 3 samples: expected 1, 2$
table|twice_in_batch|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: start with duplicate requests: expected each request once$
table|unknown_request|1 orrery: policy serve-hostile: at 0\.500000000 s: start with a request that has ended or never existed \(handle deadbeef00000001\): expected a live request$
table|no_request|1 orrery: policy serve-hostile: at 0\.500000000 s: start with a request that has ended or never existed \(handle 0\): expected a live request$
table|memory_too_small|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: start: no room on replica 0 for 1 samples of table beside 1 runs: its peak is 9e\+09 bytes
table|model_nowhere|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: start of model 77: expected a number below 1$
table|part_nan|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: start of a batch with part = -?nan
table|part_too_large|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: start of a batch with part = 2
table|complete_unknown|1 orrery: policy serve-hostile: at 0\.500000000 s: orr_complete\(\) of a request that has ended or never existed
table|complete_waiting|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: orr_complete\(\) of a request without an answer
table|refuse_unknown|1 orrery: policy serve-hostile: at 0\.500000000 s: orr_refuse\(\) of a request that has ended or never existed
table|refuse_twice|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: orr_refuse\(\) of a request that has ended: expected a request that waits$
table|refuse_completed|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: orr_refuse\(\) with how = 0
table|refuse_running|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: orr_refuse\(\) of a request that is in a run: expected a request that waits$
table|forward_nowhere|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: orr_forward\(\) to model 99: expected a number below 1$
table|assign_nowhere|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: orr_assign\(\) to replica 4000000000, which does not exist: expected a replica that takes requests$
table|assign_unknown|1 orrery: policy serve-hostile: at 0\.500000000 s: orr_assign\(\) of a request that has ended or never existed
table|abort_unknown|1 orrery: policy serve-hostile: at 0\.500000000 s: orr_run_abort\(\) of a run that has ended or never existed
table|resume_unknown|1 orrery: policy serve-hostile: at 0\.500000000 s: orr_run_resume\(\) of a run that has ended or never existed
table|load_nowhere|1 orrery: policy serve-hostile: at 0\.500000000 s: orr_model_load\(\) of model 99: expected a number below 1$
table|unload_nowhere|1 orrery: policy serve-hostile: at 0\.500000000 s: orr_model_unload\(\) on replica 4000000000: expected a number below 1$
table|wake_nowhere|1 orrery: policy serve-hostile: at 0\.500000000 s: orr_wake\(\) for replica 4000000000: expected a number below 1$
table|timer_nan|1 orrery: policy serve-hostile: at 0\.500000000 s: orr_serve_timer\(\): expected a time, found NaN$
table|timer_nowhere|1 orrery: policy serve-hostile: at 0\.500000000 s: orr_serve_timer\(\) for replica 4000000000: expected a number below 1$
table|in_list_twice|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: orr_fifo_push\(\) of a request that is already in a list: expected orr_fifo_remove\(\) before$
table|push_unknown|1 orrery: policy serve-hostile: at 0\.500000000 s: orr_fifo_push\(\) of a request that has ended or never existed
table|remove_unknown|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: orr_fifo_remove\(\) of a request that is not in this list
table|give_up|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: had enough$
table|llm_of_table|1 orrery: policy serve-hostile: at 0\.500000000 s: orr_admit\(\) on replica 0: expected a replica that is up and serves a language model$
table|iterate_table|1 orrery: policy serve-hostile: at 0\.500000000 s: orr_iter_run\(\) on replica 0: expected a replica that is up and serves a language model$
llm|table_of_llm|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: start of a batch of llm, a language model
llm|admit_unknown|1 orrery: policy serve-hostile: at 0\.500000000 s: orr_admit\(\) of a request that has ended or never existed
llm|admit_twice|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: orr_admit\(\) of a request that is resident: expected a request that waits$
llm|iterate_nothing|1 orrery: policy serve-hostile: at 0\.500000000 s: orr_iter_run\(\) on replica 0: there is nothing to do
llm|iterate_nowhere|1 orrery: policy serve-hostile: at 0\.500000000 s: orr_iter_run\(\) on replica 4000000000: expected a number below 1$
llm|prefill_waiting|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: orr_iter_prefill\(\) of a request that waits: expected a request that is resident$
llm|prefill_too_much|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: orr_iter_prefill\(\) of 1000000 tokens: expected 1 to 100, the tokens left of its prompt$
llm|prefill_none|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: orr_iter_prefill\(\) of 0 tokens
llm|prefill_without_blocks|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: orr_iter_prefill\(\) of 100 tokens after 0: its 1 blocks hold 16: expected enough blocks$
llm|iterate_twice|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: orr_iter_prefill\(\): an iteration runs on replica 0: expected a call between iterations$
llm|evict_waiting|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: orr_evict\(\) of a request that waits: expected a request that is resident$
llm|evict_running|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: orr_evict\(\): the request is in the current iteration: expected a request outside it$
llm|grow_waiting|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: orr_kv_grow\(\) of a request that waits: expected a request that is resident$
llm|pause_prompt|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: orr_pause\(\): the request has not finished its prompt: expected one that decodes$
llm|resume_waiting|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: orr_resume\(\) of a request that waits: expected a request that is resident$
llm|move_waiting|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: orr_move\(\) of a request that waits: expected a request that is resident$
llm|move_nowhere|1 orrery: policy serve-hostile: at 0\.500000000 s: orr_move\(\) on replica 4000000000: expected a number below 1$
llm|refuse_resident|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: orr_refuse\(\) of a request that is resident: expected a request that waits$
table|samples_most|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: start: model table has no batch of 4294967295 samples
table|flags_most|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: start: unknown flags in 0xffffffff: expected ORR_RUN_\* flags$
table|part_negative|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: start of a batch with part = -1e-300
table|million|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: start with duplicate requests: expected each request once$
table|timer_negative|1 orrery: policy serve-hostile: request 0 at
table|timer_huge|1 orrery: policy serve-hostile: at 0\.600000000 s: [0-9]+ requests have not ended after 146 years
table|observe_nothing|1 orrery: policy serve-hostile: at 0\.500000000 s: orr_serve_observe\(\): expected the name of a series$
table|give_up_mutely|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: orr_serve_give_up\(\) without a reason: expected a reason$
table|ask_nowhere|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: nothing exists$
table|endless|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: schedule\(\) still acts after 1000 calls at one instant: expected at most serve.max_calls_per_instant
table|act_in_finish|1 orrery: policy serve-hostile: at 0\.520000000 s: orr_refuse\(\): expected a call in arrive\(\), run_end\(\), replica\(\), timer\(\) or schedule\(\)$
table|hang_in_finish|1 orrery: policy serve-hostile: .*has not returned for 1 s
llm|ask_nowhere|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: nothing exists$
llm|admit_most|1 orrery: policy serve-hostile: request 0 at 0\.600000000 s: 2 requests have not ended, nothing runs
llm|grow_most|1 orrery: policy serve-hostile: request 0 at 0\.500000000 s: orr_move\(\): the request is already on replica 0: expected another replica$
llm|iterate_oddly|1 orrery: policy serve-hostile: at 0\.500000000 s: orr_iter_run\(\) on replica 0: unknown flags in 0xff: expected ORR_ITER_\* flags$
llm|admit_too_much|1 orrery: policy serve-hostile: request 0 at 0\.600000000 s: 2 requests have not ended, nothing runs
EOT
is "$("$ORRERY" db digest runs.db)" "$before" "the database is unchanged"

# ---- what a policy can see of an output ----
# seen OUTPUT-TOKENS HOW
seen() { # OUTPUT-TOKENS HOW: sum of all that a policy sees of a request at its arrival, and whether it is an oracle
  printf 'arrival_s,prompt_tokens,output_tokens\n0.5,100,%s\n' "$1" >one.csv
  "$ORRERY" serve one.csv --model llm.json --cluster 1x1:v100 --kv-blocks 1000 --policy ./hostile.so --set "policy.serve-hostile.how=$2" --json |
    awk '/"is_oracle"/ { oracle = $2 } /"seen"/ { on = 1 } on && /"value"/ { print oracle, $2; exit }'
}
is "$(seen 10 peek)" "$(seen 400 peek)" "requests that differ only in the length of their output look the same"
like "$(seen 10 peek)" '^false' "a policy that reads the public fields is no oracle"
said=$(run llm ask_truth --db runs.db --fresh)
is "$? $said" "1 orrery: policy serve-hostile: request 0 at 0.500000000 s: orr_req_true_output(): expected a policy with ORR_NEEDS_ORACLE or ORR_MAY_ORACLE" \
  "orr_req_true_output() is refused"
sed 's/^ORR_POLICY_SERVE(/ORR_POLICY_SERVE_ORACLE(/' "$tree/tests/plugins/serve_hostile.c" >oracle.c
$CC -std=c11 -O1 -shared -fPIC -I"$tree/include" -o hostile.so oracle.c
is "$(seen 10 ask_truth) $(seen 400 ask_truth)" "true, 10, true, 400," "a policy that declares ORR_NEEDS_ORACLE may call it, and is marked"
tap_done
