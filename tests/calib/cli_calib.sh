# orrery calib fit, list, show, diff, scale, check
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
. "$srcdir/tests/tap.sh"

# Points of a known law, 0.5 % above and below it: 5 us + F / 10 TFLOP/s + B / 500 GB/s, F = 2e6 .. 2e12 and
# 2, 16, 128 and 1024 FLOPs per byte.
awk 'BEGIN { print "family,precision,flops,bytes,d0,d1,time_us"
  for (i = 0; i < 25; i++) for (k = 1; k <= 10; k += 3) { f = 2e6 * 10 ^ (i / 4); b = f / 2 ^ k
    printf "gemm,fp32,%.17g,%.17g,%d,%d,%.17g\n", f, b, i, k, (5 + f / 1e7 + b / 5e5) * (1 + (n++ * 7 % 5 - 2) / 400) } }' >"$work/points.csv"
"$ORRERY" calib fit "$work/points.csv" --device v100 --name mine --source "an exact law" --date 2026-11-21 -o "$work/a.json" >"$work/out"
is "$? $(cat "$work/out")" "0 100 points, 1 laws: $work/a.json" "a profile from points"
"$ORRERY" calib fit "$work/points.csv" --device v100 --name mine --source "an exact law" --date 2026-11-21 >"$work/b.json"
cmp -s "$work/a.json" "$work/b.json"
ok $? "the profile on standard output has the same bytes"
show=$("$ORRERY" calib show "$work/a.json")
near() { # KEY TRUTH WHAT: within 1 %, and with an interval
  awk -v want="$2" -v key="$1" '$1 == key { ok = ($2 / want - 1) ^ 2 < 1e-4 && $3 ~ /^\[/ } END { exit !ok }' <<<"$show"
  ok $? "$3"
}
near time0_us 5 "show: the start of 5 us with its interval"
near rate_GFLOPps 10000 "show: the rate of 10 TFLOP/s"
near rate_GBps 500 "show: the rate of 500 GB/s"
near exponent 1 "show: the exponent of a sum"
like "$("$ORRERY" calib check "$work/a.json")" '^mine \(an exact law, 2026-11-21; median error' "check: the profile, its source, date and error"
like "$("$ORRERY" calib check "$work/a.json" --points "$work/points.csv")" '100 of 100 points have a law, 0 of them' "check against points"

# A parameter that is off by a factor of a thousand, up or down, is refused.
for slip in 's/"rate_GBps": [0-9.]*/"rate_GBps": 0.5/' 's/"rate_GFLOPps": [0-9.]*/"rate_GFLOPps": 1e7/' 's/"time0_us": [0-9.]*/"time0_us": 5000/' \
  's/"schema": 1/"schema": 7/' 's/"time0_us"/"time0_ms"/'; do
  sed "$slip" "$work/a.json" >"$work/bad.json"
  "$ORRERY" calib check "$work/bad.json" >"$work/out" 2>"$work/err"
  is "$? $(wc -l <"$work/err" | tr -d ' ') $(grep -c "bad.json\|mine: " "$work/err")" "2 1 1" "$slip is refused: $(cut -c1-70 "$work/err")"
done
head -c 300 "$work/a.json" >"$work/bad.json"
"$ORRERY" calib check "$work/bad.json" 2>"$work/err"
is "$? $(grep -c 'invalid JSON: expected an object' "$work/err")" "2 1" "a truncated profile"
# The times are in ms but labelled us, so the fitted rates exceed the data sheet.
awk -F, -v OFS=, 'NR > 1 { $7 /= 1000 } { print }' "$work/points.csv" >"$work/ms.csv"
"$ORRERY" calib fit "$work/ms.csv" --device v100 -o "$work/ms.json" 2>"$work/err"
is "$? $(grep -c 'is physically impossible: expected' "$work/err") $(ls "$work/ms.json" 2>/dev/null)" "2 1 " "points in the wrong unit are refused"

# One physically impossible law is left out and named; the other laws are kept.
awk -F, -v OFS=, 'NR > 1 { $2 = "fp16"; $7 /= 1000 } NR > 1' "$work/points.csv" | cat "$work/points.csv" - >"$work/mixed.csv"
"$ORRERY" calib fit "$work/mixed.csv" --device v100 -o "$work/mixed.json" >"$work/out" 2>"$work/err"
is "$? $(cat "$work/out")" "0 200 points, 1 laws: $work/mixed.json" "one impossible law does not discard the others"
like "$(cat "$work/err")" '^law left out: v100: \$\.laws\[1\] \(gemm fp16\): FLOP rate: .* is physically impossible: expected' "the law left out is named, with the reason"
like "$("$ORRERY" calib show "$work/mixed.json")" '^note: left out: \(gemm fp16\): FLOP rate: .* is physically impossible' "the profile's note names it too"
"$ORRERY" calib check "$work/mixed.json" >"$work/out"
is "$? $(grep -c '^1 laws' "$work/out")" "0 1" "the rest passes the self-check"

# The same device at half the speed: diff reports 2.
awk -F, -v OFS=, 'NR > 1 { $7 *= 2 } { print }' "$work/points.csv" >"$work/half.csv"
"$ORRERY" calib fit "$work/half.csv" --device v100 --name half -o "$work/half.json" >/dev/null
is "$("$ORRERY" calib diff "$work/a.json" "$work/half.json" | awk '$1 == "gemm" { print $(NF-3), $(NF-2), $(NF-1), $NF }')" "2.000 2.000 2.000 differs" \
  "diff: twice as long"

# The catalogue.
names=$("$ORRERY" calib list | awk 'NR > 1 { print $1 }' | tr '\n' ' ')
is "$names" "k80 p100 v100 t4 a40 a100 a100-80g h100 cpu-epyc-zen5-2 " "calib list has the shipped profiles"
like "$("$ORRERY" calib list | grep '^t4')" 'not measured, scaled' "the T4 is marked: not measured"
like "$("$ORRERY" calib show t4 | grep '^note')" 'not measured: scaled from the profile v100' "the T4 profile names the profile it was scaled from"
"$ORRERY" calib scale v100 --to t4 -o "$work/t4.json" >/dev/null
ok $? "calib scale reproduces the T4 profile"
error=$("$ORRERY" calib list | awk '$1 == "t4" { print $4 }')
ok "$(awk -v e="${error:-999}" 'BEGIN { print !(e > 5 && e <= 35) }')" "the T4's profile states the error of scaling the same kernels in fp32, about 22 % ($error %)"
is "$("$ORRERY" calib show "$work/t4.json" | grep -c '^gemm')" 2 "the scaled profile has laws of products"
like "$("$ORRERY" calib diff v100 "$work/t4.json" | grep '^gemm fp32')" 'differs' "a T4 is slower than a V100"
is "$("$ORRERY" calib show "$work/t4.json" | grep -c '^collective\|^copy')" 0 "the scaled profile has no laws of collectives"
# V100: the mean over shapes of the held-out errors is much larger than the median, so both are printed.
is "$("$ORRERY" calib list | awk '$1 == "v100" { print ($5 > 1.2 * $4) }')" 1 "calib list states the mean error beside the median"
like "$("$ORRERY" calib show v100)" '^error of its laws \(held out where known\), weighted by points: median [0-9.]+ %, mean [0-9.]+ %$' "so does calib show, and names both"
"$ORRERY" calib show k80 >"$work/out"
like "$(cat "$work/out")" 'held out [0-9.]+ %' "the K80's efficiency has its error"

if command -v gnuplot >/dev/null; then
  "$ORRERY" calib show "$work/a.json" --out "$work/figures" >/dev/null
  is "$? $(cd "$work/figures" && echo *.svg)" "0 efficiency-fp32.svg residuals.svg roofline.svg" "figures: roofline, efficiency map, residuals"
else
  skip "gnuplot is not installed"
fi

fails() { # WHAT PATTERN ARGUMENTS..
  what=$1 pattern=$2
  shift 2
  "$ORRERY" calib "$@" >"$work/out" 2>"$work/err"
  is "$? $(grep -c -- "$pattern" "$work/err")" "2 1" "$what"
}
fails "no verb" 'calib: expected run, fit, list' ""
fails "a misspelt verb" 'did you mean "fit"?' fitt x
fails "no points" 'expected the name of a file POINTS.csv' fit
fails "a table without its kind" 'expected one TABLE.csv after each --from KIND' fit --from nccl
fails "an unknown kind" '--from deepbenc: expected deepbench' fit --from deepbenc "$work/points.csv"
fails "a table of another kind" 'expected a column "op"' fit --from nccl "$work/points.csv"
fails "a file that does not exist" 'No such file' fit "$work/none.csv"
fails "an unknown profile" 'did you mean "v100"?' show v10
fails "an unknown device" 'unknown device "t44"' scale v100 --to t44
fails "one profile to compare" 'expected the names of two profiles' diff v100
fails "an unknown option" 'did you mean "--device"?' fit --devise v100 "$work/points.csv"

# The same command, in hwmodel/profiles.sh, makes the profiles of the catalogue from published tables.
if need "$data/measured/tf_benchmarks_2017.csv"; then
  "$ORRERY" calib fit --from images "$data/measured/tf_benchmarks_2017.csv" --select K80 --device k80 --date 2017 -o "$work/k80.json" \
    --source "tensorflow/tensorflow 6535ed7, docs_src/performance/benchmarks.md: images/s of training on one GPU" \
    --note "one efficiency of all products from whole networks; no kernel was measured" >/dev/null
  cmp -s "$work/k80.json" "$srcdir/hwmodel/profiles/k80.json"
  ok $? "the shipped profile of the K80 is reproduced byte for byte"
fi
tap_done
