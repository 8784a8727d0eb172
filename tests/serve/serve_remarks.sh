#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Remarks on options of the serve world without effect, and its assumptions: the scenarios of tests/world/cases/remarks.json.
. "${srcdir:-.}/tests/tap.sh"
. "$srcdir/tests/world/remarks_of.sh"
orrery=$(realpath "$ORRERY")
remarks_of serve

# Assumptions of features that are off, or that no served model has, are absent.
assumed() { # MODEL ARGS..: engines and tiers among the assumptions
  "$orrery" serve chat:rate=2,n=20,prompt=100,output=5 --model "$1" --cluster 1x1:a100 --kv-blocks 500 --policy vllm --no-figures "${@:2}" 2>&1 |
    grep -E "^engine|below the GPUs' memory"
}
cat >"$work/closed.json" <<'EOT'
{"name": "closed", "source": "made up", "kind": "llm", "weight_bytes": 1, "kv_bytes_per_token": 1000,
 "closed": {"constant_ms": 10, "token_ms": 0.1, "context_ms": 0, "pair_ms": 0}}
EOT
is "$(assumed "$work/closed.json" --set serve.engine=vllm-0.5.3)" "" "an engine has no assumption with a model of a closed form"
like "$(assumed llama2-7b --set serve.engine=vllm-0.5.3)" '^engine vllm-0.5.3: the host takes' "an engine with a model by layers has one"
is "$(assumed llama2-7b --set serve.kv_dram=1e9)" "" "tiers without a prefix cache have no assumption"
is "$(assumed llama2-7b --set serve.kv_dram=1e9 --set serve.prefix_cache=true)" \
  "cached prompts below the GPUs' memory: DRAM at 1.6e+10 bytes per second in each direction; writes delay no iteration" "only tiers that are present are assumed"
prefixes() { # TRACE ARGS..: is it said that shared prefixes are computed again?
  "$orrery" serve "$1" --model llama2-7b --cluster 1x1:a100 --policy vllm --no-figures "${@:2}" 2>&1 | grep -c 'the trace tells which prompts share prefixes'
}
chat=chat:rate=2,n=20,prompt=100,output=5
is "$(prefixes "$chat") $(prefixes "$chat" --set serve.prefix_cache=true) $(prefixes poisson:rate=2,n=20,prompt=100,output=5)" "1 0 0" \
  "shared prefixes that no replica keeps are an assumption"
sharing() { # ARGS..: is it said that runs on one replica do not slow one another?
  "$orrery" serve poisson:rate=2000,n=200 --model irina-alexnet --cluster 1x1 --policy tf-serving --set policy.tf-serving.threads="$1" --no-figures "${@:2}" 2>&1 |
    grep -c 'runs that share a replica do not slow one another'
}
is "$(sharing 2) $(sharing 1) $(sharing 2 --set serve.interference=occupancy)" "1 0 0" "runs that share a replica for free are an assumption"
tap_done
