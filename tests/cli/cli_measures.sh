#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# orrery calib at the command line, on a device that follows a law exactly: rows, reports, options and their limits, files.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
cd "$work" || exit 1
run() { "$orrery" calib run --backend synthetic "$@"; }
refused() { is "$("$orrery" calib "${@:2}" 2>&1 >/dev/null | head -n 1; echo "${PIPESTATUS[0]}")" "orrery: $1
2" "calib ${*:2}"; }

# ---- rows: a kernel takes 5 us + sqrt((FLOPs / 10 TFLOP/s)^2 + (bytes / 500 GB/s)^2), a copy 5 us + bytes / 500
# GB/s ----
run --budget 4 --settings noise=0 -o exact.csv 2>exact.err
is "$? $(awk -F, 'NR == 1 { next } { f = $6 / 1e13; b = $7 / 5e11; t = $8 > 0 ? 5e-6 + $8 / 5e11 : 5e-6 + sqrt(f * f + b * b)
  rows++; bad += ($17 / (t * 1e6) - 1) ^ 2 > 1e-20 || ($18 != "" && (($18 / $17 - 1) ^ 2 > 1e-20 || ($19 / $17 - 1) ^ 2 > 1e-20)) }
  END { print (rows > 50), bad }' exact.csv)" "0 1 0" "without noise each time is that of the law, and so are the limits of its interval, where it has one"
value() { sed -n "s/^  \"$2\": \(.*[^,]\),*$/\1/p" "$1"; }
read -r measured planned seconds imprecise <<<"$(for k in points_measured points_planned seconds points_imprecise; do value exact.device.json $k; done | tr '\n' ' ')"
is "$(tail -n 2 exact.err)" "$measured of $planned points in $(printf %.1f "$seconds") s; $imprecise have intervals wider than required; 0 refused
4 anchors measured again $(value exact.device.json anchor_revisits) times: drift 0.0 % (median of anchors), 0.0 % (largest): stable" "the report has the numbers of the file"
is "$(($(wc -l <exact.csv) - 1))" "$measured" "a row for each point"
is "$(head -n 1 exact.err)" "synthetic: synthetic; " "the first line names the device"
is "$(run --budget 4 --settings noise=0 -q -o quiet.csv 2>&1; cmp exact.csv quiet.csv)" "" "-q prints nothing, and the rows are the same"
run --budget 4 --settings noise=0 --only launch -o launch.csv 2>launch.err
is "$(tail -n 2 launch.err)
$(wc -l <launch.csv)" "1 of 1 points in 0.7 s; 0 have intervals wider than required; 0 refused
no anchor could be measured again within this budget: the drift is unknown
2" "one family of one kernel has no anchor"
run --budget 20 --settings noise=0,drift=0.01 -o drift.csv 2>drift.err
like "$(tail -n 1 drift.err)" '^4 anchors measured again [0-9]+ times: drift 1[0-9]\.[0-9] % \(median of anchors\), 1[0-9]\.[0-9] % \(largest\): unstable, intervals are widened by the drift$' \
  "times that grow by 1 % in a second"
is "$(awk -F, -v d="$(value drift.device.json drift)" 'NR > 1 { bad += !($18 < $17 && $17 < $19 && $19 / $18 > 1 + d / 2) } END { print (NR > 50), bad }' drift.csv) $(ls drift.csv*)" \
  "1 0 drift.csv" "their intervals are as wide as the drift, and the file has been replaced"
run --budget 20 --settings noise=0,hot_from=3,hot_to=9 -o hot.csv 2>hot.err
is "$(tail -n 1 hot.err)" "throttled: thermal (hardware); batches measured while throttled are left out, and so are 0 points without other batches" "throttled for 6 s"
is "$(awk -F, 'NR > 1 { f = $6 / 1e13; b = $7 / 5e11; t = $8 > 0 ? 5e-6 + $8 / 5e11 : 5e-6 + sqrt(f * f + b * b); bad += ($17 / (t * 1e6) - 1) ^ 2 > 1e-20 } END { print bad }' hot.csv)" 0 \
  "batches of these seconds are in no row"
is "$(run --budget 0.5 --settings noise=0,t0=0.1 -o none.csv 2>&1 | tail -n 1; echo "${PIPESTATUS[0]}")" "orrery: calib run: nothing was measured within 0.5 s: expected a larger --budget
1" "a budget that is too short"
is "$(run --budget 5 --settings lost=0.0001 -q -o lost.csv 2>&1; echo $?)" "orrery: the device is lost
1" "a device that is lost before the first point"
is "$(run --budget 20 --settings lost=9,noise=0 -q -o gone.csv 2>&1 | sed 's/orrery: [^:]*: /orrery: KERNEL: /'; echo "${PIPESTATUS[0]}")" "orrery: KERNEL: the device is lost; the $(($(wc -l <gone.csv) - 1)) points measured before are in gone.csv
1" "or later"
is "$(run --budget 20 --settings lost=9,noise=0 -q 2>&1 >gone2.csv | sed 's/orrery: [^:]*: /orrery: KERNEL: /'; cmp gone.csv gone2.csv)" "orrery: KERNEL: the device is lost; the $(($(wc -l <gone.csv) - 1)) points measured before are on standard output" "on standard output"

# ---- options and their limits ----
for budget in 0.5 86400; do is "$(run --budget $budget --only launch --settings noise=0 -q | wc -l)" 2 "--budget $budget"; done
for budget in 0.4 86401 x; do refused "calib run: --budget: expected a number from 0.5 to 86400, found \"$budget\"" run --backend synthetic --budget $budget; done
for o in threads gpu; do
  is "$(run --only launch --settings noise=0 -q --$o 4096 | wc -l) $(run --only launch --settings noise=0 -q --$o 0 | wc -l)" "2 2" "--$o"
  for n in 4097 -1 x; do refused "calib run: --$o: expected a whole number from 0 to 4096, found \"$n\"" run --backend synthetic --$o $n; done
done
for n in 4294967296 -1 1.5; do refused "calib run: --seed: expected a whole number from 0 to 4294967295, found \"$n\"" run --backend synthetic --seed $n; done
is "$(run --only launch --seed 4294967295 -q -o seed.csv; value seed.device.json seed)" 4294967295 "the seed is written"
refused 'calib run: unexpected argument "more": expected options only; '\''orrery calib --help'\'' shows them' run --backend synthetic more
refused 'calib run: --only: expected launch, gemm, conv, memory, gather, update, attention, copy, collective, interference, preemption or learners, found "gemms"' \
  run --only launch,gemms,copy
refused 'calib run: --only: expected launch, gemm, conv, memory, gather, update, attention, copy, collective, interference, preemption or learners, found "gem"' run --only gem
families() { run --budget 4 --settings noise=0 -q --only "$1" | tail -n +2 | cut -d , -f 1 | sort -u | tr '\n' ' '; }
is "$(families gemm,copy)|$(families memory)|$(families update,launch,)" "copy gemm |memory |launch update " "--only"
refused 'synthetic backend: expected name=number, found "t0"' run --backend synthetic --settings t0
refused 'synthetic backend: expected name=number, found "t0=-1"' run --backend synthetic --settings noise=0,t0=-1
refused 'synthetic backend: unknown setting "t": expected one of t0, a, b, p, noise, spread, drift, outliers, hot_from, hot_to, hot, lost' run --backend synthetic --settings t=1
for s in a b p; do refused "synthetic backend: expected a, b and p above 0" run --backend synthetic --settings $s=0; done

# ---- fit: files and names ----
law() { awk -v slow="$1" 'BEGIN { print "family,precision,flops,bytes,d0,d1,time_us"
  for (i = 0; i < 25; i++) for (k = 1; k <= 10; k += 3) { f = 2e6 * 10 ^ (i / 4); b = f / 2 ^ k
    printf "gemm,fp32,%.17g,%.17g,%d,%d,%.17g\n", f, b, i, k, slow * (5 + f / 1e7 + b / 5e5) * (1 + (n++ * 7 % 5 - 2) / 400) } }'; }
law 1 >p.csv
fit=(calib fit p.csv --device v100 --date 2026-11-21 --source "a law")
"$orrery" "${fit[@]}" >plain.json
mkdir -p sub
is "$("$orrery" "${fit[@]}" -o sub/one.json)|$("$orrery" "${fit[@]}" -o two.json)|$(cmp plain.json sub/one.json; cmp plain.json two.json; "$orrery" "${fit[@]}" -o - | cmp - plain.json)" \
  "100 points, 1 laws: sub/one.json|100 points, 1 laws: two.json|" "a file in a folder, here, and standard output have the same bytes"
is "$(grep -c kept_points_us plain.json) $("$orrery" "${fit[@]}" --no-points | grep -c kept_points_us)" "1 0" "--no-points"
is "$("$orrery" "${fit[@]}" --name own --note remark | grep -c '"name": "own"\|"note": "remark"')" 2 "--name and --note"
cp p.csv again.csv
is "$("$orrery" calib fit p.csv again.csv --device v100 -o both.json)" "200 points, 1 laws: both.json" "points of two files"
from=()
for _ in $(seq 17); do from+=(--from nccl); done
refused 'calib fit: --from: expected at most 16 tables' fit "${from[@]}" x.csv
refused 'calib fit: expected one TABLE.csv after each --from KIND' fit --from nccl --from copy x.csv
refused 'calib fit: expected one TABLE.csv after each --from KIND' fit --from nccl x.csv y.csv
refused 'calib fit: expected the name of a file POINTS.csv; '\''orrery calib --help'\'' shows the forms' fit --device v100
refused 'calib list: expected no arguments' list x
refused 'calib show: expected the name of one profile; '\''orrery calib --help'\'' shows the forms' show
refused 'calib show: expected the name of one profile; '\''orrery calib --help'\'' shows the forms' show a b
refused 'calib check: expected the name of one profile; '\''orrery calib --help'\'' shows the forms' check
refused 'calib diff: expected the names of two profiles; '\''orrery calib --help'\'' shows the forms' diff a
refused 'calib diff: expected the names of two profiles; '\''orrery calib --help'\'' shows the forms' diff a b c
refused 'calib diff: expected the names of two profiles; '\''orrery calib --help'\'' shows the forms' diff a --b
refused 'calib scale: expected the name of a profile and --to GPU; '\''orrery calib --help'\'' shows the forms' scale v100
refused 'calib scale: --known: expected the names of two profiles separated by a comma, such as p100,v100' scale v100 --to t4 --known p100

# ---- scale ----
is "$("$orrery" calib scale v100 --to t4 --known none -o t4.json | sed 's/^[0-9]* //') $("$orrery" calib show t4.json | grep -c '^error of its laws .* - %, mean - %$\|- %')" \
  "laws, not measured: t4.json $("$orrery" calib show t4.json | grep -c -- '- %')" "scaling without profiles of two measured devices"
"$orrery" calib scale v100 --to t4 >known.json
is "$("$orrery" calib scale v100 --to t4 --known p100,v100 | cmp - known.json; echo $?) $(cmp -s known.json t4.json; echo $?)" "0 1" "the error of scaling is that of the P100 to the V100 by default"
tap_done
