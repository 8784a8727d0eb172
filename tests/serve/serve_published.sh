#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Published throughputs and latencies of serving systems against `orrery serve`: the tables of docs/comparison-serving.md. The bounds are
# the goals of the comparison. A row that determines a constant is judged with the constant of the other rows.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
need "$data/measured/llm_serving_published.csv" || { tap_done; exit; }
not_sanitized "200 runs take too long in a sanitized program"
script=$(realpath "$srcdir/docs/comparison-serving.sh")
cd "$work" || exit 1
ORRERY_DATA_PATH=$data TMPDIR=$work bash "$script" "$orrery" >report 2>said
is "$? $(cat said)" "0 " "the script runs"
sed 's/^/# /' report
# value FIRST SECOND NAME: the number after NAME in the line that begins with FIRST SECOND; infinite if there is none.
value() { awk -v a="$1" -v b="$2" -v c="$3" '$1 == a && $2 == b { for (i = 3; i < NF; i++) if ($i == c) v = $(i + 1) } END { print v ~ /^[0-9.]+$/ ? v : 1e9 }' report; }
check() { ok "$(awk "BEGIN { print !($1) }")" "$2 ($1)"; }
check "$(value all rows rows) >= 190" "rows with both lengths, and a batch or maximum load, are simulated"
check "$(value all rows median) <= 15" "all rows: median error at most 15 %"
check "$(value all rows mean) <= 25" "all rows: mean error at most 25 %"
check "$(value all without_bandwidths median) <= 15" "without the bandwidths, which follow from gpt-fast's speeds: median at most 15 %"
check "$(value all throughputs mean) <= 15" "throughputs: mean error at most 15 %"
for e in tensorrt-llm lmdeploy; do
  check "$(value judged $e mean) <= 15" "$e, FP16 throughputs of Llama-2 7B and 70B on A100: mean error of rows left out at most 15 %"
  fitted=$(awk -v e=$e '$1 == "constant" && $2 == e { print $3 }' report)
  "$orrery" serve poisson:rate=1,n=1,prompt=100,output=2 --model llama2-70b --cluster 1x4:a100-80g --tp 4 --policy vllm \
    --set serve.engine=$e >said 2>&1
  shipped=$(sed -n 's/.*reads a key or value up to \([0-9.]*\) times for the queries that share it (fitted.*/\1/p' said)
  check "(${shipped:-0} - ${fitted:-9}) ^ 2 < 0.03" "$e: the constant that ships is the one fitted here"
done
# E14 of papers/engine-costs.md: MLPerf 4.1, Llama-2 70B, 8 H100, 24576 requests: Offline 24524.9 tokens/s, Server 74.42 requests/s, whose
# ratio in tokens is 0.881. The ratio is a known gap (docs/comparison-serving.md): its test keeps it from growing.
lengths="prompt=lognormal:294:1024:1024,output=lognormal:290:1024:1024"
mlperf() { # RATE FLAG..
  local rate=$1
  shift
  "$orrery" serve "poisson:rate=$rate,n=24576,$lengths" --model llama2-70b --cluster 1x8:h100 --tp 2 --precision fp8 --kv-precision fp8 \
    --policy vllm --set policy.vllm.max_batch=2048 --set serve.kv_part=0.95 "$@" 2>&1
}
mlperf 1000000000 --out offline --no-figures -q
offline=$(awk -F, '$2 == "tokens_per_second" { t = $3 } $2 == "output_tokens" { o = $3 } END { printf "%.0f", t; print o / 24576 >"mean" }' offline/summary.csv)
server=$(mlperf 80 --find-rate ttft=2s,tpot=200ms --attainment 0.99 | sed -n 's/^vllm: \([0-9.]*\) requests.*/\1/p')
check "(${offline:-0} / 24524.9 - 1) ^ 2 <= 0.01" "E14 Offline: within 10 % of the published tokens/s"
check "(${server:-0} / 74.42 - 1) ^ 2 <= 0.01" "E14 Server: within 10 % of the published requests/s"
check "${server:-9e9} * $(cat mean) / ${offline:-1} <= 1.2 * 0.881" "E14 Server / Offline: at most 20 % above 0.881, a gap of 17 %"
tap_done
