# Generators agree with published statistics, or with those to which they were fitted.
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
. "$srcdir/tests/tap.sh"

info() { "$ORRERY" trace info "$@" >"$work/info"; }
fact() { awk -v k="$1 " 'index($0, k) == 1 { s = substr($0, length(k)); sub(/^ +/, "", s); print s; exit }' "$work/info"; }
# column NAME i: prints the i-th number of a distribution (1 n, 2 mean, 4 min, 5 p25, 6 p50, 7 p75, 8 p90, 9 p95, 10 p99,
# 11 max)
column() { awk -v k="$1 " -v i="$2" 'index($0, k) == 1 { split(substr($0, length(k)), v, " "); print v[i]; exit }' "$work/info"; }
count() { awk -v k="$1:" -v key="$2" 'index($0, k) == 1 { on = 1; next } on && NF == 0 { exit } on && $1 == key { print $2 }' "$work/info"; }
# close_to GOT WANT TOLERANCE WHAT: passes if the relative difference is within the tolerance
close_to() {
  awk -v g="$1" -v w="$2" -v t="$3" 'BEGIN { d = g - w; if (d < 0) d = -d; exit !(d <= t * w) }'
  ok $? "$4: $1, published $2, within $(awk -v t="$3" 'BEGIN { print t * 100 }') %"
}

# philly-like is compared with the README of the job list, with the same number of jobs.
info philly-like:days=0,n=82247 --seed 11
for q in 5:115:10 6:1144:10 7:2932:10 8:11264.8:15 9:43646.2:15; do
  IFS=: read -r i want tolerance <<<"$q"
  close_to "$(column "duration s" "$i")" "$want" "0.$tolerance" "philly-like, duration, column $i"
done
close_to "$(column "duration s" 10)" 254758.4 0.20 "philly-like, duration p99"
close_to "$(column "duration s" 2)" 13135.9 0.15 "philly-like, mean duration"
close_to "$(column gpus 2)" 1.304 0.05 "philly-like, mean GPUs"
close_to "$(column "gpu_time s" 2)" 42811.1 0.20 "philly-like, mean GPU time"
close_to "$(column "interarrival s" 2)" 114.4 0.20 "philly-like, mean gap (one gap in 10,000 is half a day)"
is "$(column "interarrival s" 5) $(column "interarrival s" 6)" "3 8" "philly-like, gaps: p25 and p50"
close_to "$(column "interarrival s" 8)" 361 0.10 "philly-like, gap p90"
is "$(column "interarrival s" 9) $(column "interarrival s" 10)" "599 601" "philly-like, gaps: cron-like repeats at p95 and p99"
for g in 1:76627:0.01 2:1818:0.15 4:1870:0.15 8:1643:0.15 16:199:0.35; do
  IFS=: read -r key want tolerance <<<"$g"
  close_to "$(count "GPUs of a job" "$key")" "$want" "$tolerance" "philly-like, jobs of $key GPUs"
done
for v in 6214e9:41226:0.05 11cb48:16091:0.08 6c71a0:9953:0.08 b436b2:7423:0.1; do
  IFS=: read -r key want tolerance <<<"$v"
  close_to "$(count queue "$key")" "$want" "$tolerance" "philly-like, virtual cluster $key"
done
info philly-like
ok "$(awk -v d="$(fact "span days")" 'BEGIN { exit !(d > 29 && d <= 30) }'; echo $?)" "philly-like is a month by default"

# openb-like is compared with the README of the pod list.
info openb-like:n=81520,types=0.338 --seed 5
close_to "$(column "duration s" 6)" 485 0.10 "openb-like, median run (trace info of the list)"
close_to "$(column "duration s" 8)" 6517.2 0.25 "openb-like, run p90"
close_to "$(column "interarrival s" 6)" 161 0.05 "openb-like, median gap"
close_to "$(column "interarrival s" 8)" 948 0.05 "openb-like, gap p90"
close_to "$(fact "share of one GPU")" 30780 0.03 "openb-like, pods that share a GPU (x 10)"
close_to "$(fact "no GPU")" 10880 0.05 "openb-like, pods without a GPU (x 10)"
close_to "$(fact "GPU types named")" 23880 0.03 "openb-like, pods with GPU types (x 10)"
close_to "$(fact "GPUs requested, all jobs")" 60868 0.03 "openb-like, GPUs asked for (x 10)"
close_to "$(column cpu_milli 2)" 10480.4 0.10 "openb-like, mean CPUs"
close_to "$(column mem_mib 2)" 37235.8 0.10 "openb-like, mean memory"
close_to "$(count queue LS)" 46470 0.03 "openb-like, LS pods (x 10)"

# lublin is compared with statistics that follow from its published parameters.
info lublin:n=100000 --seed 2
close_to "$(count "GPUs of a job" 1)" 24400 0.03 "lublin, serial jobs: 0.244"
"$ORRERY" trace synth lublin:n=100000 --seed 2 >"$work/l.csv"
# At least 0.244 + 0.576 of the sizes are powers of two; some of the other sizes are powers of two by chance.
power=$(awk -F, 'NR > 1 { n = $4; while (n % 2 == 0) n /= 2; p += n == 1 } END { print p / (NR - 1) }' "$work/l.csv")
ok "$(awk -v p="$power" 'BEGIN { exit !(p > 0.81 && p < 0.90) }'; echo $?)" "lublin, powers of two: $power, published at least 0.82 (0.01 of noise)"
# Serial jobs have p = 0.7746 and the mean ln(run) = p x 4.2 x 0.94 + (1-p) x 312 x 0.03 = 5.168. The upper bound of
# 12 has little effect.
ln=$(awk -F, 'NR > 1 && $4 == 1 && $3 > 0 { s += log($3); n++ } END { print s / n }' "$work/l.csv")
close_to "$ln" 5.168 0.03 "lublin, mean ln(run time) of serial jobs"
# Jobs of 128 processors have p = 0.0888 and the mean ln(run) = 0.0888 x 3.948 + 0.9112 x 9.36 = 8.88.
ln=$(awk -F, 'NR > 1 && $4 == 128 && $3 > 0 { s += log($3); n++ } END { print s / n }' "$work/l.csv")
close_to "$ln" 8.88 0.03 "lublin, mean ln(run time) of jobs of 128 processors"
# The gamma density over the day has its mode at (8.1737 - 1) x 3.9631 = 28.4 half-hours after 5:30.
hours=$(awk -F, 'NR > 1 { h[int($2 % 86400 / 3600)]++ } END { for (i = 0; i < 24; i++) print h[i] + 0 }' "$work/l.csv" | tr '\n' ' ')
busiest=$(echo "$hours" | tr ' ' '\n' | awk 'NF && $1 > m { m = $1; b = NR - 1 } END { print b }')
ok "$([ "$busiest" -ge 17 ] && [ "$busiest" -le 21 ]; echo $?)" "lublin, busiest hour of the day $busiest: near 19:40"

# tiresias-like has the documented shares, a median of e^6.8 = 898 s and a mean gap of 120 s.
info tiresias-like:n=100000 --seed 4
close_to "$(column "duration s" 6)" 898 0.03 "tiresias-like, median duration"
close_to "$(column "interarrival s" 2)" 120 0.02 "tiresias-like, mean gap"
for g in 1:55000 2:12000 4:15000 8:14000 16:4000; do
  close_to "$(count "GPUs of a job" "${g%:*}")" "${g#*:}" 0.06 "tiresias-like, jobs of ${g%:*} GPUs"
done
is "$(column "duration s" 4) $(column "duration s" 11)" "30 200000" "tiresias-like, durations are clamped"

# Equal seeds give equal bytes.
for m in philly-like:n=500 openb-like:n=500 lublin:n=500 tiresias-like:n=500 poisson:n=500 mmpp:n=500; do
  a=$("$ORRERY" trace synth "$m" --seed 9 | cksum) b=$("$ORRERY" trace synth "$m" --seed 9 | cksum) c=$("$ORRERY" trace synth "$m" --seed 10 | cksum)
  is "$a" "$b" "$m repeats"
  ok "$([ "$a" != "$c" ]; echo $?)" "$m depends on the seed"
done
tap_done
