#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# comparison.sh - recorded and simulated waits: makes the tables of comparison-waits.md
# usage: sh docs/comparison.sh [ORRERY]     traces: $ORRERY_TRACE_PATH
set -eu
orrery=${1:-orrery}
: "${ORRERY_TRACE_PATH:?set it to the folder of traces (swf_hpc2n_slice/, openb/)}"
hpc2n=$ORRERY_TRACE_PATH/swf_hpc2n_slice/hpc2n.swf
pods=$ORRERY_TRACE_PATH/openb/openb_pod_list_default.csv
nodes=$ORRERY_TRACE_PATH/openb/openb_node_list_all_node.csv
work=$(mktemp -d "${TMPDIR:-/tmp}/orrery-comparison.XXXXXX")
trap 'rm -rf "$work"' EXIT

have() {
  for f in "$@"; do
    [ -e "$f" ] && continue
    echo "comparison.sh: SKIPPED: no $f" >&2
    return 1
  done
}

# Converts seconds, one per line, to a row: n, mean, quantiles (linear between order statistics), share of at most 60 s.
row() {
  sort -n | awk -v what="$1" '
    function q(p,  h) { h = (NR - 1) * p + 1; return v[int(h)] + (h - int(h)) * (v[int(h) < NR ? int(h) + 1 : NR] - v[int(h)]) }
    { v[NR] = $1; sum += $1; soon += $1 <= 60 }
    END { printf "| %s | %d | %.0f | %.0f | %.0f | %.0f | %.0f | %.1f %% |\n",
      what, NR, sum / NR, q(.5), q(.9), q(.99), v[NR], 100 * soon / NR }'
}
head_row() {
  printf '\n| %s | jobs | mean s | median s | p90 s | p99 s | max s | within a minute |\n' "$1"
  echo '| --- | --: | --: | --: | --: | --: | --: | --: |'
}

# Prints column NAME of a CSV file, without empty values.
column() {
  awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i; next } $c != "" { print $c }' "$2"
}
recorded_only() { # waits in $2 of the jobs that have a recorded wait in $1
  awk -F, 'FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    NR == FNR { if ($at["wait_s"] != "") known[$at["job_id"]] = 1; next }
    $at["job_id"] in known { print $at["wait_s"] }' "$1" "$2"
}

# Counts the jobs that waited more than a minute although enough GPUs were free at submission, by the recorded schedule
# of the jobs in the file. $2: GPUs of the cluster.
idle_room() {
  awk -F, -v all="$2" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    $at["wait_s"] != "" && $at["duration_s"] != "" { n++; s[n] = $at["submit_s"]; b[n] = s[n] + $at["wait_s"]
      e[n] = b[n] + $at["duration_s"]; g[n] = $at["gpus"] }
    END {
      for (i = 1; i <= n; i++) {
        if (b[i] - s[i] <= 60) continue
        late++
        used = 0
        for (k = 1; k <= n; k++) if (b[k] <= s[i] && e[k] > s[i]) used += g[k]
        room += all - used >= g[i]
      }
      printf "%d of %d jobs that waited more than a minute had found room for themselves on submission\n", room, late
    }' "$1"
}

# Counts the jobs with a recorded wait ($1) of more than an hour that start at submission in the replay $2.
at_once() {
  awk -F, 'FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    NR == FNR { if ($at["wait_s"] > 3600) late[$at["job_id"]] = 1; next }
    $at["job_id"] in late { n++; now += $at["wait_s"] == 0 }
    END { printf "%d of %d jobs that waited more than an hour start on submission under easy-limit\n", now, n }' "$1" "$2"
}

# Prints the largest number of jobs of one user that ran at the same time, as recorded.
most_running() {
  awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    $at["duration_s"] != "" { n++; u[n] = $at["user"]; b[n] = $at["submit_s"] + $at["wait_s"]; e[n] = b[n] + $at["duration_s"] }
    END {
      for (i = 1; i <= n; i++) {
        c = 0
        for (k = 1; k <= n; k++) c += u[k] == u[i] && b[k] <= b[i] && e[k] > b[i]
        most = c > most ? c : most
      }
      printf "no user had more than %d jobs running at once\n", most
    }' "$1"
}

swf() {
  have "$hpc2n" || return 0
  "$orrery" trace convert "$hpc2n" -o "$work/hpc2n.csv" 2>"$work/log"
  "$orrery" jobs "$hpc2n" --cluster 120x2:cpu --placement count -q --out "$work/hpc2n" --no-figures --record all \
    --policy fifo,fjf,easy-backfill@easy-limit,easy-backfill@easy-exact,easy-backfill@easy-kill,conservative-backfill@conservative \
    --set policy.easy-exact.estimate=exact --set policy.easy-kill.overrun=kill >"$work/hpc2n.txt"
  head_row 'HPC2N, 240 processors'
  awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } $at["duration_s"] != "" { print $at["wait_s"] }' \
    "$work/hpc2n.csv" | row recorded
  for p in fifo fjf easy-limit easy-exact easy-kill conservative; do
    column wait_s "$work/hpc2n/$p.jobs.csv" | row "$p"
  done
  echo
  idle_room "$work/hpc2n.csv" 240
  at_once "$work/hpc2n.csv" "$work/hpc2n/easy-limit.jobs.csv"
  most_running "$work/hpc2n.csv"
}

openb() {
  have "$pods" "$nodes" || return 0
  "$orrery" trace convert "$pods" -o "$work/pods.csv" 2>"$work/log"
  head_row 'openb, all nodes'
  column wait_s "$work/pods.csv" | row recorded
  for place in best-fit fgd consolidate; do
    "$orrery" jobs "$pods" --cluster "$nodes" --placement "$place" -q --out "$work/$place" --no-figures --record all \
      --policy fifo,easy-backfill >"$work/$place.txt"
    for p in fifo easy-backfill; do
      recorded_only "$work/pods.csv" "$work/$place/$p.jobs.csv" | row "$p, $place"
    done
  done
  echo
  "$orrery" trace info "$pods" | grep -E '^(peak GPUs|never scheduled)'
}

# Makes an allocation-only workload of the pods (Weng et al., ATC 2023): pods without ends, drawn with replacement, one
# per second, until they request LOAD times the GPUs of the cluster. Generator: Park and Miller, CACM 31(10), 1988.
inflate() {
  awk -v seed="$1" -v load="$2" 'BEGIN { FS = OFS = ","; x = seed; i = 0 }
    NR == 1 { print; next }
    { row[n++] = $0 }
    END {
      while (asked < load * 6212 * 1000) {
        x = (x * 16807) % 2147483647
        $0 = row[int(n * x / 2147483647)]
        asked += $4 * $5
        $1 = "pod" i; $8 = "Running"; $9 = $11 = i; $10 = 1000000000
        i++
        print
      }
    }' "$pods"
}

packing() {
  have "$pods" "$nodes" || return 0
  printf '\n| GPUs allocated of 6,212, %% | at 100 %% asked | at 130 %% asked | CPU s |\n| --- | --: | --: | --: |\n'
  for place in count fgd best-fit consolidate topology spread; do
    cells='' cpu=0
    for load in 1.0 1.3; do
      sum=0
      for seed in 1 2 3 4 5; do
        inflate "$seed" "$load" >"$work/inflated.csv"
        last=$(($(wc -l <"$work/inflated.csv") - 2))
        "$orrery" jobs "$work/inflated.csv" --cluster "$nodes" --placement "$place" -q --policy fjf --until "${last}s" \
          --out "$work/packed" --no-figures --record all --json >"$work/packed.json"
        part=$(awk -F, 'NR == FNR { milli[$1] = $4 * $5; next }
          FNR > 1 && $4 != "" { sum += milli[$1] } END { print sum / 62120 }' "$work/inflated.csv" "$work/packed/fjf.jobs.csv")
        sum=$(echo "$sum $part" | awk '{ print $1 + $2 }')
      done
      cells="$cells $(echo "$sum" | awk '{ printf "%.2f", $1 / 5 }') |"
    done
    cpu=$( { TIMEFORMAT=%U; export TIMEFORMAT; bash -c 'time "$0" "$@" >/dev/null' "$orrery" jobs "$work/inflated.csv" --cluster "$nodes" \
      --placement "$place" -q --policy fjf --until "${last}s"; } 2>&1)
    echo "| $place |$cells $cpu |"
  done
}

swf
openb
packing
