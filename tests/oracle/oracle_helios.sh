#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# HeliosArtifact's simulator on the same jobs, placement "consolidate": every job ends at
# the same second (tolerance zero). The expected values are that simulator's logs, in
# oracles/helios. The simulator's clock observes the end of a job one second late. Under rules=helios the times of orrery include this
# second, so end times are compared without a correction.
. "${srcdir:-.}/tests/tap.sh"
dir=$data/oracles/helios/synth480u_8x8
trace=$data/oracles/common/synth480u.csv

if need "$trace" && need "$dir"; then
  "$ORRERY" jobs "$trace" --cluster 8x8 --placement consolidate --policy fifo,sjf,qssf,srtf \
    --set policy.qssf.rules=helios --set policy.srtf.rules=helios --check --no-figures --out "$work/out" -q
  ok $? "the command runs under --check"
  for p in fifo sjf qssf srtf; do
    # simulator: job_id 1, submit_time 8, start_time 12, end_time 13; the list of nodes comes later
    is "$(diff <(awk -F, 'NR > 1 { printf "%s,%d.000000000\n", $1, $13 }' "$dir/${p}_consolidate_vc0_log.csv" | sort) \
      <(awk -F, 'NR > 1 { print $1 "," $5 }' "$work/out/$p.jobs.csv" | sort) | head -5)" "" "$p ends every job when theirs does"
  done
  # 526 preemptions: the table of results in the README of the logs.
  is "$(awk -F, '$1 == "srtf" && $2 == "preemptions" { print $3 }' "$work/out/summary.csv")" 526 "srtf preempts 526 times"
fi
tap_done
