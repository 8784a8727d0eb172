#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The real tables of jobs and requests with other names of columns. With all columns renamed, one command with --map gives the rows and the table of the
# original. With one column renamed, the program reads the same rows (it does not use the column), or it prints a --map, which with the new name in the place
# of "?" reads them. It never reads other rows silently, apart from the columns below, which a file of the format may lack.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
traces=$(realpath "$traces" 2>/dev/null || echo "$traces")
cd "$work" || exit 1

# rows FILE [OPTION..]: the columns of orrery's CSV that --map can give
rows() { "$orrery" trace convert "$@" 2>err | cut -d, -f"$columns" | sha256sum; }
# renamed FILE COLUMN|all: the table with one column, or all, called x1, x2, ..
renamed() {
  awk -v which="$2" 'BEGIN { FS = OFS = "," }
    NR == 1 { sub(/\r$/, ""); for (i = 1; i <= NF; i++) if (which == "all" || $i == which) $i = "x" i } { print }' "$1"
}
# map_of FILE MAP COLUMN|all: the list for that table
map_of() {
  head -n 1 "$1" | tr -d '\r' | awk -v list="$2" -v which="$3" '{ n = split($0, names, ","); for (i = 1; i <= n; i++) number[names[i]] = i }
    END { n = split(list, pair, ",")
      for (k = 1; k <= n; k++) {
        split(pair[k], p, "=")
        printf "%s%s=%s", sep, p[1], (which == "all" || p[2] == which) ? "x" number[p[2]] : p[2]
        sep = "," } }'
}
# table FILE MAP OPTIONAL COMMAND OPTIONS..: OPTIONAL are the columns that a file may lack; OPTIONS are of the command that prints the table
table() {
  need "$traces/$1" || return
  local file=$1 map=$2 optional=$3 command=$4 want column wrong='' unread='' all
  shift 4
  local name
  name=$(basename "$file" .gz)
  zcat -f "$traces/$file" >original.csv
  renamed original.csv all >all.csv
  all=$(map_of original.csv "$map" all)
  want=$(rows original.csv "${plain[@]/#/-O}")
  is "$(rows all.csv --map "$all" "${mapped[@]/#/-O}")" "$want" "$name: all columns renamed: the rows"
  "$orrery" "$command" original.csv "${plain[@]/#/--set=trace_options.}" "$@" >table 2>&1
  like "$(cat table)" '^(fifo|vllm) ' "$name: a table"
  is "$("$orrery" "$command" all.csv --map "$all" "${mapped[@]/#/--set=trace_options.}" "$@" 2>&1 | sed -n '/^policy /,/^[a-z]* .*[0-9]$/p')" "$(sed -n '/^policy /,/^[a-z]* .*[0-9]$/p' table)" \
    "and the same one by $command all.csv --map $all"
  [ "${ORR_SANITIZED:-}" != 1 ] || return
  for column in $(head -n 1 original.csv | tr -d '\r' | tr ',' ' '); do
    renamed original.csv "$column" >one.csv
    [ "$(rows one.csv "${plain[@]/#/-O}")" != "$want" ] || continue
    if grep -q '^orrery: one.csv:1: .*--map [a-z]' err; then
      [ "$(rows one.csv --map "$(map_of original.csv "$map" "$column")" "${mapped[@]/#/-O}")" = "$want" ] || wrong="$wrong $column by its --map;"
    else
      case " $optional " in *" $column "*) unread="$unread $column" ;; *) wrong="$wrong $column: $(head -c 200 err);" ;; esac
    fi
  done
  is "$wrong" "" "$name: each column renamed alone: the same rows, or a --map that gives them"
  is "${unread# }" "$optional" "$name: columns that a file may lack"
}

columns=1-5,7-14,17,20
plain=() mapped=()
table philly/philly.csv.gz submit=timestamp,duration=duration,gpus=num_gpus,queue=cluster cluster jobs --cluster 128x8:v100 --policy fifo
for c in 01 02 03 04 05 06 07 08 09 10; do
  table itp/cluster$c.csv.gz job_id=job_id,submit=submission_time,iterations=num_iteration,model=model_name,deadline=deadline,gpus=num_gpu,duration=duration \
    "num_iteration model_name deadline" jobs --cluster 128x8:v100 --policy fifo
done
mapped=(unit=ms duration_unit=ms)
for c in 1 2 3 4; do
  table muri_philly/trace$c.csv job_id=job_id,gpus=num_gpu,submit=submit_time,iterations=iterations,model=model_name,duration=duration,priority=priority \
    "iterations model_name" jobs --cluster 32x8:v100 --policy fifo
done
columns=1-5,7-9,11-14,17,20
plain=(duration=lifetime) mapped=()
pods=job_id=name,submit=creation_time,end=deletion_time,gpus=num_gpu,gpu_milli=gpu_milli,mem=memory_mib,gpu_types=gpu_spec,queue=qos,status=pod_phase
table openb/openb_pod_list_default.csv $pods qos jobs --cluster 200x8:v100 --drop-unfit --policy fifo
table openb/openb_pod_list_gpuspec33.csv $pods "gpu_spec qos" jobs --cluster 200x8:v100 --drop-unfit --policy fifo
columns=2-6
plain=() mapped=()
for c in code conv; do
  table azure_llm_2023/AzureLLMInferenceTrace_$c.csv arrival=TIMESTAMP,prompt_tokens=ContextTokens,output_tokens=GeneratedTokens "" \
    serve --model llama2-70b --cluster 8x8:a100-80g --tp 8 --policy vllm
done
tap_done
