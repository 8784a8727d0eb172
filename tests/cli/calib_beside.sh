#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# orrery calib fit with the metadata file of calib run: texts that the profile takes from it, and options that replace them.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
cd "$work" || exit 1
# Points of a known law: 5 us + F / 10 TFLOP/s + B / 500 GB/s, F = 2e6 .. 2e12 and 2, 16, 128 and 1024 FLOPs per byte.
awk 'BEGIN { print "family,precision,flops,bytes,d0,d1,time_us"
  for (i = 0; i < 25; i++) for (k = 1; k <= 10; k += 3) { f = 2e6 * 10 ^ (i / 4); b = f / 2 ^ k
    printf "gemm,fp32,%.17g,%.17g,%d,%d,%.17g\n", f, b, i, k, (5 + f / 1e7 + b / 5e5) * (1 + (n++ * 7 % 5 - 2) / 400) } }' >p.csv
beside() {
  cat >p.device.json <<EOT
{"device": "NVIDIA V100 board", "backend": "cuda", "date": "2026-11-01", "architecture": "Volta", "software": "CUDA 12", "throttle": "none",
 "warnings": "one\ntwo", "clocks_before": {"sm": 1380, "mode": "fixed", "empty": ""}, "clocks_after": {"sm": 1377.5}, "ended": "$1", "is_stable": $2,
 "drift": 0.012, "worst_drift": 0.02, "seconds": 61.2, "points_measured": 100, "points_imprecise": 3, "details": {"driver": "550", "none": "", "number": 3}}
EOT
}
fit() { "$orrery" calib fit p.csv -o p.json "$@" >out 2>err && "$orrery" calib show p.json; }
beside complete true
out=$(fit)
like "$out" '^device v100, cuda, 2026-11-01$' "device (a name of the catalogue), backend and date"
like "$out" '^source: orrery calib run on NVIDIA V100 board$' "source"
is "$(echo "$out" | sed -n '/^device: /,/^driver/p')" "device: NVIDIA V100 board
architecture: Volta
software: CUDA 12
throttle: none
warnings: one two
clocks_before: sm 1380, mode fixed
clocks_after: sm 1377.5
drift_percent: 1.2
worst_drift_percent: 2
seconds: 61.2
points_measured: 100
points_imprecise: 3
driver: 550" "the environment: empty texts are left out"
is "$(echo "$out" | grep -c '^note\|^unstable')" 0 "a complete, stable measurement has no note"
beside complete false
like "$(fit)" '^unstable: the device drifted by more than 3 % while it was measured$' "one that is not stable is marked"
beside interrupted true
like "$(fit)" '^note: the measurement is not complete \(interrupted\): its drift is unknown$' "so is one that ended early"
beside "in progress" true
out=$(fit)
like "$out" '^note: the measurement is not complete \(in progress\): its drift is unknown$' "or is still in progress"
is "$(echo "$out" | grep -c '^seconds:')" 0 "which has no summary of its run yet"
beside complete true
like "$(fit --device a100 --source mine --date 2026-11-02 --note said)" '^device a100, cuda, 2026-11-02$' "options take precedence"
like "$(fit --device a100 --source mine --note said)" '^source: mine$' "for each text"
like "$(fit --note said)" '^note: said$' "also the note"
sed -i 's/NVIDIA V100 board/some board/' p.device.json
like "$(fit)" '^device some board, cuda' "a device that is not in the catalogue keeps its name"
echo '{' >p.device.json
fit >out
is "$(grep -c 'p.device.json' err)" 1 "a damaged file beside the points is an error"
rm p.device.json
like "$(fit --device v100 --source mine --date 2026-11-02)" '^device v100, [a-z]+, 2026-11-02$' "without the file the options suffice"
tap_done
