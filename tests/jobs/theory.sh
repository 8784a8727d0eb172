#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Queues with known results: mean wait, mean queue length and utilisation are inside the reported 99 % interval, which must be
# narrow. The memory of a streamed trace does not grow with its length.
#
# Mean wait Wq: rho / (mu - lambda) for M/M/1; half of this for M/D/1 (Pollaczek-Khinchine); C / (c mu - lambda) for
# M/M/c, with Erlang's C. Mean queue length: lambda Wq (Little). Utilisation: rho. (Kleinrock, Queueing Systems I, 3.2,
# 3.5, 5.6.) All queues have rho = 0.5 and a mean service of 1 s.
. "${srcdir:-.}/tests/tap.sh"

# The waits of M/M/4 vary more from job to job, so a precision of 2.5 % requires more jobs.
if [ -n "${ORR_SANITIZED:-}" ]; then
  precision=0.07 sizes='400000 1000000 200000'
else
  precision=0.025 sizes='3000000 15000000 2000000'
fi
read -r n_mm1 n_mm4 n_md1 <<<"$sizes"

erlang_wait=$(awk 'BEGIN { # c servers, a = lambda / mu
  c = 4; a = 2; term = 1
  for (k = 0; k < c; k++) { sum += term; term *= a / (k + 1) }
  last = term * c / (c - a)
  printf "%.15f", last / (sum + last) / (c - a) }')
# The reference value of Erlang's C is C(4, 2) = 4/23 (Kleinrock, figure 3.10).
is "$(awk -v w="$erlang_wait" 'BEGIN { printf "%.12f", w * 2 - 4 / 23 }' | tr -d -)" 0.000000000000 "Erlang's C(4, 2) is 4/23"

# inside METRIC WANT: returns whether WANT is in the interval of the metric
inside() {
  awk -F, -v m="$1" -v want="$2" '$2 == m { print "# " m ": " $3 " in [" $4 ", " $5 "], theory " want
    good = $4 <= want && want <= $5 } END { exit !good }' "$work/out/summary.csv"
}

while read -r name cluster rate n service wait; do
  rss=$("$top_builddir/tests/peak_rss" "$ORRERY" jobs "poisson:rate=$rate,n=$n,service=$service,mean=1" --cluster "$cluster" \
    --policy fifo --set jobs.ci_level=0.99 --set jobs.warmup=0.05 --seed 1 --record summary --no-figures --out "$work/out" -q)
  ok $? "$name: runs"
  inside wait_mean "$wait"
  ok $? "$name: the theoretical mean wait is inside the interval"
  awk -F, -v p="$precision" '$2 == "wait_mean" { half = ($5 - $4) / 2 / $3; print "# half-width " half * 100 " %" }
    END { exit !(half > 0 && half <= p) }' "$work/out/summary.csv"
  ok $? "$name: the interval is within $precision of it"
  inside queue_length_mean "$(awk -v l="$rate" -v w="$wait" 'BEGIN { print l * w }')"
  ok $? "$name: the mean queue length follows Little's law"
  # Sanitized runs are shorter, so the utilisation sometimes fails the tests for an interval.
  if [ -n "${ORR_SANITIZED:-}" ] && grep -q ',utilisation,[^,]*,,$' "$work/out/summary.csv"; then
    awk -F, '$2 == "utilisation" { exit !($3 > 0.495 && $3 < 0.505) }' "$work/out/summary.csv"
  else
    inside utilisation 0.5
  fi
  ok $? "$name: busy half the time"
  echo "# peak of $rss KiB"
  peaks="${peaks:-} $rss"
done <<EOT
M/M/1 1x1 0.5 $n_mm1 exp 1
M/M/4 4x1 2 $n_mm4 exp $erlang_wait
M/D/1 1x1 0.5 $n_md1 det 0.5
EOT

if [ -n "${ORR_SANITIZED:-}" ]; then
  skip "peak memory is meaningless under sanitizers"
else
  # Memory is compared for runs with histograms. Values are exact up to a million; all three runs have more.
  # shellcheck disable=SC2086
  printf '%s\n' $peaks | awk 'NR == 1 || $1 < low { low = $1 } $1 > high { high = $1 } END { exit !(NR == 3 && high < 1.1 * low) }'
  ok $? "15 million jobs need no more memory than 2 million"
fi
tap_done
