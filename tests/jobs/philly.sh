#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The Philly trace (82,247 jobs): with enough GPUs no job waits; with too few, the conservation laws hold under every kind of policy
# and placement; and the same command gives the same bytes for any -j, in files and in databases.
. "${srcdir:-.}/tests/tap.sh"
trace=$traces/philly/philly.csv.gz
policies=fifo,srtf,las,easy-backfill
until=200d # that is, to the end
[ -z "${ORR_SANITIZED:-}" ] || until=15d

if need "$trace"; then
  # The cluster has 1,392 GPUs. On an infinite cluster at most 1,243 GPUs are in use at once (README of the
  # traces). So under any greedy policy no job waits for GPUs.
  "$ORRERY" jobs "$trace" --cluster 174x8 --policy "$policies" --no-figures --out "$work/all" -q
  ok $? "174x8 runs"
  for p in ${policies//,/ }; do
    is "$(awk -F, 'NR > 1 && $7 != "0.000000000"' "$work/all/$p.jobs.csv" | wc -l) of $(tail -n +2 "$work/all/$p.jobs.csv" | wc -l)" \
      "0 of 82247" "$p: no job waits on a cluster with room for all"
  done

  for cluster in 64x8 96x8; do
    for placement in count consolidate; do
      said=$("$ORRERY" jobs "$trace" --cluster $cluster --placement $placement --policy "$policies" \
        --until "$until" --check -q 2>&1)
      is "$? $said" "0 " "$cluster, $placement: conservation laws hold under each policy"
    done
  done

  n=0
  for threads in 1 2 2 1; do
    n=$((n + 1))
    "$ORRERY" jobs "$trace" --cluster 64x8 --placement consolidate --policy "$policies" --no-figures \
      --record sample -j "$threads" --db "$work/$n.db" --out "$work/$n" --json -q >"$work/$n.json" 2>/dev/null || ok 1 "run $n"
    "$ORRERY" db digest "$work/$n.db" >"$work/$n/digest"
  done
  for k in 2 3 4; do
    is "$(diff -rq "$work/1" "$work/$k" 2>&1)" "" "run $k of -j 1 2 2 1: same files and database digest as run 1"
  done
  like "$(cat "$work/1/digest")" '^[0-9a-f]{64}' "the digest has 64 hex digits"
fi
tap_done
