#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# orrery figures ds-sync, with fewer iterations and seeds. Closed forms: docs/models/step-stanza-ds-sync-ako.md; published: arXiv 2007.03298 v2,
# abstract (up to 94 %, read as 1.94x).
. "${srcdir:-.}/tests/tap.sh"
. "$srcdir/tests/study/figures.sh"
small ds-sync 's/"contention_iterations": 10000/"contention_iterations": 400/' 's/"search_iterations": 400/"search_iterations": 100/' \
  's/"seeds": 8, "t_of_seeds": 2.364624/"seeds": 3, "t_of_seeds": 4.302653/' 's/"busy": \[.*\]/"busy": [0, 0.02]/' 's/"r": \[.*\]/"r": [2, 4]/' \
  's/"target": \[.*\]/"target": [0.3]/' 's/"p": \[.*\]/"p": [0, 0.02, 0.1]/'
sed -i 's/96000/24000/; s/: 48000/: 12000/; s/"target": 0.2/"target": 0.5/' "$work/ds-sync"/learn-*.json
carry_out ds-sync
is "$(off '^(bandwidth|latency)-' 1e-3)" "" "communication alone: rho(N)/rho(s), and (N-1)/(s-1)"
is "$(off '^(bsp|ds|gain|gain16)-(bert|wrn)' 1e-9)" "" "iterations of BERT-Large and wide ResNets"
is "$(between bsp-bert_large_qa_s384 2.16 2.18)$(between ds-bert_large_qa_s384 1.63 1.65)$(between bsp-wrn_50_2 0.55 0.56)" 111 \
  "worked out by hand: 2.17, 1.64 and 0.55 s"
is "$(off '^tensors-' 1e-9)" "" "tensor by tensor, with latency"
is "$(off '^(ring|interleaved|two-level|ds)-[24]x' 1e-9)" "" "racks: rings, hierarchical, groups"
is "$(off '^leader-[24]x' 0.01)" "" "racks: one leader each, against an endless pipeline"
is "$(between ring-4x4-8 3.74 3.76)$(between interleaved-4x4-4 7.49 7.51)$(between two-level-2x8-4 2.24 2.26)$(between ds-4x4-8 6.74 6.76)" 1111 \
  "four of them worked out by hand: 3.75, 7.5, 2.25, 6.75 M/B"
is "$(off '^(pairs|grid)-p' 1e-3)" "" "contention changes nothing where all groups meet"
is "$(off '^mixing' 0.06)" "" "and does where they mix slowly, as a recursion written apart from this has it"
is "$(within ours-hierarchical) $(within ours-blind)" "yes yes" "two settings of ours give 1.94 within 5 %"
is "$(between ours-ring-overlap 1 1.84)" 1 "... which an overlapped baseline does not leave"
is "$(between equal-loss -1 1)" 1 "pairs end at BSP's loss, within a standard deviation over seeds"
is "$(off '^sooner-' 0.1)" "" "and meet a loss as much sooner as their iterations are shorter"
is "$(between sooner16-pairs 1.5 2.5)" 1 "as do pairs of 16 in our scenario"
drawn workloads tensors racks contention search-two-level time-to-loss time-to-loss-16
tap_done
