#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Plugins have separate processes in every command: plans, mixed scenarios, timelines, exports and searches for rates
# and fleets. The results are those of --in-process; a harm is one error, and the results of the other policies remain.
. "${srcdir:-.}/tests/tap.sh"
not_sanitized "a sanitizer handles the signals of the plugins itself"
: "${CC:=cc}"
command -v "${CC%% *}" >/dev/null || { skip "no C compiler ($CC)"; tap_done; exit; }
orrery=$(realpath "$ORRERY")
tree=$(cd "$srcdir" && pwd)
cd "$work" || exit 1
ulimit -c 0
export LC_ALL=C
# plugin KIND FUNCTION [OPTIONS]: a template whose function does harm as $HARM says
plugin() {
  local kind=$1 function=$2
  shift 2
  "$orrery" policy new "my-$kind" --kind "$kind" >/dev/null
  awk -v f="$function" '$0 ~ "^static [a-z]+ \\**" f "\\(" { inside = 1 } { print } inside && /^\{/ { print "\tharm();"; inside = 0 }' "my-$kind.c" >h.c
  $CC -std=gnu11 -O1 -w -shared -fPIC "-I$tree/include" "-I$tree/tests/plugins" -include harm.h -o "$kind.so" h.c
  ok $? "the $kind policy compiles"
}
plugin plan search
plugin step build
plugin serve schedule
plugin jobs schedule
echo '{"name": "table", "source": "made up", "kind": "table", "batch": [1, 2], "latency_ms": [20, 25]}' >table.json
printf 'job_id,submit_s,duration_s,gpus\nalpha,0,10,2\nbeta,1,10,2\ngamma,2,10,2\n' >t.csv
run() { # HOW COMMAND..
  HARM=$1 timeout 60 "$orrery" "${@:2}" --policy-timeout 1 2>said
}
# same NAME COMMAND..: the same output in a separate process and here, apart from times
same() {
  local name=$1
  shift
  run '' "$@" >own
  is "$? $(grep -v 'drop\|reused' said)" "0 " "$name: no error"
  run '' "$@" --in-process >here
  is "$(grep -v wall_s own | cksum)" "$(grep -v wall_s here | cksum)" "$name: the results of --in-process"
}
# harms NAME CALL PATTERN COMMAND..: each harm is one error; the output has the pattern, of the other policy
harms() {
  local name=$1 call=$2 pattern=$3 how cause
  shift 3
  while IFS='|' read -r how cause; do
    run "$how" "$@" >shown
    like "$? $(cat said)" "^1 orrery: (.*: )?policy [^ ]*(my-|[.]so)[^ ]*: .*$cause" "$name, $how: one error"
    is "$(wc -l <said) $(grep -c -- "$pattern" shown | sed 's/[1-9][0-9]*/some/')" '1 some' "$name, $how: the other policy has its results"
  done <<EOT
exit0|in $call\(\), the process of the policy ended with status 0
segv|in $call\(\), the process of the policy was ended by signal 11
spin|$call\(\) has not returned for 1 s
stdout|wrote to standard output
EOT
}

# ---- plan ----
plan=(plan vgg16 --cluster 2x2:v100 --global-batch 64 --policy straight,./plan.so --json -q)
same plan "${plan[@]}"
harms plan search '"policy":\s*"straight"' "${plan[@]}"
# A plan of a plugin is stopped by a signal to orrery alone, and by one to its process group as by Ctrl-C.
cat >slow.c <<'C'
#include <orrery/plan.h>
#include <time.h>
static const struct orr_param params[] = { ORR_PARAM_END };
static int search(struct orr_plan *p, const struct orr_args *args, struct orr_error *err)
{
	struct orr_plan_facts f;
	struct orr_plan_value value;
	(void)args, (void)err;
	orr_plan_facts(p, &f);
	uint32_t *gpu = orr_alloc(f.gpus, sizeof *gpu);
	for (uint32_t g = 0; g < f.gpus; g++)
		gpu[g] = g;
	struct orr_plan_stage all = { .count = f.pieces, .gpu = gpu, .n_gpus = f.gpus };
	struct orr_plan_draft plan = { .stages = 1, .stage = &all, .micro_batch = f.global_batch };
	orr_plan_evaluate(p, &plan, &value);
	while (orr_plan_goes_on(p))
		nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
	orr_free(gpu);
	return 0;
}
static const struct orr_plan_ops ops = { .search = search };
ORR_POLICY_PLAN(slow, "searches until it is stopped", params, ops);
C
$CC -std=gnu11 -O1 -w -shared -fPIC "-I$tree/include" -o slow.so slow.c
for to in orrery group; do
  rm -f best.json
  # setsid makes a process group, and shells let background jobs ignore SIGINT, which env restores.
  setsid env --default-signal=INT "$orrery" plan vgg16 --cluster 2x2:v100 --global-batch 64 --policy ./slow.so -o best.json -q >shown 2>said &
  pid=$!
  sleep 3
  case $to in orrery) kill -INT "$pid" ;; group) kill -INT "-$pid" ;; esac
  wait "$pid"
  like "$? $(cat said)" '^130 orrery: (policy )?slow: interrupted after 1 evaluations: .*best.json' "SIGINT to $to: the plan so far"
  is "$(grep -c '"stages"' best.json)" 1 "SIGINT to $to: the file"
done

# ---- step: timelines and exports ----
step=(step lenet5 --cluster 4x1:v100 --policy allreduce,./step.so --json -q)
for file in ops.csv ops.json; do
  run '' "${step[@]}" --timeline "own-$file" >/dev/null
  is "$? $(cat said)" '0 ' "--timeline $file: no error"
  run '' "${step[@]}" --timeline "here-$file" --in-process >/dev/null
  ok "$(cmp "own-$file" "here-$file" >/dev/null; echo $?)" "--timeline $file: the same bytes as with --in-process"
  like "$(grep -c my-step "own-$file")" '^[1-9]' "--timeline $file: the ops of the plugin"
done
harms --timeline build '"policy":\s*"allreduce"' "${step[@]}" --timeline t.csv.csv
like "$(grep -c '^allreduce,' t.csv.csv) $(grep -c '^my-step,' t.csv.csv)" '^[1-9][0-9]* 0$' '--timeline: the ops of the other policy'
run '' "${step[@]}" --export chakra:et-own >/dev/null
is "$? $(cat said)" '0 ' '--export: no error'
run '' "${step[@]}" --export chakra:et-here --in-process >/dev/null
is "$(cd et-own && find . -type f | sort | xargs cat | cksum)" "$(cd et-here && find . -type f | sort | xargs cat | cksum)" '--export: the same files'
like "$(find et-own/my-step -type f | wc -l)" '^[1-9]' '--export: the files of the plugin'

# ---- searches ----
serve=(serve poisson:rate=20,n=200 --model table.json --cluster 1x2 --policy fifo,./serve.so --json)
same --find-rate "${serve[@]}" --find-rate e2e=100ms
same --find-replicas "${serve[@]}" --find-replicas e2e=100ms
harms --find-rate schedule '"policy":\s*"fifo"' "${serve[@]}" --find-rate e2e=100ms
harms --find-replicas schedule '"policy":\s*"fifo"' "${serve[@]}" --find-replicas e2e=100ms

# ---- mixed: each half ----
cat >mixed.json <<'J'
{ "world": "mixed", "cluster": "2x4:a100", "policies": ["fifo+fifo", "./jobs.so+fifo", "fifo+./serve.so"],
  "jobs": { "trace": "t.csv" },
  "serve": { "trace": "poisson:rate=20,n=50", "models": "table.json", "replicas": 1 } }
J
same mixed run mixed.json --json -q
sed 's/, "fifo+.\/serve.so"//' mixed.json >left.json
sed 's/"[^"]*jobs.so+fifo", //' mixed.json >right.json
for half in left right; do
  harms "mixed, $half" schedule '"fifo+fifo"' run "$half.json" --json -q
done
tap_done
