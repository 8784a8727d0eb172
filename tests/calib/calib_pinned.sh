# Measurements and fits of one seed: points of the synthetic device, and the laws fitted to them, equal recorded values. The
# device has 5 us, 10 TFLOP/s and 500 GB/s (backend_synthetic.c). Tolerances are 1e-10 for points and 1e-4 for laws, because
# mathematical libraries differ in the last digit.
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
. "$srcdir/tests/tap.sh"

# sums FILE: prints by family, op and group the number of rows, and the sums of each column; row i has weight 1 + i mod 13
sums() {
  awk -F, '
    NR == 1 { for (i = 1; i <= NF; i++) if ($i ~ /^(flops|bytes|size|d[0-5]|time_us|low_us|high_us|n|cv|held_out)$/) take[i] = 1; columns = NF; next }
    {
      key = $1 "/" $2 "/" $4
      if (!(key in rows)) order[++keys] = key
      rows[key]++
      for (i = 1; i <= NF; i++) sum[key, i] += take[i] ? $i * (1 + NR % 13) : ($i == "" ? 0 : length($i) * (1 + NR % 13))
    }
    END {
      for (k = 1; k <= keys; k++) {
        printf "%s %d", order[k], rows[order[k]]
        for (i = 5; i <= columns; i++) printf " %.14g", sum[order[k], i]
        print ""
      }
    }' "$1" | tr -d '\r' | LC_ALL=C sort
}

# agree WANT GOT TOLERANCE WHAT: files of words, equal as texts or as numbers within the tolerance; one result per line
agree() {
  ok $(($(wc -l <"$1") != $(wc -l <"$2"))) "$4: $(wc -l <"$1" | tr -d ' ') lines"
  while IFS= read -r line; do
    awk -v t="$3" -v line="$line" 'BEGIN { split(line, p, "|"); n = split(p[1], w, " "); bad = n != split(p[2], g, " ")
      for (i = 1; i <= n; i++) if (w[i] != g[i]) { d = g[i] - w[i]; d = d < 0 ? -d : d; bad = bad || !(d <= t * (w[i] * w[i] > 1 ? (w[i] < 0 ? -w[i] : w[i]) : 1)) }
      exit bad }'
    ok $? "$4: ${line#*|}"
  done < <(paste -d '|' "$1" "$2")
}

"$ORRERY" calib run --backend synthetic --budget 300 --seed 3 -q -o "$work/p.csv"
sums "$work/p.csv" >"$work/got"
cat >"$work/want" <<'POINTS'
conv/forward/3x3 s1 40 0 5888876864256 24726517376 0 6250 61664 13483 13483 70032 924 0 0 601236.85514387 592234.71611858 611584.679516 9748 6.133084480624 2772 1232 51
copy/h2d-pinned/ 40 0 0 6301146624 6301146624 6301146624 0 0 0 0 0 0 0 13775.345330281 13645.191355544 13884.927894153 7842 4.3029708304139 2124 944 25
gemm//nn 180 0 17227987653598 57627161884 0 1583141 2487760 2967810 1280 0 0 0 0 1740613.9311899 1426811.5773382 1472468.0731268 39441 24.099187273674 11216 5120 196
launch/single/ 1 0 0 0 0 9 0 0 0 0 0 0 0 44.479021407871 44.251838875385 44.957519326234 108 0.12970426357906 81 36 0
memory/triad/ 49 0 9745752064 58474512384 0 4872876032 325 0 0 0 0 0 0 118379.35707734 117368.2443965 119328.39444349 11832 6.5845634205808 2925 1300 35
update/adam/ 48 0 18050121540 42116950260 0 1504176795 0 0 0 0 0 0 0 85945.026796997 85070.492792121 86558.359382896 11016 6.5347070832528 3069 1364 34
POINTS
agree "$work/want" "$work/got" 1e-10 points

"$ORRERY" calib fit "$work/p.csv" --device v100 --name pinned --date 2026-11-22 -o "$work/p.json" >"$work/out"
is "$?" 0 "the points have laws"
"$ORRERY" calib show "$work/p.json" | awk '/^copy|^gemm|^update|^memory|^conv|^launch/ { on = 1 } /^SHA/ { on = 0 } on' | tr -d '[],;' | sed 's/^ *//' >"$work/got"
cat >"$work/want" <<'LAWS'
copy h2d-pinned
line 34 points error 0.284 % (mean 0.321 %) held out 0.207 % (mean 0.235 %)
time0_us               4.9973  4.988 5.0067
rate_GBps              501.03  499.26 502.8
size                     1024 to 2.5e+08

gemm fp32 nn
roofline 136 points error 0.284 % (mean 0.366 %) held out 0.271 % (mean 0.256 %)
time0_us               4.9981  4.9872 5.0091
rate_GFLOPps            10010  9993.1 10027
rate_GBps              499.73  497.02 502.45
exponent               1.9908  1.9663 2.0156
FLOPs                   59840 to 4.2091e+11
bytes                   11952 to 6.5012e+08

update adam fp32
roofline 34 points error 0.302 % (mean 0.32 %) held out 0.349 % (mean 0.359 %)
time0_us               4.9947  4.9761 5.0134
rate_GFLOPps         left out
rate_GBps               499.4  498.3 500.5
exponent                    1  fixed
bytes                 2.8e+05 to 1.6e+09

memory triad fp32
roofline 34 points error 0.264 % (mean 0.322 %) held out 0.27 % (mean 0.321 %)
time0_us               4.9978  4.9828 5.0128
rate_GFLOPps         left out
rate_GBps              499.82  498.82 500.83
exponent                    1  fixed
bytes                   49152 to 3.6e+09

conv forward fp32 3x3 s1
roofline 34 points error 0.396 % (mean 0.425 %) held out 0.155 % (mean 0.216 %)
time0_us               5.0083  4.9526 5.0645
rate_GFLOPps           9992.9  9962.2 10024
rate_GBps              488.55  464.32 514.05
exponent               2.0715  1.9439 2.2074
FLOPs              1.5241e+07 to 3.6254e+11
bytes               3.817e+05 to 8.6063e+08

update adam fp32 cold
roofline 8 points error 0.439 % (mean 0.49 %) held out 0.667 % (mean 0.639 %)
time0_us               5.0147  4.9614 5.0686
rate_GFLOPps         left out
rate_GBps              500.76  492.02 509.65
exponent                    1  fixed
bytes              3.4952e+05 to 7.8009e+06

launch single
line 1 points error 7.06e-05 % (mean 7.06e-05 %) held out - % (mean - %)
time0_us               4.9421  fixed
rate_GBps            left out

gemm fp32 nn cold
roofline 10 points error 0.0397 % (mean 0.267 %) held out 0.37 % (mean 0.445 %)
time0_us               4.9869  4.9693 5.0046
rate_GFLOPps            10048  9910.3 10188
rate_GBps              512.29  496.02 529.11
exponent               1.8649  1.7074 2.0369
FLOPs              4.3424e+06 to 3.0199e+08
bytes              2.3251e+05 to 6.3419e+06

memory triad fp32 cold
roofline 9 points error 0.235 % (mean 0.32 %) held out 0.434 % (mean 0.438 %)
time0_us               5.0034  4.9698 5.0372
rate_GFLOPps         left out
rate_GBps              503.31  496.38 510.33
exponent                    1  fixed
bytes                   61440 to 6.4881e+06

gemm fp32 nn burst
roofline 10 points error 0.335 % (mean 0.391 %) held out 0.741 % (mean 1.5 %)
time0_us               4.3176  1.6476 11.315
rate_GFLOPps           9973.7  9884.6 10064
rate_GBps              481.19  386.96 598.37
exponent                2.023  1.3987 2.9258
FLOPs              2.6844e+08 to 4.2091e+11
bytes              1.0001e+07 to 6.5012e+08

gemm fp32
roofline 136 points error 0.284 % (mean 0.366 %) held out 0.271 % (mean 0.256 %)
time0_us               4.9981  4.9872 5.0091
rate_GFLOPps            10010  9993.1 10027
rate_GBps              499.73  497.02 502.45
exponent               1.9908  1.9663 2.0156
FLOPs                   59840 to 4.2091e+11
bytes                   11952 to 6.5012e+08

LAWS
agree "$work/want" "$work/got" 1e-4 laws
tap_done
