#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Policies in Python: the same results as their twins in C, errors that name file, line and time, templates of all worlds.
. "${srcdir:-.}/tests/tap.sh"
not_sanitized "the interpreter is not sanitized"
orrery=$(realpath "$ORRERY")
plugins=$(realpath "$srcdir/tests/plugins")
headers=$(realpath "$srcdir/include")
pages=$(realpath "$srcdir/docs")
cd "$work" || exit 1
o() { "$orrery" "$@"; }

said=$(ORRERY_LIBPYTHON=/nowhere.so o policy show "$plugins/fifo.py" 2>&1)
like "$? $said" '^3 orrery: .*fifo\.py: (libpython3 is not found: expected version 3\.8 or later|this program was built without Python)' "no libpython: code 3 and a remedy"
if ! o doctor | grep -q '^ok  *libpython3 '; then
  skip "no libpython3 on this machine, or a build without Python" 60
  tap_done
  exit
fi
cp "$plugins"/{fifo,las,quantum}.py .
twins=(fifo las)
: "${CC:=cc}"
if command -v "${CC%% *}" >/dev/null; then
  $CC -std=c11 -O1 -shared -fPIC "-I$headers" -o quantum.so "$plugins/quantum.c"
  twins+=(quantum)
else
  skip "no C compiler: quantum has no twin" 4
fi

# ---- twins of policies in C ----
# same NAME JOBS..: checks the rows, the series and the metrics of NAME against those of NAME.py
same() {
  local name=$1 twin=$1
  shift
  [ "$name" != quantum ] || twin=./quantum.so
  rm -rf out
  {
    o jobs "$@" --policy "$twin,./$name.py" --check --no-figures -q --out out
    cmp "out/$name.jobs.csv" "out/py-$name.jobs.csv"
    cmp "out/$name.series.csv" "out/py-$name.series.csv"
    cmp <(metrics "$name") <(metrics "py-$name")
  } 2>&1
}
# metrics NAME: prints its metrics, without differences from the first policy
metrics() { sed -n "s/^$1,//p" out/summary.csv | grep -vE '^diff_|_diff,'; }
for name in "${twins[@]}"; do
  is "$(same "$name" philly-like:days=3 --cluster 16x8)" "" "$name: as in C on a trace like Philly's"
  is "$(same "$name" tiresias-like:n=480 --cluster 15x4)" "" "$name: as in C on Tiresias' trace"
  is "$(same "$name" lublin:n=1000 --cluster 4x8 --drop-unfit)" "" "$name: as in C on Lublin's model"
done
[[ " ${twins[*]} " != *" quantum "* ]] ||
  like "$(awk -F, '$1 == "py-quantum" && $2 == "preemptions" { print $3 }' out/summary.csv)" '^[1-9][0-9]*' "quantum preempts jobs at its timers"
if need "$traces/philly/philly.csv.gz"; then
  # 316,000 callbacks and 796,000 calls (docs/howto/write-a-policy-in-python.md).
  TIMEFORMAT=%U
  took=$({ time o jobs "$traces/philly/philly.csv.gz" --cluster 300x8 --drop-unfit --policy ./fifo.py --no-figures -q >/dev/null 2>&1; } 2>&1)
  ok "$(awk -v s="$took" 'BEGIN { print !(s < 120) }')" "Philly's trace under fifo in Python takes less than 2 min: $took s of user time"
fi
if need "$traces/muri_philly/trace1.csv"; then
  is "$(same las "$traces/muri_philly/trace1.csv" --cluster 16x8 --drop-unfit)" "" "las: as in C on a virtual cluster of Philly"
fi
is "$(o jobs tiresias-like --cluster 15x4 --policy las --set policy.las.limits=600,1200 --no-figures -q --out a >a.txt; o jobs tiresias-like --cluster 15x4 --policy ./las.py \
  --set policy.las.limits=600,1200 --no-figures -q --out b >b.txt; cmp a/las.jobs.csv b/py-las.jobs.csv)" "" "a parameter, under the name of the file"
like "$(o policy show ./las.py)" '--set policy.py-las.limits=3250s,7200s' "policy show prints its parameters"
o jobs tiresias-like:n=50 --cluster 15x4 --policy fifo,./las.py,./fifo.py --replications 4 --json -q >own.json
o jobs tiresias-like:n=50 --cluster 15x4 --policy fifo,./las.py,./fifo.py --replications 4 --json -q -j 1 >one.json
o jobs tiresias-like:n=50 --cluster 15x4 --policy fifo,./las.py,./fifo.py --replications 4 --json -q --in-process >here.json
ok "$(cmp own.json one.json >/dev/null && cmp own.json here.json >/dev/null; echo $?)" "the same bytes for any number of threads, and with --in-process"
rm -f a.db
o jobs tiresias-like:n=50 --cluster 15x4 --policy ./fifo.py --db a.db -q >said
echo '# changed' >>fifo.py
o jobs tiresias-like:n=50 --cluster 15x4 --policy ./fifo.py --db a.db -q >said
is "$(sqlite3 a.db 'SELECT count(*) FROM runs' 2>&1)" 2 "a changed file is another policy: its run is not reused"

# ---- the binding ----
# Every function, enumerator and structure of a header has its name in the module of the world, and structures have the sizes of C.
# names FILE..: prints the names
names() {
  sed 's@/\*.*\*/@@' "$@" | grep -oE 'ORR_API [a-z0-9_ \*]*\borr_[a-z0-9_]+\(|^\s*ORR_[A-Z0-9_]+( = [^,]*)?,?$|^struct orr_[a-z_]+ \{' |
    sed -E 's/\($//; s/^struct (.*) \{/\1/; s/.*[ *](orr_[a-z0-9_]+)$/\1/; s/^\s*(ORR_[A-Z0-9_]+).*/\1/' | grep -vE '_ops$|^orr_plugin$' | sort -u
}
for world in jobs step spot serve plan; do
  names "$headers"/orrery/{api,param,policy,$world}.h >names
  {
    printf '#include <orrery/%s.h>\n#include <stdio.h>\nint main(void) {\n' "$world"
    sed -n 's/^struct \(orr_[a-z_]*\) {.*/\1/p' "$headers"/orrery/{param,policy,$world}.h | grep -vE '_ops$|^orr_plugin$' |
      sed 's/.*/printf("& %zu\\n", sizeof(struct &));/'
    echo 'return 0; }'
  } >sizes.c
  ${CC:-cc} -std=c11 "-I$headers" -o sizes sizes.c && ./sizes >want
  cat >binding.py <<E2
import ctypes, sys, orrery.$world
from orrery.$world import *
print("missing:", *[n for n in open("names").read().split() if n not in globals()], file=sys.stderr)
for n in open("want").read().split()[::2]:
    print("size", n, ctypes.sizeof(globals()["struct_" + n]), file=sys.stderr)
E2
  o policy show ./binding.py 2>said
  is "$(grep missing said)" "missing:" "$world: the module has the names of the headers"
  ok "$([ "$(grep -c . names)" -gt 40 ]; echo $?)" "$world: which are $(grep -c . names)"
  if [ -s want ]; then is "$(sed -n 's/^size //p' said)" "$(cat want)" "$world: structures have the sizes of C"; else skip "no C compiler"; fi
done

# ---- mistakes ----
mistake() { # NEW LINE IN schedule(): writes bad.py
  awk -v line="$1" '{ print } /def schedule/ { print "        " line }' "$plugins/fifo.py" >bad.py
}
line=$(($(grep -n 'def schedule' "$plugins/fifo.py" | cut -d: -f1) + 1))
while IFS='|' read -r what text pattern; do
  mistake "$what"
  said=$(o jobs tiresias-like:n=20 --cluster 15x4 --policy ./bad.py,fifo --json -q --policy-timeout 2 2>&1 >shown)
  like "$? $said" "^1 orrery: policy py-fifo: at [0-9]+\.[0-9]+ s: $pattern" "$text"
  is "$(grep -c . <<<"$said") $(grep -cE '^\s*"policy":\s*"fifo",$' shown)" "1 1" "$text: one line, and the other policy has results"
done <<E2
1 / 0|an exception|bad\.py:$line: ZeroDivisionError: division by zero in schedule\(\)$
raise KeyError("no job")|an exception with a text|bad\.py:$line: KeyError: 'no job' in schedule\(\)$
import sys; sys.exit(0)|sys.exit()|bad\.py:$line: SystemExit: 0 in schedule\(\)$
import os; os._exit(0)|the end of the process|in schedule\(\), the process of the policy ended with status 0
import os; os.abort()|abort|in schedule\(\), the process of the policy was ended by signal 6
while True: pass|an endless loop|schedule\(\) has not returned for 2 s
orr_try_start(w, "x")|an argument of a wrong type|bad\.py:$line: ArgumentError: .* in schedule\(\)$
orr_give_up(w, 0, "enough")|orr_give_up()|enough
E2
mistake 'if orr_now(w) > 0: raise ValueError("late")'
said=$(o jobs tiresias-like:n=20 --cluster 15x4 --policy ./bad.py -q 2>&1)
like "$said" 'at [1-9][0-9]*\.[0-9]+ s: bad\.py:[0-9]+: ValueError: late in schedule' "the simulated time of an exception"
mistake 'print("hello")'
said=$(o jobs tiresias-like:n=2 --cluster 15x4 --policy ./bad.py --json -q 2>&1 >shown)
is "$? $(sort -u <<<"$said") $(grep -c hello shown)" "0 hello 0" "print() writes to standard error"
while IFS='|' read -r text pattern; do
  printf '%b' "$text" >bad.py
  said=$(o policy show ./bad.py 2>&1)
  like "$? $said" "^2 orrery: \./bad\.py: $pattern" "a file with $text"
done <<'E2'
x = (\n|bad\.py:1: SyntaxError
\nimport nothing\n|bad\.py:2: ModuleNotFoundError: No module named 'nothing'
x = 1\n|expected a last line such as ORR_POLICY_JOBS
from orrery.jobs import *\nORR_POLICY_JOBS("a", "b", [], object)\n|policy a: expected a function arrive, found NULL
\xff|bad\.py:[01]: SyntaxError
E2
sed 's/def create(self, w, args):/def create(self, w, args):\n        orr_fail("limits: expected more")/' "$plugins/fifo.py" >bad.py
said=$(o jobs tiresias-like:n=2 --cluster 15x4 --policy ./bad.py -q 2>&1)
like "$? $said" '^2 orrery: policy py-fifo: .*ValueError: limits: expected more in create\(\)$' "create() refuses its parameters: code 2"

# ---- templates ----
for world in jobs step serve spot plan; do
  o policy new "my-$world" --kind "$world" --lang python >said
  like "$(ORRERY=$orrery sh "./my-${world}_test.sh" 2>&1 | tail -n 1)" '^ok: ' "policy new --lang python --kind $world: its test passes"
  is "$(sed -n 2p said | grep -c "/my-$world.py\$") $(ls my-"$world"*)" "1 my-$world.py
my-${world}_test.sh" "and the next command uses the file"
  # Names of output files are labels, in which '_' is '-'.
  o policy new "your_$world" --kind "$world" --lang python >said
  like "$(ORRERY=$orrery sh "./your_${world}_test.sh" 2>&1 | tail -n 1)" '^ok: ' "$world: the test of a policy with '_' in its name passes"
done
# In each world an exception is an error of the run.
while read -r world function arguments; do
  awk -v f="$function" '{ print } $0 ~ "def " f "\\(" { inside = 1 } inside && /:$/ { print "        raise KeyError(\"stop\")"; inside = 0 }' "my-$world.py" >bad.py
  # shellcheck disable=SC2086 # words
  said=$(o "$world" $arguments --policy ./bad.py -q --no-figures 2>&1)
  like "$? $(tail -n 1 <<<"$said")" "^[12] orrery: .*bad\.py:[0-9]+: KeyError: 'stop' in $function\(\)" "$world: an exception names file and line"
done <<'E2'
step build lenet5 --cluster 4x1:v100
serve schedule poisson:rate=20,n=50 --model irina-alexnet --cluster 1x1
spot decide hazard:p=0.1,length=1h --job bamboo-bert
plan search lenet5 --cluster 4x1:v100
E2
# ---- the how-to page ----
page=$pages/howto/write-a-policy-in-python.md
# block N: prints the N-th block of Python of the page
block() { awk -v n="$1" '/^```python$/ { k++; on = k == n; next } /^```$/ { on = 0 } on' "$page"; }
block 1 >mine.py
o jobs tiresias-like --cluster 15x4 --policy fifo,fjf,./mine.py --set policy.patient.patience=0 --no-figures -q --out page 2>&1
is "$(cmp page/fifo.jobs.csv page/patient.jobs.csv)" "" "the policy of the page without patience is FIFO"
o jobs tiresias-like --cluster 15x4 --policy ./mine.py --set policy.patient.patience=900d --no-figures -q --out page 2>&1
is "$(cmp page/fjf.jobs.csv page/patient.jobs.csv)" "" "with endless patience, it is fjf"
rm -f runs.db
o jobs tiresias-like:n=50 --cluster 15x4 --policy fifo,las --db runs.db -q >/dev/null 2>&1
block 2 >read.py
if python3 -c 'import pandas' 2>/dev/null; then
  like "$(python3 read.py 2>&1 | tr '\n' ' ')" 'fifo +[0-9.]+ +[0-9.]+.*las +[0-9.]+ +[0-9.]+' "pandas reads the database as on the page"
else
  is "$(sqlite3 -readonly runs.db "$(grep -o 'SELECT[^"]*' read.py)" | cut -d'|' -f 1 | tr '\n' ' ')" "fifo las " "the query of the page for pandas reads the database"
fi
said=$(o policy new x --lang java 2>&1)
is "$? $said" '2 orrery: --lang: expected c or python, found "java"' "another language"
said=$(o policy new x --kind step --lang python --reacting 2>&1)
is "$? $said" '2 orrery: --reacting: expected --lang c: the template in Python does not react' "--reacting is in C"
said=$(o policy list --lang c 2>&1)
is "$? $said" "2 orrery: --lang: expected this option only in 'orrery policy new NAME'" "--lang is of new"
tap_done
