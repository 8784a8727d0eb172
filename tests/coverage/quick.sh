# Coverage of intervals of single runs and of ten replications, with few seeds. Single runs of the demo in README.md have no intervals.
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
. "${srcdir:-.}/tests/tap.sh"

seeds=24 workloads="table-gamma llm-2 tiresias-failures mm1-0.9 spot-churn"
if [ -n "${ORR_SANITIZED:-}" ]; then
  seeds=20 workloads="table-gamma llm-2"
fi

# ---- a small part of make coverage ----
# shellcheck disable=SC2086
ORRERY=$ORRERY bash "$srcdir/tests/coverage/coverage.sh" "$work/values" "$seeds" $workloads
is "$? $(find "$work/values" -name '*.csv' | wc -l)" "0 $(wc -w <<<"$workloads")" "the workloads run"
cat "$work"/values/*.csv | "$top_builddir/tests/coverage/coverage" --check >"$work/table"
ok $? "90 to 99.5 % of the intervals contain the mean, and none has a negative end"
sed 's/^/# /' "$work/table"
awk -F, -v OFS=, '$6 != "" { $6 = $5 + ($6 - $5) / 3; $7 = $5 + ($7 - $5) / 3 } { print }' "$work"/values/*.csv |
  "$top_builddir/tests/coverage/coverage" --check >"$work/table"
is "$?" 1 "the check fails with intervals of a third of their length"
awk -F, -v OFS=, '$6 != "" { $6 = -1 } { print }' "$work/values/table-gamma.csv" | "$top_builddir/tests/coverage/coverage" --check >"$work/table"
is "$? $(grep -c 'have a negative end' "$work/table" | sed 's/[1-9].*/some/')" "1 some" "negative ends of quantities that are never negative are found"

# ---- the demo ----
demo=$(sed -n 's/^orrery jobs \(philly-like:[^ ]* .*--policy [^ ]*\) .*/\1/p' "$srcdir/README.md" | head -1)
like "$demo" '^philly-like:.* --policy fifo,srtf,las$' "README.md has the demo"
for seed in 1 2 3; do
  # shellcheck disable=SC2086
  "$ORRERY" jobs $demo --seed "$seed" --record summary --no-figures --out "$work/demo" >"$work/said"
  is "$? $(awk -F, 'NR > 1 && $4 $5 != "" { print $1, $2 }' "$work/demo/summary.csv")" "0 " "seed $seed: a single run of the demo has no interval"
done
like "$(cat "$work/said")" 'no interval if .*--replications 10 gives intervals' "a remark names the option that gives intervals"
tap_done
