#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# serve.pipeline=micro-batches on the command line: throughput, unsuitable policies, options without effect, provenance.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
cd "$work" || exit 1
n=400
[ "${ORR_SANITIZED:-}" = 1 ] && n=150
load="poisson:rate=40,n=$n,prompt=400,output=100"
serve() { # ARGS..
  rm -rf o
  timeout 100 "$orrery" serve "$load" --model llama2-70b --cluster 1x8:h100 --tp 2 --pp 4 --check --out o --no-figures "$@" >said 2>&1
}
metric() { awk -F, -v m="$1" '$2 == m { print $3 }' o/summary.csv; }

serve --policy vllm,sarathi -q
is "$?" 0 "serial: two policies run"
serial=$(metric throughput | head -1)
serve --policy vllm,sarathi --set serve.pipeline=micro-batches -q
is "$?" 0 "micro-batches: two policies run, conservation holds"
is "$(metric requests_completed | sort -u)" "$n" "every request is completed"
micro=$(metric throughput | head -1)
# Four micro-batches are in flight, each with a quarter of the residents. Decodes read the weights once per micro-batch, so the gain
# is less than four.
ok "$(awk "BEGIN { print !($micro > 1.3 * $serial && $micro < 4 * $serial) }")" "vllm: higher throughput ($serial, $micro requests/s)"
cp -r o first
serve --policy vllm,sarathi --set serve.pipeline=micro-batches -q -j 2
is "$(cat o/*.requests.csv | cksum)" "$(cat first/*.requests.csv | cksum)" "the same rows with two threads"

serve --policy orca --set serve.pipeline=micro-batches
is "$? $(grep -c 'policy orca: the policy forms no micro-batches, but serve.pipeline=micro-batches and a replica has 4 stages: expected a policy with micro-batches (sarathi, vllm)' said)" "2 1" \
  "a policy without micro-batches is refused, with those that have them"
serve --policy vllm --set serve.pipeline=micro-batches --set policy.vllm.preemption=swap
is "$?" 2 "vllm with swapping is refused"
like "$(cat said)" 'preemption=swap: .* expected preemption=restart' "with the remedy"
serve --policy vllm --set serve.pipeline=micro-batches --pp 1
like "$(cat said)" 'serve.pipeline has no effect: no replica has several pipeline stages' "without stages the option has no effect, and a remark says so"
"$orrery" policy show vllm >said
like "$(cat said)" 'stages: keeps several micro-batches in flight' "policy show states the ability"

# Where the time went: prompts and decodes in flight, and waits for slots. --check verifies the sums.
serve --policy vllm --set serve.pipeline=micro-batches --record explain --db runs.db -q
"$orrery" explain runs.db --request 20 >said
like "$(cat said)" 'other micro-batches' "explain names the time outside a micro-batch"
tap_done
