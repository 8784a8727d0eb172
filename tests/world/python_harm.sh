#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A policy in Python that harms its process: one line of error names the policy and the cause, the exit code is 1, and the run of the other
# policy is as without it. In four worlds. The harms are those of isolate.sh, as Python does them.
. "${srcdir:-.}/tests/tap.sh"
not_sanitized "a sanitizer handles the signals of the plugins itself"
orrery=$(realpath "$ORRERY")
cd "$work" || exit 1
ulimit -c 0
export LC_ALL=C
if ! "$orrery" doctor | grep -q '^ok  *libpython3 '; then
  skip "no libpython3 3.8 or later"
  tap_done
  exit
fi
printf 'job_id,submit_s,duration_s,gpus\nalpha,0,10,2\nbeta,1,10,2\ngamma,2,10,2\n' >t.csv
echo '{"name": "table", "source": "made up", "kind": "table", "batch": [1, 2], "latency_ms": [20, 25]}' >table.json
echo '{"name": "j", "source": "made up", "samples_per_step": 8, "points": [[1, 1, 1000]]}' >j.json
printf 'time_s,event,node\n0,add,a\n9.5,remove,a\n20,add,b\n40,end,\n' >nodes.csv
# shellcheck disable=SC2034
jobs=(jobs t.csv --cluster 2x2) step=(step lenet5 --cluster 4x1:v100) spot=(spot nodes.csv --job j.json)
# shellcheck disable=SC2034
serve=(serve poisson:rate=20,n=50 --model table.json --cluster 1x1)

while read -r world function other; do
  "$orrery" policy new "my-$world" --kind "$world" --lang python >/dev/null
  declare -n line=$world
  run() { # FILE [OPTIONS]
    timeout 60 "$orrery" "${line[@]}" --policy "$1,$other" --policy-timeout "${limit:-1}" --no-figures "${@:2}"
  }
  timeout 60 "$orrery" "${line[@]}" --policy "$other" --policy-timeout 1 --no-figures --db want.db -q >/dev/null 2>&1
  want=$("$orrery" db digest want.db)
  rm -f want.db
  while IFS='|' read -r what cause; do
    code=1
    # orr_spot_give_up() at time 0 refuses the input, so an exception there has exit code 2.
    [[ $world = spot && $cause = *Error* || $world = spot && $cause = *Exit* || $world = spot && $cause = *Interrupt* ]] && code='[12]'
    awk -v f="$function" -v line="$what" '{ print } $0 ~ "def " f "\\(" { inside = 1 } inside && /:( *#.*)?$/ { print "        " line; inside = 0 }' \
      "my-$world.py" >bad.py
    rm -f r.db
    said=$(run ./bad.py --db r.db -q 2>&1 >shown)
    like "$? $(grep -c . <<<"$said") $(tail -n 1 <<<"$said")" "^$code 1 orrery: policy my-$world: .*$cause" "$world, $what"
    is "$("$orrery" db digest r.db)" "$want" "$world, $what: the database has the other run, unchanged"
  done <<EOT
import os; os._exit(7)|in $function\(\), the process of the policy ended with status 7
import sys; sys.exit(7)|SystemExit: 7 in $function\(\)
raise KeyboardInterrupt|KeyboardInterrupt.* in $function\(\)
import os; os.abort()|in $function\(\), the process of the policy was ended by signal 6
import ctypes; ctypes.memset(0, 1, 8)|in $function\(\), the process of the policy was ended by signal 11
import os; os.kill(os.getpid(), 9)|in $function\(\), the process of the policy was ended by signal 9
import os; os.kill(os.getpid(), 19)|in $function\(\), the process of the policy was stopped by signal 19
import os; os.kill(os.getppid(), 9)|the process that starts its runs has ended
import time; time.sleep(30)|$function\(\) has not returned for 1 s
import threading; threading.Event().wait()|$function\(\) has not returned for 1 s
f = lambda: f(); f()|RecursionError: maximum recursion depth exceeded.* in $function\(\)
import sys; sys.setrecursionlimit(10**9); f = lambda x: f(x) + repr([x]); f([])|(in $function\(\), the process of the policy was ended by signal 11|RecursionError|$function\(\) has not returned)
import os; os.closerange(0, 64)|closed files that it had not opened
import locale; locale.setlocale(locale.LC_ALL, "C.UTF-8")|changed the locale to C\.UTF-8
import ctypes; ctypes.CDLL(None).fesetround(0x800)|changed the floating-point rounding mode
import os; os.write(1, b"hello")|wrote to standard output \("hello[a-z]*"\), which is for results
import os; os.fork()|left a process that it had started with fork\(\)
undefined()|NameError: name 'undefined' is not defined in $function\(\)
raise RuntimeError(chr(27) + "[31m" + chr(10) + "x")|RuntimeError: [^[:cntrl:]]* in $function\(\)
EOT
  # These end with the process: no error, and the same results.
  limit=20
  run "./my-$world.py" --json -q 2>&1 | grep -v wall >good.json
  for what in 'import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()' 'import os; os.system("exit 3")' \
    'import gc; gc.disable()' 'print("hello", end="")'; do
    awk -v f="$function" -v line="$what" '{ print } $0 ~ "def " f "\\(" { inside = 1 } inside && /:( *#.*)?$/ { print "        " line; inside = 0 }' \
      "my-$world.py" >bad.py
    run ./bad.py --json -q 2>said | grep -v wall >own.json
    is "$(grep -v '^hello' said)" "" "$world, $what: no error"
    # The hash of the file differs.
    is "$(diff <(grep '"value"' good.json) <(grep '"value"' own.json))" "" "$world, $what: the same results"
  done
  limit=1
  # An exception in destroy(), which has no way to return an error.
  { cat "my-$world.py" | sed '/^ORR_POLICY/,$d'; printf 'def stop(self):\n    raise KeyError("end")\n\n\nPolicy.destroy = stop\n'; grep '^ORR_POLICY' "my-$world.py"; } >bad.py
  rm -f r.db
  said=$(run ./bad.py --db r.db -q 2>&1 >shown)
  like "$? $said" "^1 orrery: bad\.py:[0-9]+: KeyError: 'end' in destroy\(\)"$'\n'"orrery: policy my-$world: .*in destroy\(\), the process of the policy was ended by signal 6" \
    "$world: an exception in destroy()"
  is "$("$orrery" db digest r.db)" "$want" "$world: the database has the other run, unchanged"
done <<'EOT'
jobs schedule fifo
step build allreduce
serve schedule fifo
spot decide checkpoint
EOT
tap_done
