#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# orrery figures saec, with tables of 6,180 features: bytes and multiply-adds equal the formulas, and more head features lose less.
# Published: Wu, Xu, Zhang, Chen, Wang, APSys 2020 (arXiv 1903.00103), abstracts: 4.46 GB to 161 MB, 27 times, 32 times.
. "${srcdir:-.}/tests/tap.sh"
. "$srcdir/tests/study/figures.sh"
small saec 's/61800/6180/g' 's/"clusters": 200/"clusters": 20/' 's/"clusters": 100/"clusters": 10/' 's/"clusters": 50/"clusters": 5/' \
  's/"table": \[.*\]/"table": [1]/' 's/"I": \[.*\]/"I": [5]/' 's/"part": \[.*\]/"part": [0.04]/' 's/clusters=100/clusters=10/' 's/clusters=50/clusters=5/' \
  's/"r": \[.*\]/"r": [206]/' 's/"share": \[.*\]/"share": [0.02125, 0.16]/'
sed -i -e 's/61800/6180/; s/"samples": 20000/"samples": 2000/; s/clusters=100/clusters=10/' "$work"/saec/*.json
carry_out saec
is "$(within before) $(within after) $(within compression) $(within vectors)" "yes yes yes yes" "published bytes and ratios"
is "$(off '^(before|after|compression|vectors)$' 1e-9)" "" "bytes equal the formula"
# Of 2,060 features per field, ceil(0.02125 x 2060) = 44 are clustered, so the expected ratio is 100 / (100 x 44 /
# 2060 + 1).
is "$(simulated speed-up | awk '{ printf "%.6f", $1 }')" "$(awk 'BEGIN { printf "%.6f", 100 / (100 * 44 / 2060 + 1) }')" "multiply-adds equal the formula"
is "$(simulated auc-103 | awk '{ print ($1 > 0.001) }')" 1 "with as many clusters as twice the vectors the AUC changes"
is "$(simulated all-103)" 0 "and no setting has all three"
drawn error-412 auc-206 front memory
tap_done
