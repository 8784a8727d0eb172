#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Published throughputs and latencies of serving systems (measured/llm_serving_published.csv) against `orrery serve`.
#
# A row with a batch and lengths is a burst of that many requests under policy vllm, with a replica of the row's GPUs. One constant
# per engine, serve.kv_reads, is fitted to the throughputs of that engine; the error of a row is that of the constant fitted to all
# other rows. The time of a run is linear in the constant as long as the schedule is the same, so two runs give it for all.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
table=$data/measured/llm_serving_published.csv
need "$table" || { tap_done; exit; }
not_sanitized "140 runs take too long in a sanitized program"
cd "$work" || exit 1
# Columns, separated by tabs: id engine model device gpus batch prompt output precision kv metric value. The notes
# column states which values are per GPU.
awk -F, 'function value() { return $14 * ($13 ~ /per GPU/ || ($17 ~ /per GPU/ && $6 > 1) ? $6 : 1) }
  $4 ~ /^A100/ { device = "a100-80g" } $4 ~ /^H100/ { device = "h100" } $4 !~ /^[AH]100/ { next }
  $3 == "Llama-2-7B" { model = "llama2-7b" } $3 == "Llama-2-13B" { model = "llama2-13b" } $3 == "Llama-2-70B" { model = "llama2-70b" }
  $3 !~ /^Llama-2-(7|13|70)B$/ || !$10 || !$11 || !$12 || $8 !~ /^(fp16|bf16|fp8)$/ { next }
  $13 ~ /^output throughput( per GPU)?$|^decode speed$/ { what = "throughput" }
  $13 ~ /^first token latency/ { what = "ttft" } $13 == "token latency p50" { what = "tpot" }
  $13 !~ /^output throughput( per GPU)?$|^decode speed$|^first token|^token latency p50/ { next }
  { split($7, e, " "); v = $13 == "decode speed" ? $14 * $12 / ($12 - 0) : value(); if (what != "throughput" && $15 == "ms") v /= 1000
    print $1, tolower(e[1]), model, device, $6, $10, $11, $12, $8, ($9 == "fp8" ? "fp8" : "auto"), what, v }' OFS='\t' "$table" >rows
run() { # MODEL DEVICE GPUS BATCH PROMPT OUTPUT PRECISION KV READS: "tokens_per_second ttft_mean token_gap_p50"
  local key="$*"
  key=${key// /_}
  if [ ! -e "run.$key" ]; then
    "$orrery" serve "poisson:rate=1000000000,n=$4,prompt=$5,output=$6" --model "$1" --cluster "1x$3:$2" --tp "$3" --precision "$7" \
      --kv-precision "$8" --policy vllm --set "policy.vllm.max_batch=$4" --set "serve.kv_reads=$9" --out o --no-figures -q >/dev/null 2>said
    awk -F, '$2 == "tokens_per_second" { t = $3 } $2 == "ttft_mean" { f = $3 } $2 == "token_gap_p50" { p = $3 }
      END { print t + 0, f + 0, p + 0 }' o/summary.csv >"run.$key"
    rm -rf o
  fi
  cat "run.$key"
}
while IFS=$'\t' read -r id engine model device gpus batch prompt output precision kv what value; do
  one=$(run "$model" "$device" "$gpus" "$batch" "$prompt" "$output" "$precision" "$kv" 1)
  eight=$one
  [ "$model" = llama2-70b ] && eight=$(run "$model" "$device" "$gpus" "$batch" "$prompt" "$output" "$precision" "$kv" 8)
  echo "$id $engine $model $device $gpus $batch $prompt $output $precision $what $value $one $eight"
done <rows >both
# Computes the fits, the error of each row with the constant fitted to the other rows of its engine, and the means
# by set.
awk 'function predicted(i, c) { # throughput, TTFT or time between tokens of row i at c reads
    if (what[i] == "throughput") return 1 / (1 / a[i, 1] + (c - 1) / 7 * (1 / b[i, 1] - 1 / a[i, 1]))
    k = what[i] == "ttft" ? 2 : 3; return a[i, k] + (c - 1) / 7 * (b[i, k] - a[i, k]) }
  function abs(x) { return x < 0 ? -x : x }
  function fit(e, without, c, best, least, i, sum) {
    best = 1; least = 1e9
    for (c = 1; c < 8.05; c += 0.1) { sum = 0
      for (i = 1; i <= NR; i++) if (engine[i] == e && what[i] == "throughput" && i != without) sum += abs(predicted(i, c) / value[i] - 1)
      if (sum < least - 1e-9) { least = sum; best = c } }
    return best }
  { id[NR] = $1; engine[NR] = $2; model[NR] = $3; device[NR] = $4; precision[NR] = $9; what[NR] = $10; value[NR] = $11
    for (k = 1; k <= 3; k++) { a[NR, k] = $(11 + k); b[NR, k] = $(14 + k) } }
  END {
    for (i = 1; i <= NR; i++) if (!(engine[i] in all)) { all[engine[i]] = fit(engine[i], 0); print "constant", engine[i], all[engine[i]] }
    for (i = 1; i <= NR; i++) {
      c = what[i] == "throughput" ? fit(engine[i], i) : all[engine[i]]
      before = predicted(i, 1) / value[i] - 1; after = predicted(i, c) / value[i] - 1
      printf "row %s %s %s %s %s %s %.4g here %.4g %+.1f %% ideal %+.1f %%\n", id[i], engine[i], model[i], device[i], precision[i], what[i], value[i], predicted(i, c), 100 * after, 100 * before
      s = what[i] " " engine[i] " " model[i] " " device[i] " " precision[i]
      n[s]++; sum[s] += abs(after); was[s] += abs(before); if (abs(after) > worst[s]) worst[s] = abs(after)
      if (what[i] == "throughput" && device[i] == "a100-80g" && precision[i] == "fp16" && model[i] != "llama2-13b") {
        judged++; judged_sum += abs(after); judged_was += abs(before); jn[engine[i]]++; js[engine[i]] += abs(after) } }
    for (s in n) printf "set %s rows %d mean %.1f worst %.1f ideal %.1f\n", s, n[s], 100 * sum[s] / n[s], 100 * worst[s], 100 * was[s] / n[s]
    for (e in jn) printf "judged %s rows %d mean %.1f\n", e, jn[e], 100 * js[e] / jn[e]
    printf "judged all rows %d mean %.1f ideal %.1f\n", judged, 100 * judged_sum / judged, 100 * judged_was / judged }' both >report
sort report | sed 's/^/# /'
# A mean that is no number counts as an infinite error, so its test fails.
number() { case $1 in '' | *[!0-9.]*) echo 1e9 ;; *) echo "$1" ;; esac; }
check() { ok "$(awk "BEGIN { print !($1) }")" "$2 ($1)"; }
ok "$([ "$(wc -l <both)" -ge 40 ]; echo $?)" "rows are simulated ($(wc -l <both))"
for e in tensorrt-llm lmdeploy; do
  mean=$(awk -v e=$e '$1 == "judged" && $2 == e { print $6 }' report)
  check "$(number "$mean") <= 15" "$e, FP16 throughputs of Llama-2 7B and 70B on A100: mean error of rows left out at most 15 %"
  fitted=$(awk -v e=$e '$1 == "constant" && $2 == e { print $3 }' report)
  "$orrery" serve poisson:rate=1,n=1,prompt=100,output=2 --model llama2-70b --cluster 1x4:a100-80g --tp 4 --policy vllm \
    --set serve.engine=$e >said 2>&1
  shipped=$(sed -n 's/.*reads a key or value up to \([0-9.]*\) times for the queries that share it (fitted.*/\1/p' said)
  check "(${shipped:-0} - ${fitted:-9}) ^ 2 < 0.03" "$e: the constant that ships is the one fitted here"
done
mean=$(awk '$2 == "throughput" && $3 == "tensorrt-llm" { n += $8; s += $8 * $10 } END { print n ? s / n : 99 }' <(grep '^set' report))
check "$(number "$mean") <= 15" "tensorrt-llm, all throughputs, FP8 on H100 included: mean error of rows left out at most 15 %"
tap_done
