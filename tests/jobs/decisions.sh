#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# --decisions: the decisions of each policy of the jobs world, replayed by the policy replay, give the same jobs.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
cd "$work" || exit 1
# Jobs with users, iterations and limits, on two nodes; one job has no length.
{
  echo submit_s,duration_s,gpus,user,iterations,limit_s
  awk 'BEGIN { srand(7); for (i = 0; i < 40; i++) { d = i == 9 ? 0 : int(60 + 3000 * rand()); printf "%d,%d,%d,u%d,%d,%d\n", t += int(150 * rand()), d, 2 ^ int(3 * rand()), i % 3, d * 2 + 1, d + 100 } }'
} >trace.csv
rows() { cut -d, -f "1-7,9" "out/$1.jobs.csv" | sed 's/killed/killed/'; }
same=0 policies=0
for p in $("$orrery" policy list --kind jobs | awk '/^  [a-z]/ { print $1 }'); do
  case $p in
  replay | pollux | mdf | branch-* | *halving | asha | spot-market) continue ;; # jobs that adapt: below; flows; lent nodes
  esac
  policies=$((policies + 1))
  "$orrery" jobs trace.csv --cluster 2x4 --policy "$p" --set jobs.start_cost=7s --decisions "$p.csv" --no-figures -q --out out >/dev/null 2>err || cat err
  "$orrery" jobs trace.csv --cluster 2x4 --policy replay --set "policy.replay.decisions=$p.csv" --set jobs.start_cost=7s --check --no-figures -q \
    --out out >/dev/null 2>err || cat err
  if cmp -s <(rows "$p") <(rows replay); then same=$((same + 1)); else echo "# $p differs: $(diff <(rows "$p") <(rows replay) | head -n 3)"; fi
done
ok $((policies < 18)) "$policies policies take part"
is "$same" "$policies" "every job of every policy is the same under its replayed decisions"
like "$(head -n 2 fifo.csv | tr '\n' ';')" '^time_s,job,nodes,cost_s;[0-9.]+,#0,0[0-9 ]*,;$' "rows: time, number of the job, a node for each GPU, added work"
"$orrery" jobs trace.csv --cluster 2x4 --policy fifo --decisions two.csv --no-figures -q >/dev/null
is "$(md5sum <two.csv)" "$("$orrery" jobs trace.csv --cluster 2x4 --policy fifo --decisions /dev/stdout --no-figures -q | grep '^[t0-9][^ ]*,' | md5sum)" "the same bytes again"
refused() { "$orrery" jobs trace.csv --cluster 2x4 "$@" --decisions d.csv 2>&1 >/dev/null | tail -n 1; }
is "$(refused --policy fifo,srtf)" "orrery: --decisions: expected one policy and one replication" "two policies are refused"
like "$(refused --policy fifo --set failures.mtbf=1d)" "--decisions: expected a run without failures" "failures are refused"
printf 'submit_s,duration_s,gpus\n0,100,0\n0,50,2\n' >cpu.csv
"$orrery" jobs cpu.csv --cluster 1x4 --policy fifo --decisions cpu.out --no-figures -q --out out >/dev/null
"$orrery" jobs cpu.csv --cluster 1x4 --policy replay --set policy.replay.decisions=cpu.out --check --no-figures -q --out out >/dev/null 2>err || cat err
is "$(rows replay)" "$(rows fifo)" "jobs without GPUs are replayed"
printf 'submit_s,duration_s,gpus,gpu_milli\n0,50,1,500\n' >part.csv
like "$("$orrery" jobs part.csv --cluster 1x4 --policy fifo --decisions part.out -q 2>&1)" "--decisions: expected jobs that request whole GPUs" "jobs on parts of GPUs are refused"
printf 'time_s,job,nodes,cost_s\n1,#0,0,x\n' >bad.csv
like "$("$orrery" jobs trace.csv --cluster 2x4 --policy replay --set policy.replay.decisions=bad.csv 2>&1)" 'bad.csv:2: cost_s: expected a number of seconds from 0, found "x"' "a wrong cost"
# Rows name jobs by name or by #NUMBER; a row that starts a job which was not submitted is an error.
printf 'job_id,submit_s,duration_s,gpus\nx,0,10,1\ny,5,10,1\n' >named.csv
replay() {
  printf "time_s,job,nodes\n$1" >r.csv
  "$orrery" jobs named.csv --cluster 2x1 --policy replay --set policy.replay.decisions=r.csv --check --no-figures -q --out out 2>&1 >/dev/null | tail -n 1
  awk -F, 'NR > 1 { printf "%g ", $5 }' out/replay.jobs.csv
}
is "$(replay '0,x,0\n5,y,1\n')" "10 15 " "jobs by name"
is "$(replay '0,#0,0\n5,#1,1\n')" "10 15 " "jobs by number"
is "$(replay '0,x,0\n5,#1,0\n5,x,1\n')" "10 15 " "both; a job moves"
like "$(replay '0,x,0\n5,z,1\n')" 'decisions:3: job z: not submitted: expected a job of the trace, by its name or #NUMBER' "a job that is not in the trace"
like "$(replay '0,x,0\n1,y,1\n')" 'decisions:3: job y: not submitted: ' "a job before its submission"
is "$(replay '0,x,0\n5,y,1\n20,x,\n20,y,0\n')" "10 15 " "rows of jobs that have ended are skipped"
tap_done
