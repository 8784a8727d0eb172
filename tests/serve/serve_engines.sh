#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The host of serving systems (docs/models/serve-engines.md): times of decodes by engine, CUDA graphs, and arrivals that wait for the
# scheduler's next call. Expected ratios follow from the equations; times of the GPU from orrery model show.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
cd "$work" || exit 1
printf 'arrival_s,prompt_tokens,output_tokens\n0,100,400\n' >one.csv
tpot() { "$orrery" serve one.csv --model llama3-8b --cluster 1x1:h100 --policy vllm --out o --no-figures -q "$@" 2>&1 && awk -F, '$2 == "tpot_mean" { print $3 }' o/summary.csv; rm -rf o; }
ratio() { awk -v a="$(tpot "$@")" -v b="$gpu" 'BEGIN { printf "%.6f\n", a / b }'; }
gpu=$(tpot)
is "$(awk "BEGIN { print ($gpu > 0.003 && $gpu < 0.008) }")" 1 "one decode takes $gpu s on the GPU"
is "$(ratio --set serve.engine=vllm-0.5.3)" 2.631579 "vllm-0.5.3: the GPU works for 38 % of the time"
is "$(ratio --set serve.engine=vllm-0.6.0)" 1.076316 "vllm-0.6.0: 29 / 38 of the GPU's time, once in 10 iterations"
is "$(ratio --set serve.engine=sglang-0.3) $(ratio --set serve.engine=sglang-0.4)" "1.100000 1.000000" "sglang 0.3 and 0.4: a host that is hidden"
is "$(ratio --set serve.engine=vllm-0.5.3 --set serve.host_steps=10 --set serve.host_gpu_share=0.5)" 1.100000 "options replace the engine's values"
is "$(awk -v a="$(tpot --set serve.host=2ms --set serve.host_per_request=1ms)" -v b="$gpu" 'BEGIN { printf "%.4f", 1000 * (a - b) }')" 3.0000 \
  "2 ms per iteration and 1 ms per request"
is "$(ratio --set serve.cuda_graphs=decode --set serve.kernel_launch=1ms)" 1.000000 "decodes run as graphs"
# 32 blocks x (10 layers, cache, attention) + embedding, norm, output layer, softmax: 388 kernels.
is "$(awk -v a="$(tpot --set serve.cuda_graphs=off --set serve.kernel_launch=1ms)" 'BEGIN { printf "%.4f", a }')" 0.3880 "without graphs: 388 launches"
like "$("$orrery" serve one.csv --model llama3-8b --cluster 1x1:h100 --policy vllm --no-figures --set serve.engine=vllm-0.6.0)" \
  '^engine vllm-0\.6\.0: the host takes 0\.7632 times the time of the GPU; the scheduler runs every 10 iterations \(vLLM' "the run states the host"

# The first prompt ends at 0.2 s; groups of 20 decodes of 10 ms follow, which end at 0.4, 0.6, .. s. A request that arrives at 0.45 s waits
# for the end of the current group. Its prompt takes 0.2 s, because prompts are not grouped.
printf 'arrival_s,prompt_tokens,output_tokens\n0,10,60\n0.45,10,1\n' >two.csv
printf '{"name": "small", "source": "made up", "kind": "llm", "layers": {"dnn": "llama:hidden=64,layers=2,heads=4,kv_heads=2,seq=128,vocab=100,ffn=96"}}\n' >small.json
ttft() { "$orrery" serve two.csv --model small.json --cluster 1x1:h100 --policy vllm --out o --no-figures -q "$@" 2>&1 && awk -F, '$2 == "ttft_mean" { printf "%.3f", 2 * $3 }' o/summary.csv; rm -rf o; }
within() { awk -v x="$1" -v a="$2" -v b="$3" 'BEGIN { print (x >= a && x <= b) }'; }
grouped=$(ttft --set serve.host=200ms --set serve.host_steps=20) alone=$(ttft --set serve.host=10ms)
is "$(within "$grouped" 0.54 0.57)" 1 "an arrival waits for the 20th iteration: TTFT of 0.2 s and 0.35 s, $grouped s in all"
is "$(within "$alone" 0.02 0.04)" 1 "without groups, for the iteration in flight: $alone s in all"
tap_done
