#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Each run of a plugin has a separate process. If the plugin makes it fail, one line of error names the policy and the
# cause, the exit code is 1, and the run of the other policy is as without the plugin. In four worlds.
. "${srcdir:-.}/tests/tap.sh"
not_sanitized "a sanitizer handles the signals of the plugins itself"
: "${CC:=cc}"
command -v "${CC%% *}" >/dev/null || { skip "no C compiler ($CC)"; tap_done; exit; }
orrery=$(realpath "$ORRERY")
tree=$(cd "$srcdir" && pwd)
cd "$work" || exit 1
ulimit -c 0
export LC_ALL=C
compile() { # OUTPUT SOURCE [OPTIONS]
  local out=$1 source=$2
  shift 2
  $CC -std=gnu11 -O1 -w -shared -fPIC "-I$tree/include" "-I$tree/tests/plugins" "$@" -o "$out" "$source"
}
printf 'job_id,submit_s,duration_s,gpus\nalpha,0,10,2\nbeta,1,10,2\ngamma,2,10,2\n' >t.csv
echo '{"name": "table", "source": "made up", "kind": "table", "batch": [1, 2], "latency_ms": [20, 25]}' >table.json
echo '{"name": "j", "source": "made up", "samples_per_step": 8, "points": [[1, 1, 1000]]}' >j.json
printf 'time_s,event,node\n0,add,a\n9.5,remove,a\n20,add,b\n40,end,\n' >nodes.csv
jobs=(jobs t.csv --cluster 2x2)
step=(step lenet5 --cluster 4x1:v100)
serve=(serve poisson:rate=20,n=50 --model table.json --cluster 1x1)
spot=(spot nodes.csv --job j.json)

# ---- harm in the main function of a policy ----
# WORLD FUNCTION OTHER: the other policy of the world.
while read -r world function other; do
  "$orrery" policy new "my-$world" --kind "$world" >/dev/null
  awk -v f="$function" '$0 ~ "^static [a-z]+ " f "\\(" { inside = 1 } { print } inside && /^\{/ { print "\tharm();"; inside = 0 }' "my-$world.c" >h.c
  compile "$world.so" h.c -include harm.h
  ok $? "$world: the policy compiles"
  declare -n line=$world
  run() { # HOW POLICIES [OPTIONS]
    local how=$1 policies=$2
    shift 2
    HARM=$how timeout 60 "$orrery" "${line[@]}" --policy "$policies" --policy-timeout 1 --no-figures "$@"
  }
  rm -f want.db
  run '' "$other" --db want.db -q >/dev/null 2>&1
  want=$("$orrery" db digest want.db)
  run '' "$other,./$world.so" --json -q >own.json 2>own.err
  is "$? $(cat own.err)" "0 " "$world: the policy without harm runs in its own process"
  run '' "$other,./$world.so" --json -q --in-process >here.json 2>&1
  ok "$(cmp own.json here.json >/dev/null; echo $?)" "$world: with the same results as in the process of orrery"
  run '' "$other,./$world.so" --json -q --replications 3 >own.json 2>own.err
  run '' "$other,./$world.so" --json -q --replications 3 --in-process >here.json 2>&1
  ok "$(cmp own.json here.json >/dev/null; echo $?)" "$world: so with replications"
  run '' "$other,./$world.so" -q --db own.db >/dev/null 2>&1
  run '' "$other,./$world.so" -q --in-process --db here.db >/dev/null 2>&1
  is "$("$orrery" db digest own.db)" "$("$orrery" db digest here.db)" "$world: so in the database"
  rm -f own.db here.db
  while IFS='|' read -r how cause; do
    rm -f r.db
    said=$(run "$how" "./$world.so,$other" --db r.db --json -q 2>&1 >shown)
    like "$? $said" "^1 orrery: policy my-$world: .*$cause" "$world, $how"
    is "$(grep -c . <<<"$said") $(grep -c "^[[:space:]]*\"policy\":[[:space:]]*\"$other\",\$" shown)" "1 1" "$world, $how: one line, and the other policy is in the table"
    is "$("$orrery" db digest r.db)" "$want" "$world, $how: the database has the other run, unchanged"
  done <<EOT
exit0|in $function\(\), the process of the policy ended with status 0: expected a policy that returns
exit7|in $function\(\), the process of the policy ended with status 7
_exit0|in $function\(\), the process of the policy ended with status 0
pthread_exit|in $function\(\), the process of the policy ended with status 0
abort|in $function\(\), the process of the policy was ended by signal 6
segv|in $function\(\), the process of the policy was ended by signal 11
deep|in $function\(\), the process of the policy was ended by signal 11 .*, because its stack overflowed
longjmp|in $function\(\), the process of the policy was ended by signal 11
kill|in $function\(\), the process of the policy was ended by signal 9
term|in $function\(\), the process of the policy was ended by signal 15
pipe|in $function\(\), the process of the policy was ended by signal 13
sigstop|in $function\(\), the process of the policy was stopped by signal 19
alarm|(in $function\(\), the process of the policy was ended by signal 14|$function\(\) has not returned for 1 s)
spin|$function\(\) has not returned for 1 s: expected a policy that returns, or a larger --policy-timeout
sleep|$function\(\) has not returned for 1 s
parent|the process that starts its runs has ended
closefds|closed files that it had not opened
locale|changed the locale to C\.UTF-8
round|changed the floating-point rounding mode
stdout|wrote to standard output \("hello"\), which is for results
flood|wrote to standard output \("0"\), which is for results
fork|left a process that it had started with fork\(\)
thread|left a thread running
EOT
  # Commands and threads that have ended do no harm.
  for how in joined system; do
    run "$how" "$other,./$world.so" --json -q >own.json 2>own.err
    run '' "$other,./$world.so" --json -q >here.json 2>&1
    is "$(cmp own.json here.json 2>&1) $(cat own.err)" " " "$world, $how: no error, and the same results"
  done
done <<'EOT'
jobs schedule fifo
step build allreduce
serve schedule fifo
spot decide checkpoint
EOT

# ---- a busy machine ----
# A call of 0.5 s of processor time beside 7 busy processes on one processor takes about 4 s. The limit of 1 s does not count the waiting.
if command -v taskset >/dev/null && [ -r /proc/self/schedstat ]; then
  cpu=$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')
  busy=()
  for _ in 1 2 3 4 5 6 7; do
    taskset -c "$cpu" sh -c 'while :; do :; done' &
    busy+=($!)
  done
  said=$(HARM=work taskset -c "$cpu" "$orrery" "${jobs[@]}" --policy ./jobs.so --policy-timeout 1 --no-figures -q 2>&1 >/dev/null)
  is "$? $said" "0 " "--policy-timeout does not count the time without a processor"
  kill "${busy[@]}" && wait "${busy[@]}" 2>/dev/null
else
  skip "no taskset, or no /proc/self/schedstat"
fi

# ---- harm while a plugin is loaded ----
for how in exit0 segv stdout; do
  { cat my-jobs.c; echo '__attribute__((constructor)) static void harm_at_once(void) { harm(); }'; } >h.c
  compile ctor.so h.c -include harm.h
  said=$(HARM=$how "$orrery" policy show ./ctor.so 2>&1)
  case $how in
  exit0) like "$? $said" '^2 orrery: \./ctor\.so: while it was loaded, the process ended with status 0' "constructor: $how" ;;
  segv) like "$? $said" '^2 orrery: \./ctor\.so: while it was loaded, the process was ended by signal 11' "constructor: $how" ;;
  stdout) like "$said" '^my-jobs: ' "constructor: $how" ;;
  esac
done

# ---- the mistakes of a hostile audit, in the jobs world ----
if need "$data/hostile/plugin_modes.c"; then
  sed 's/\.size=sizeof ops,//' "$data/hostile/plugin_modes.c" >evil.c
  compile evil.so evil.c -include orrery/jobs.h
  ok $? "the plugin with 39 modes compiles"
  rm -f want.db
  "$orrery" "${jobs[@]}" --policy fifo --policy-timeout 1 --db want.db -q >/dev/null 2>&1
  want=$("$orrery" db digest want.db)
  mode() { # HOW
    rm -f r.db
    { timeout 60 "$orrery" "${jobs[@]}" --policy ./evil.so,fifo --set "policy.evil.how=$1" --policy-timeout 1 --max-memory 300M --db r.db -q >/dev/null; } 2>&1
  }
  for how in _exit0 abort add-twice alarm closefds deep double-free exit-create exit0 exit7 fmt fork getbad jmp kill leakq longjmp malloc null-field \
    pthread_exit qbad qfree2 qnull round segv segv-create segv-destroy sigstop sleep smash smash-heap spin-arrive spin-create spin-destroy \
    spin-finish stdout thread; do
    said=$(mode "$how")
    like "$? $(tail -n 1 <<<"$said")" "^1 orrery: policy evil: " "audit, $how"
    is "$("$orrery" db digest r.db)" "$want" "audit, $how: the database has the other run, unchanged"
  done
  # These do no harm on some machines: the locale is not installed, a division does not trap.
  for how in locale fpe; do
    said=$(mode "$how")
    like "$? $(tail -n 1 <<<"$said")" '^(0 |1 orrery: policy evil: )' "audit, $how"
    is "$("$orrery" db runs r.db | grep -c ' fifo ')" 1 "audit, $how: the database has the other run"
  done
fi
tap_done
