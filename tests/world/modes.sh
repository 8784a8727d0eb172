#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The 39 modes of a hostile audit (tests/plugins/modes.h), in four worlds: each is one named error with exit code 1. The run of the
# other policy is in the database, unchanged. MODES names those to run (default: all); make soak runs them too.
. "${srcdir:-.}/tests/tap.sh"
not_sanitized "a sanitizer handles the signals of the plugins itself"
: "${CC:=cc}"
command -v "${CC%% *}" >/dev/null || { skip "no C compiler ($CC)"; tap_done; exit; }
orrery=$(realpath "$ORRERY")
tree=$(cd "$srcdir" && pwd)
cd "$work" || exit 1
ulimit -c 0
export LC_ALL=C
printf 'job_id,submit_s,duration_s,gpus\nalpha,0,10,2\nbeta,1,10,2\ngamma,2,10,2\n' >t.csv
echo '{"name": "table", "source": "made up", "kind": "table", "batch": [1, 2], "latency_ms": [20, 25]}' >table.json
echo '{"name": "j", "source": "made up", "samples_per_step": 8, "points": [[1, 1, 1000]]}' >j.json
printf 'time_s,event,node\n0,add,a\n9.5,remove,a\n20,add,b\n40,end,\n' >nodes.csv
# shellcheck disable=SC2034
jobs=(jobs t.csv --cluster 2x2) step=(step lenet5 --cluster 4x1:v100) spot=(spot nodes.csv --job j.json)
# shellcheck disable=SC2034
serve=(serve poisson:rate=20,n=50 --model table.json --cluster 1x1)
# 'malloc' takes memory until --max-memory refuses more, which may last longer than --policy-timeout.
all='_exit0 abort add-twice alarm closefds deep double-free exit-create exit0 exit7 fmt fork fpe getbad jmp kill leakq locale longjmp malloc
  null-field pthread_exit qbad qfree2 qnull round segv segv-create segv-destroy sigstop sleep smash smash-heap spin-arrive spin-create
  spin-destroy spin-finish stdout thread'
is "$(wc -w <<<"$all")" 39 "39 modes"
named='([a-z_]+\(\)|orr_[a-z_]+|changed the|closed files|no [a-z]+ ever had|wrote to standard output|left (a process|a thread|[0-9]+ (blocks|MiB))|has only marks|%s%s%s)'

while read -r world other; do
  $CC -std=gnu11 -O1 -w -shared -fPIC "-I$tree/include" "-I$tree/tests/plugins" -o "$world.so" "$tree/tests/plugins/modes_$world.c"
  ok $? "$world: the policy compiles"
  declare -n line=$world
  run() { # POLICIES HOW DATABASE
    rm -f "$3"
    timeout 60 "$orrery" "${line[@]}" --policy "$1" ${2:+--set "policy.evil.how=$2"} --policy-timeout 1 --max-memory 500M --no-figures --db "$3" -q
  }
  run "$other" '' want.db >/dev/null 2>&1
  want=$("$orrery" db digest want.db)
  said=$(run "./$world.so,$other" none good.db 2>&1)
  is "$? $said" "0 " "$world: the policy that behaves"
  for how in ${MODES:-$all}; do
    said=$(run "./$world.so,$other" "$how" r.db 2>&1 >shown)
    code=$?
    # glibc writes a separate line before it calls abort().
    lines=$(grep -vc '^free(): \|^double free \|^munmap_chunk(): \|^malloc(): \|^corrupted ' <<<"$said")
    like "$code $lines $(tail -n 1 <<<"$said")" "^1 1 orrery: policy evil: .*$named" "$world, $how: one error"
    is "$("$orrery" db digest r.db)" "$want" "$world, $how: the database has the other run, unchanged"
  done
done <<'EOT'
jobs fifo
step allreduce
serve fifo
spot checkpoint
EOT
tap_done
