#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# comparison-serving.sh - published throughputs and latencies of serving systems and `orrery serve`: makes the tables of comparison-serving.md
# usage: bash docs/comparison-serving.sh [ORRERY]     data: $ORRERY_DATA_PATH/measured/llm_serving_published.csv
#
# A row with a batch is a burst of that many requests under policy vllm, on a replica of the row's GPUs. A row at maximum load is a burst of
# 3,000 requests under policy orca with up to 2,048 residents, which reserves the memory of the whole output and mixes prompts and decodes.
# serve.kv_reads of TensorRT-LLM 0.5 and 0.6.1 is one constant, fitted to their throughputs; a throughput is judged with the constant fitted
# to all other rows. Times are linear in the constant as long as the schedule is the same, so two runs give them for all constants.
set -eu
orrery=$(realpath "${1:-orrery}")
: "${ORRERY_DATA_PATH:?set it to the folder with measured/llm_serving_published.csv}"
table=$ORRERY_DATA_PATH/measured/llm_serving_published.csv
work=$(mktemp -d "${TMPDIR:-/tmp}/orrery-serving.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"

# Columns, separated by tabs: id engine model device gpus batch (0: maximum load) prompt output weights kv metric value. The notes column
# states which values are per GPU.
awk '
  function cells(line,  i, c, quoted, n, text) { # splits a row with quoted cells into cell[1 ..]
    n = 1; text = ""; quoted = 0
    for (i = 1; i <= length(line); i++) { c = substr(line, i, 1)
      if (c == "\"") quoted = !quoted
      else if (c == "," && !quoted) { cell[n++] = text; text = "" } else text = text c }
    cell[n] = text }
  BEGIN { OFS = "\t"
    model["Llama-2-7B"] = "llama2-7b"; model["Llama-2-13B"] = "llama2-13b"; model["Llama-2-70B"] = "llama2-70b"
    model["Llama-3.1-8B"] = "llama3.1-8b"; model["Llama-3.3-70B"] = "llama3.3-70b"; model["Llama-3.1-405B"] = "llama3.1-405b" }
  NR > 1 { cells($0); what = cell[13]; gpu = cell[4]; is_full = what ~ /maximum load/
    device = gpu ~ /^A100-80/ ? "a100-80g" : gpu ~ /^H100-SXM/ ? "h100" : gpu ~ /^H200/ ? "h200" : gpu == "L40S" ? "l40s" : ""
    if (cell[16] != "seen" || !(cell[3] in model) || device == "" || !cell[11] || !cell[12] || (!cell[10] && !is_full)) next
    metric = what ~ /throughput/ || what == "decode speed" ? "throughput" : what ~ /^weight bandwidth/ ? "bandwidth" : \
      what ~ /^first token/ ? "ttft" : what == "token latency p50" ? "tpot" : ""
    if (metric == "") next
    v = cell[14] * (what ~ /^output.*per GPU/ || (cell[17] ~ /per GPU/ && cell[6] > 1) ? cell[6] : 1) / (cell[15] == "ms" ? 1000 : 1)
    engine = cell[7]; gsub(" ", "_", engine)
    print cell[1], engine, model[cell[3]], device, cell[6], is_full ? 0 : cell[10], cell[11], cell[12], cell[8], cell[9], metric, v }' "$table" >rows

formats() { # WEIGHTS: flags of orrery serve
  case $1 in
    int8) echo "--precision bf16 --weights int8 --set serve.quantised_head=true" ;;
    int4-g32) echo "--precision bf16 --weights int4 --set serve.quantised_head=true --set serve.weight_group=32 --set serve.weight_group_bits=32" ;;
    *) echo "--precision $1" ;;
  esac
}
run() { # MODEL DEVICE GPUS BATCH PROMPT OUTPUT WEIGHTS KV READS: "tokens_per_second ttft_mean token_gap_p50"
  local key="$*" cache=auto n=$4 policy="--policy vllm --set policy.vllm.max_batch=$4"
  key=${key// /_}
  [ "$8" = fp8 ] && cache=fp8
  [ "$4" = 0 ] && n=3000 policy="--policy orca --set policy.orca.max_batch=2048 --set serve.kv_part=0.95"
  if [ ! -e "run.$key" ]; then
    # shellcheck disable=SC2046,SC2086
    "$orrery" serve "poisson:rate=1000000000,n=$n,prompt=$5,output=$6" --model "$1" --cluster "1x$3:$2" --tp "$3" $(formats "$7") \
      --kv-precision $cache $policy --set "serve.kv_reads=$9" --out o --no-figures -q >/dev/null 2>said || { cat said >&2; exit 1; }
    awk -F, '$2 == "tokens_per_second" { t = $3 } $2 == "ttft_mean" { f = $3 } $2 == "token_gap_p50" { p = $3 }
      END { print t + 0, f + 0, p + 0 }' o/summary.csv >"run.$key"
    rm -rf o
  fi
  cat "run.$key"
}
# The bytes of weights per GPU that gpt-fast's bandwidth counts: it splits the linear layers of blocks, and nothing else (its 7B on 8
# GPUs prints 2.144 GB per token and GPU).
bytes_at() { # MODEL FLAG..
  local model=$1
  shift
  "$orrery" model show "$model" --served --device a100-80g --precision bf16 "$@" --json | tr -d '\t' | sed -n 's/^"weight_bytes":\([0-9.e+]*\),$/\1/p'
}
weight_bytes() { # MODEL WEIGHTS GPUS
  local flags bits
  case $2 in
    int8) flags="--weights int8 --quantised-head" bits=8 ;;
    int4-g32) flags="--weights int4 --quantised-head --weight-group 32 --weight-group-bits 32" bits=5 ;;
    *) flags="" bits=16 ;;
  esac
  # shellcheck disable=SC2086
  awk -v all="$(bytes_at "$1" $flags)" -v wide="$(bytes_at "$1")" -v narrow="$(bytes_at "$1" --weights int8)" -v bits=$bits -v n="$3" \
    'BEGIN { split_bytes = (wide - narrow) * bits / 8; printf "%.0f", all - split_bytes + split_bytes / n }'
}
while IFS=$'\t' read -r id engine model device gpus batch prompt output weights kv what value; do
  one=$(run "$model" "$device" "$gpus" "$batch" "$prompt" "$output" "$weights" "$kv" 1)
  eight=$one bytes=0
  case $engine:$model in TensorRT-LLM_0*:llama2-70b | lmdeploy*:llama2-70b)
    eight=$(run "$model" "$device" "$gpus" "$batch" "$prompt" "$output" "$weights" "$kv" 8) ;;
  esac
  [ "$what" = bandwidth ] && bytes=$(weight_bytes "$model" "$weights" "$gpus")
  echo "$id $engine $model $device $gpus $batch $prompt $output $weights $what $value $one $eight $bytes"
done <rows >both

# Computes the fits, the error of each row, and the medians and means by set. Lines: constant, row, set, judged, all.
awk '
  function predicted(i, c) { # throughput, bandwidth in GB/s per GPU, TTFT or time between tokens of row i at c reads
    if (what[i] == "throughput") return 1 / (1 / a[i, 1] + (c - 1) / 7 * (1 / b[i, 1] - 1 / a[i, 1]))
    if (what[i] == "bandwidth") return a[i, 1] * bytes[i] / 1e9
    k = what[i] == "ttft" ? 2 : 3; return a[i, k] + (c - 1) / 7 * (b[i, k] - a[i, k]) }
  function abs(x) { return x < 0 ? -x : x }
  function fit(e, without,  c, best, least, i, sum) {
    best = 1; least = 1e9
    for (c = 1; c < 8.05; c += 0.1) { sum = 0
      for (i = 1; i <= NR; i++) if (family[i] == e && what[i] == "throughput" && i != without) sum += abs(predicted(i, c) / value[i] - 1)
      if (sum < least - 1e-9) { least = sum; best = c } }
    return best }
  function add(s, e) { n[s]++; error[s, n[s]] = e }
  function show(kind, s,  i, j, m, sum, t) { # median and mean of the absolute errors, the largest, and the median error
    m = n[s]; sum = 0
    for (i = 1; i <= m; i++) { x[i] = abs(error[s, i]); y[i] = error[s, i]; sum += x[i] }
    for (i = 2; i <= m; i++) for (j = i; j > 1 && x[j] < x[j - 1]; j--) { t = x[j]; x[j] = x[j - 1]; x[j - 1] = t }
    for (i = 2; i <= m; i++) for (j = i; j > 1 && y[j] < y[j - 1]; j--) { t = y[j]; y[j] = y[j - 1]; y[j - 1] = t }
    printf "%s %s rows %d median %.1f mean %.1f worst %.1f bias %+.1f\n", kind, s, m, 50 * (x[int((m + 1) / 2)] + x[int(m / 2) + 1]), 100 * sum / m, 100 * x[m],
      50 * (y[int((m + 1) / 2)] + y[int(m / 2) + 1]) }
  { id[NR] = $1; engine[NR] = $2; model[NR] = $3; device[NR] = $4; gpus[NR] = $5; weights[NR] = $9; what[NR] = $10; value[NR] = $11
    for (k = 1; k <= 3; k++) { a[NR, k] = $(11 + k); b[NR, k] = $(14 + k) } bytes[NR] = $18
    family[NR] = $2 ~ /^TensorRT-LLM_0/ ? "tensorrt-llm" : $2 ~ /^lmdeploy/ ? "lmdeploy" : "" }
  END {
    split("tensorrt-llm lmdeploy", names, " ")
    for (i = 1; i in names; i++) { all[names[i]] = fit(names[i], 0); print "constant", names[i], all[names[i]] }
    for (i = 1; i <= NR; i++) {
      e = family[i]; own = e == "" ? 1 : what[i] == "throughput" ? fit(e, i) : all[e] # the constant without the row
      c = e == "tensorrt-llm" ? own : 1
      off = predicted(i, c) / value[i] - 1
      printf "row %s %s %s %s x%s %s %s %.4g here %.4g %+.1f %%\n", id[i], engine[i], model[i], device[i], gpus[i], weights[i], what[i], value[i], predicted(i, c), 100 * off
      s = engine[i] " " model[i] " " device[i]; if (!(s in known)) { known[s] = 1; order[++sets] = s }
      m = what[i] " " engine[i]; if (!(m in known)) { known[m] = 1; kinds[++n_kinds] = m }
      add(s, off); add(m, off); add("rows", off); if (what[i] != "bandwidth") add("without_bandwidths", off)
      if (what[i] == "throughput") add("throughputs", off)
      if (what[i] == "throughput" && device[i] == "a100-80g" && weights[i] == "fp16" && model[i] != "llama2-13b") {
        add("both", predicted(i, own) / value[i] - 1); add(e, predicted(i, own) / value[i] - 1); add("ideal", predicted(i, 1) / value[i] - 1) } }
    for (i = 1; i <= sets; i++) show("set", order[i])
    for (i = 1; i <= n_kinds; i++) show("kind", kinds[i])
    show("judged", "tensorrt-llm"); show("judged", "lmdeploy"); show("judged", "both"); show("judged", "ideal")
    show("all", "throughputs"); show("all", "without_bandwidths"); show("all", "rows") }' both >report
grep -v '^\(set\|kind\)' report
printf '\n| engine | model | GPU | rows | median | mean | worst | median error with sign |\n| --- | --- | --- | --: | --: | --: | --: | --: |\n'
awk '$1 == "set" { gsub("_", " ", $2); e = $2; printf "| %s | %s | %s | %s | %s %% | %s %% | %s %% | %s %% |\n", e, $(NF - 11), $(NF - 10), $(NF - 8), $(NF - 6), $(NF - 4), $(NF - 2), $NF }' report
printf '\n| metric | engine | rows | median | mean | worst | median error with sign |\n| --- | --- | --: | --: | --: | --: | --: |\n'
awk '$1 == "kind" { gsub("_", " ", $3); printf "| %s | %s | %s | %s %% | %s %% | %s %% | %s %% |\n", $2, $3, $5, $7, $9, $11, $13 }' report
