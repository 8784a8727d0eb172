#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Tests of flows on the command line: all policies, baselines, invalid files, dependencies of SWF, plugins, speed.
. "${srcdir:-.}/tests/tap.sh"
run() { "$ORRERY" jobs "$@" --check -q --no-figures 2>&1; }
metric() { awk -F, -v p="$2" -v m="$3" '$1 == p && $2 == m { print $3 }' "$1/summary.csv"; }

# ---- a flow of one operator is a job ----
printf 'job_id,submit_s,duration_s,gpus\n' >"$work/jobs.csv"
sep='{"flows":[' flows=
for i in 1 2 3 4 5 6 7 8; do
  gpus=$((i % 3 + 1)) work_s=$((i * 7 % 11 + 1)) submit=$((i * 2))
  printf 'job%d,%d,%d,%d\n' $i $submit $work_s $gpus >>"$work/jobs.csv"
  flows+="$sep{\"name\":\"job$i\",\"submit_s\":$submit,\"operators\":[{\"name\":\"work\",\"work_s\":$work_s,\"gpus\":$gpus}]}"
  sep=,
done
printf '%s]}' "$flows" >"$work/one.json"
for p in fifo srtf las easy-backfill conservative-backfill; do
  run "$work/jobs.csv" --cluster 1x4 --policy $p --out "$work/j"
  run "$work/one.json" --cluster 1x4 --policy $p --out "$work/f"
  cmp -s "$work/j/$p.jobs.csv" "$work/f/$p.jobs.csv" && cmp -s "$work/j/summary.csv" "$work/f/summary.csv"
  ok $? "$p: a flow of one operator gives the bytes of the job"
done

# ---- two types: 8 GPUs of twice the speed are faster than 10; 33 + 7 x 2 s of work take 47 / 16 s ----
for p in mdf branch-random; do
  run explore:f=7,prefix=33,branch=2 --cluster 2x5:slow:speed=1,1x8:fast:speed=2 --policy $p --out "$work/types"
  is "$(metric "$work/types" $p makespan)" 2.9375 "$p: the type that is fastest as a whole"
done

# ---- every policy runs a flow, with pruning and with each memory rule ----
flow=explore:f=5,f2=3,n=2,every=4,prefix=8,branch=3,branch2=2,stages=2,stop=satisfied,keep=2,gpus=2,prefix_bytes=3,branch_bytes=2
for p in $("$ORRERY" policy list --kind jobs | awk 'NR > 1 { print $1 }'); do
  case $p in gavel | spot-market | pollux | replay) continue ;; esac
  for m in amm lru touch-count none; do
    said=$(run $flow --cluster 2x2 --policy "$p" --memory $m --set jobs.memory_bytes=4 --out "$work/all")
    rc=$?
    is "$rc $said $(metric "$work/all" "$p" flows_completed)" "0  2" "$p runs flows with --memory $m"
  done
done

# ---- node failures; a cluster shared with replicas ----
run explore:f=8,f2=3,prefix=4000,branch=300,branch2=500,stages=2,gpus=2,n=4,every=600,prefix_bytes=8,branch_bytes=5 --cluster 4x2 \
  --policy mdf --memory lru --set jobs.memory_bytes=12 --set jobs.disk_Bps=1 --set failures.mtbf=3000s --set failures.mttr=200s --out "$work/n"
is "$(metric "$work/n" mdf flows_completed) $(metric "$work/n" mdf restarts | awk '{ print ($1 > 0) }')" "4 1" "stages that lose their node run again"
cat >"$work/mixed.json" <<'EOF2'
{ "world": "mixed", "cluster": "4x8:a100", "policies": ["mdf+vllm@both"], "seed": 1,
  "jobs": { "trace": "explore:f=6,prefix=40,branch=20,stages=2,gpus=4,n=2,every=60,prefix_bytes=8,branch_bytes=8", "memory": "amm",
            "jobs": { "memory_bytes": 16, "disk_Bps": 1 } },
  "serve": { "trace": "poisson:rate=5,n=500,prompt=azure-conv,output=azure-conv", "models": ["llama2-7b"],
             "deployments": [{ "tp": 1, "replicas": 2 }] } }
EOF2
"$ORRERY" run "$work/mixed.json" --check -q --no-figures --out "$work/x" 2>&1
is "$(metric "$work/x" both jobs.flows_completed) $(metric "$work/x" both serve.requests_completed | awk '{ print ($1 > 400) }')" "2 1" "flows and replicas share a cluster"

# ---- baselines: sequential and parallel jobs ----
f1=explore:f=10,prefix=20,branch=1
run $f1 --cluster 1x10 --policy mdf,branch-parallel,branch-random,branch-locality --out "$work/b"
for p in mdf branch-parallel branch-random branch-locality; do
  is "$(metric "$work/b" $p makespan)" 3 "$p: 30 GPU seconds on ten GPUs"
done
run $f1 --cluster 1x10 --policy mdf,branch-parallel --set jobs.unshared=true --out "$work/u"
is "$(metric "$work/u" mdf makespan) $(metric "$work/u" branch-parallel makespan)" "21 21" "unshared jobs take 210 GPU seconds, in turn or at once"
data=explore:f=4,prefix=20,branch=1,prefix_bytes=100,branch_bytes=10
run $data --cluster 1x4 --policy mdf,branch-parallel --set jobs.unshared=true --out "$work/u"
is "$(metric "$work/u" mdf memory_max) $(metric "$work/u" branch-parallel memory_max)" "120 440" "parallel jobs demand f times the memory"

# ---- jobs outside flows under the parallel baselines, by hand: all of these fit at once ----
printf 'submit_s,duration_s,gpus,gpu_milli\n0,100,1,250\n0,100,1,250\n0,100,1,500\n' >"$work/parts.csv"
printf 'submit_s,duration_s,gpus,cpus\n0,100,4,\n5,10,0,1\n' >"$work/wide.csv"
ends() { awk -F, 'NR > 1 { printf "%s%g", (NR > 2 ? " " : ""), $5 }' "$1"; }
for p in branch-parallel branch-locality; do
  run "$work/parts.csv" --cluster 1x1:v100 --policy $p --out "$work/p"
  is "$(ends "$work/p/$p.jobs.csv")" "100 100 100" "$p: parts of one GPU run side by side"
  run "$work/wide.csv" --cluster 1x1:k80,1x4:v100 --policy $p --out "$work/p"
  is "$(ends "$work/p/$p.jobs.csv")" "100 15" "$p: four GPUs of the second type; a job without GPUs while all of them are taken"
done
# Node 0 has the bytes of no input and one free GPU without free CPUs: the second job starts on node 1.
printf 'submit_s,duration_s,gpus,cpus\n0,100,1,8\n1,100,1,4\n' >"$work/cpus.csv"
run "$work/cpus.csv" --cluster 1x2:k80:cpus=8,1x2:v100:cpus=8 --policy branch-locality --out "$work/p"
is "$(ends "$work/p/branch-locality.jobs.csv")" "100 101" "branch-locality: a node with GPUs but without CPUs stops no job"

# ---- invalid flows: JSON path, accepted values, exit code 2 ----
bad() { # TEXT EXPECTED NAME
  printf '%s' "$1" >"$work/bad.json"
  said=$(run "$work/bad.json" --cluster 1x1 --policy fifo --format flow)
  like "$? $said" "^2 orrery: .*bad.json.*$2" "$3"
}
op='{"name":"p","work_s":1}' ex='{"name":"e","inputs":["p"],"explore":3}'
br='{"name":"b","inputs":["e"],"work_s":1,"score":{"law":"linear"}}' ch='{"name":"c","inputs":["b"],"choose":{}}'
bad '{"operators":[{"name":"a","inputs":["b"],"work_s":1},{"name":"b","inputs":["a"],"work_s":1}]}' '\$\.operators\[0\].*cycle.*expected' "a cycle"
bad '{"operators":[{"name":"a","inputs":["x"],"work_s":1}]}' '\$\.operators\[0\]\.inputs: expected the name.*found "x"' "an unknown input"
bad '{"operators":[{"name":"a","inputs":["a"],"work_s":1}]}' 'expected another operator' "its own input"
bad "{\"operators\":[$op,$ex,$br,$ch,{\"name\":\"c2\",\"inputs\":[\"b\"],\"choose\":{}}]}" '\$\.operators\[4\].*second choose.*expected one' "two chooses of one explore"
bad "{\"operators\":[$op,$ex,$br,{\"name\":\"c\",\"inputs\":[\"b\"],\"choose\":{\"keep\":0}}]}" 'choose\.keep: expected a number from 1' "keep 0"
bad '{"operators":[{"name":"a","work_s":1,"output_bytes":-1}]}' 'output_bytes: expected.*from 0.*found -1' "negative bytes"
bad '{"operators":[{"name":"a","work_s":-1}]}' 'work_s: expected.*from 0' "negative work"
bad '{"operators":[{"name":"a","work_s":1e400}]}' 'work_s: expected' "an infinite work"
bad '{"operators":[{"name":"a"}]}' 'work_s: expected the work' "no work"
bad '{"operators":[{"work_s":1}]}' 'name: expected the name' "no name"
bad "{\"operators\":[$op,$op]}" 'name: expected a name that no other' "a name twice"
bad '{"operators":[]}' 'operators.*empty' "no operator"
bad '{"operators":3}' 'operators: expected a list' "operators that are no list"
bad '{"flows":[]}' 'flows: expected a list' "no flow"
bad '{"operators":[{"name":"a","work":1}]}' 'unknown key "work".*work_s' "an unknown key, with the nearest"
bad "{\"operators\":[$op,$ex,$br]}" 'explore without a choose' "an explore without a choose"
bad "{\"operators\":[$op,{\"name\":\"c\",\"inputs\":[\"p\"],\"choose\":{}}]}" 'reads no branch' "a choose without an explore"
bad "{\"operators\":[$op,$ex,{\"name\":\"b\",\"inputs\":[\"e\"],\"work_s\":1},$ch]}" 'without a score' "a choose by no score"
bad "{\"operators\":[$op,$ex,$br,{\"name\":\"c\",\"inputs\":[\"b\"],\"choose\":{\"stop\":\"improving\"}}]}" 'choose\.order: expected monotone or convex' "stop improving without an order"
bad "{\"operators\":[$op,$ex,{\"name\":\"b\",\"inputs\":[\"e\"],\"work_s\":[1,2],\"score\":{\"law\":\"linear\"}},$ch]}" 'work_s that fits no explore' "a list of the wrong length"
bad "{\"operators\":[$op,$ex,$br,$ch,{\"name\":\"f\",\"inputs\":[\"p\"],\"explore\":2},{\"name\":\"x\",\"inputs\":[\"f\",\"b\"],\"work_s\":1}]}" 'branches of two explores' "inputs in two explores"
bad "{\"operators\":[$op,$ex,$br,{\"name\":\"side\",\"inputs\":[\"e\"],\"work_s\":1},$ch]}" 'has no reader in' "an operator of a branch that nothing reads"
bad '{"operators":[' '1: .*valid JSON' "half a file"
bad '{"operators":[{"name":"a","work_s":1}]} x' '1: .*valid JSON' "text after the flow"
bad '' 'expected' "an empty file"
deep='{"operators":[{"name":"p","work_s":1}' at=p
for i in $(seq 1 13); do deep+=",{\"name\":\"e$i\",\"inputs\":[\"$at\"],\"explore\":10}" at=e$i; done
deep+=",{\"name\":\"b\",\"inputs\":[\"$at\"],\"work_s\":1,\"score\":{\"law\":\"linear\"}}" at=b
for i in $(seq 1 13); do deep+=",{\"name\":\"c$i\",\"inputs\":[\"$at\"],\"choose\":{}}" at=c$i; done
bad "$deep]}" 'too many branches.*at most 1e12' "1e13 branches"
printf '{"operators":[%s,%s,%s,%s]}' "$op" "$ex" "${br%\}},\"output_bytes\":5}" "$ch" >"$work/m.json"
said=$(run "$work/m.json" --cluster 1x1 --policy fifo --memory lru)
like "$? $said" '^2 .*is unknown: expected mem=GIB' "a memory rule without a memory"

# ---- SWF: preceding job and think time ----
swf() { printf '%d %d -1 %d 1 -1 -1 1 -1 -1 1 1 -1 -1 -1 -1 %d %d\n' "$@"; }
{ swf 1 0 10 -1 -1; swf 2 5 10 1 7; swf 3 6 1 -1 -1; swf 4 50 2 2 -1; swf 5 60 1 99 3; } >"$work/t.swf"
run "$work/t.swf" --cluster 1x4 --policy fifo --set jobs.dependencies=on --out "$work/d"
is "$(cut -d, -f1,3,4,5 "$work/d/fifo.jobs.csv" | tail -n +2 | sed 's/\.000000000//g' | tr '\n' ' ')" \
  "1,0,0,10 2,17,17,27 3,6,6,7 4,27,27,29 5,60,60,61 " "a job is submitted at the end of its preceding job plus the think time"
run "$work/t.swf" --cluster 1x4 --policy fifo --out "$work/d"
is "$(cut -d, -f1,3 "$work/d/fifo.jobs.csv" | tail -n +2 | sed 's/\.000000000//g' | tr '\n' ' ')" "1,0 2,5 3,6 4,50 5,60 " "without the option, as recorded"
{ swf 1 0 10 2 0; swf 2 5 10 -1 -1; } >"$work/t.swf"
said=$(run "$work/t.swf" --cluster 1x4 --policy fifo --set jobs.dependencies=on)
like "$? $said" '^2 orrery: .*t.swf:1: preceding job 2: expected the number of an earlier job' "a later preceding job"

# ---- halving, ASHA and a plugin: scores 1 to 8 in two rungs, computed by hand ----
rungs='{"operators":[{"name":"e","explore":8},{"name":"r1","inputs":["e"],"work_s":1,"score":{"values":[3,8,1,6,2,7,4,5]}},
  {"name":"r2","inputs":["r1"],"work_s":2,"score":{"values":[3,6,1,8,2,7,4,5]}},{"name":"r3","inputs":["r2"],"work_s":4,"score":{"values":[1,2,3,4,5,6,7,8]}},
  {"name":"c","inputs":["r3"],"choose":{"keep":1}}]}'
printf '%s' "$rungs" >"$work/r.json"
run "$work/r.json" --cluster 1x1 --policy successive-halving,asha --out "$work/r"
# Expected under halving, by hand. Rung 1 has 8 stages of 1 s; branches 1, 3, 5 and 7 continue. Rung 2 has 4 stages
# of 2 s with scores 6, 8, 7 and 5; branches 3 and 5 continue with 2 stages of 4 s. Branch 5 is kept.
is "$(metric "$work/r" successive-halving makespan) $(metric "$work/r" successive-halving score_kept) $(metric "$work/r" successive-halving regret)" \
  "24 6 2" "successive halving: 8, 4 and 2 branches"
# Expected under ASHA: branches 1 and 3 are promoted after rung 1, and 3 after rung 2. Branch 5 follows, and 7 after
# the eighth score. Branch 5, among the best two of four in rung 2, is promoted again.
is "$(metric "$work/r" asha makespan) $(metric "$work/r" asha branches_run) $(metric "$work/r" asha score_kept)" "24 2 6" \
  "asha: promotions as scores come in"
: "${CC:=cc}"
if command -v "${CC%% *}" >/dev/null; then
  include=$(cd "$srcdir" && pwd)/include
  plugin() { $CC -std=c11 -Wall -Wextra -Werror -O1 -shared -fPIC -I"$include" "${@:2}" -o "$work/$1.so" "$srcdir/tests/plugins/flow_policy.c"; }
  plugin below && plugin early -DEARLY && plugin nowhere -DNOWHERE
  ok $? "a policy for flows is one C file"
  run "$work/r.json" --cluster 1x1 --policy "$work/below.so" --out "$work/r"
  # The plugin runs rung 1 in the order 3, 8, 1, 6, 2, 7, 4, 5, interleaved with later rungs. It prunes a branch
  # whose score is below the mean of the scores so far.
  ok "$(awk -v a="$(metric "$work/r" below-mean branches_run)" 'BEGIN { print((a > 0 && a < 8) ? 0 : 1) }')" "a plugin prunes branches"
  said=$(run "$work/r.json" --cluster 1x1 --policy "$work/early.so")
  like "$? $said" '^1 orrery: policy below-mean: job 0 at 0.*: the policy reads a score before the stage has ended: expected' "a score is refused before it is there"
  said=$(run "$f1" --cluster 1x1 --policy "$work/nowhere.so")
  like "$? $said" '^1 orrery: policy below-mean: .*prunes a branch of a job that has ended or has no branch' "a stage outside explores has no branch to prune"
else
  skip "no C compiler ($CC)" 4
fi

# ---- speed: 90,301 stages; the work per stage must not grow with their number ----
many() { # BRANCHES: processor time in seconds of a flow of BRANCHES^2 stages
  { TIMEFORMAT='seconds %U %S'; time run "explore:f=$1,f2=$1,prefix=20,branch=1,prefix_bytes=1e9,branch_bytes=1e8" --cluster 1x8 --policy mdf \
    --memory amm --set jobs.memory_bytes=1.15e9 --set jobs.disk_Bps=1e9 --out "$work/s"; } 2>&1 | awk '$1 == "seconds" { print $2 + $3 }'
}
few=$(many 100) all=$(many 300)
is "$(metric "$work/s" mdf stages_run)" 90301 "f1 = f2 = 300: all stages run"
ok "$(awk -v a="$few" -v b="$all" 'BEGIN { print b < 27 * a ? 0 : 1 }')" "nine times the stages take $(awk -v a="$few" -v b="$all" 'BEGIN { printf "%.1f", b / a }') times as long under amm, below 27"
tap_done
