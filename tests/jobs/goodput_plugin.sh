#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A goodput policy as a plugin in C, in fewer than 150 lines, and its twin in Python: both run jobs that adapt, with the same times.
. "${srcdir:-.}/tests/tap.sh"
not_sanitized "the interpreter is not sanitized"
: "${CC:=cc}"
orrery=$(realpath "$ORRERY")
plugins=$(realpath "$srcdir/tests/plugins")
include=$(realpath "$srcdir/include")
cd "$work" || exit 1
header=application,init_batch_size,max_batch_size,min_local_bsz,max_local_bsz,alpha_c,beta_c,alpha_n,beta_n,alpha_r,beta_r,gamma
printf '%s\n' $header net,100,1600,10,100,0.5,0.005,0.15,0,0.05,0,1 >apps.csv
printf 'application,batch_size,epoch,grad_sqr,grad_var,progress\n' >noise.csv
for b in 100 1600; do printf '%s\n' net,$b,0,1,100,500 net,$b,1,1,100,3000; done >>noise.csv
{
  printf 'name,time,application,num_replicas,batch_size\n'
  for i in 0 1 2 3 4 5 6 7; do printf 'j%s,%s,net,%s,100\n' $i $((i * 97)) $((i % 3 + 1)); done
} >jobs.csv
run() {
  { "$orrery" jobs jobs.csv --cluster 3x4 --applications apps.csv --noise noise.csv --set jobs.start_cost=30s --policy "$1" --check --no-figures -q --out out >/dev/null; } 2>&1
  cut -d, -f 2- "out/$2.jobs.csv"
}
is "$(awk 'END { print NR < 150 }' "$plugins/greedy_goodput.c")" 1 "the plugin in C has fewer than 150 lines"
if ! command -v "${CC%% *}" >/dev/null; then
  skip "no C compiler ($CC)"
  tap_done
  exit
fi
$CC -std=c11 -Wall -Wextra -Werror -O1 -shared -fPIC -I"$include" -o greedy.so "$plugins/greedy_goodput.c"
ok $? "it compiles as a user would compile it"
in_c=$(run ./greedy.so greedy-goodput)
is "$(awk -F, 'NR > 1 && $4 > 0 { n++ } END { print n }' <<<"$in_c")" 8 "every job ends"
is "$(awk -F, 'NR > 1 { s += $5 } END { print s }' <<<"$in_c" | awk -v fifo="$(run fifo fifo | awk -F, 'NR > 1 { s += $5 } END { print s }')" '{ print $1 < fifo }')" 1 \
  "the mean JCT is below that of fifo"
if ! "$orrery" doctor | grep -q '^ok  *libpython3 '; then
  skip "no libpython3 on this machine, or a build without Python"
else
  cp "$plugins/greedy_goodput.py" .
  is "$(run ./greedy_goodput.py py-greedy-goodput)" "$in_c" "the twin in Python: the same jobs"
fi
tap_done
