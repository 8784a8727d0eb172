#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Commands with hostile values: each ends in time with an exit code from 0 to 3 and a message, within --max-memory and --max-time.
#
#   make soak SOAK_SECONDS=7200    draws commands until the time is over, and runs the tests of hostile inputs in between
#   SOAK_SEED=N                    other commands (default 1)
#
# Without SOAK_SECONDS (make check): the first 60 commands of a seed.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
tests=$(realpath "$srcdir/tests")
top=$(realpath "${top_builddir:-.}")
seconds=${SOAK_SECONDS:-0}
RANDOM=${SOAK_SEED:-1}
bounds=(--max-time 5s)
[ "${ORR_SANITIZED:-}" = 1 ] || bounds+=(--max-memory 400M)
mkdir "$work/in" && cd "$work/in" || exit 1
ulimit -c 0
printf 'job_id,submit_s,duration_s,gpus\na,0,10,1\nb,1,5,1\n' >t.csv
printf 'link,bandwidth_Bps,latency_s\nup,1e9,1e-6\n' >links.csv
printf 'id,step,src,dst,bytes,start_s,links\n0,-1,a,b,3e6,0,up\n' >flows.csv
"$orrery" jobs t.csv --cluster 1x1 --policy fifo --db d.db -q || exit 1

values=(0 -1 1 2 1e-300 1e308 1e9 999999999 999999999999 9007199254740993 nan inf '' '=1+1' 0.5 '100%' 1h 1d $'a\033[31m' $'\377' . ../x /dev/zero
  /dev/full /dev/null '{}' '[]' 1x1 64x8:v100 1000000x8 100000x8:v100 fat-tree star:bw=0 all explain flows.csv a,b, a@b :memory:)
forms=(
  'jobs poisson:rate=0.01,n=20 --cluster 2x8:v100 --policy fifo'
  'jobs philly-like:days=1,load=1 --cluster 16x8 --policy sjf,las'
  'jobs tiresias-like:gap=30,n=20 --cluster 8x8 --policy fifo'
  'jobs t.csv --cluster 1x1 --policy srtf'
  'step lenet5 --cluster 1x2:v100 --policy allreduce'
  'step vgg16 --cluster 2x2:v100 --policy gpipe --set policy.gpipe.micro_batches=4'
  'serve poisson:rate=1,n=20 --model irina-alexnet --cluster 1x1 --policy fifo'
  'spot hazard:p=0.1,length=4h --job bamboo-bert --policy bamboo'
  'trace synth poisson:rate=1,n=10 -o s.csv'
  'trace info philly-like:days=1'
  'trace convert t.csv -o c.csv'
  'net flows --links links.csv --flows flows.csv'
  'db show d.db'
  'db runs d.db'
  'explain d.db --job 0'
  'scenario show poisson:rate=1,n=3 --cluster 1x1 --policy fifo'
)
# Options of a verb: its help names them; " X" stands for a value.
declare -A options
for form in "${forms[@]}"; do
  verb=${form%% *}
  [ -n "${options[$verb]-}" ] || options[$verb]=$("$orrery" "$verb" --help | sed '/^[Ee]xample/,$d' |
    grep -oE -- '^  (-., )?--[a-z-]+( [A-Z])?' | sed 's/^  \(-., \)\{0,1\}//; s/ [A-Z]$/ X/' | sort -u)
done

# draw: sets `command` to a form with one to three changes: a value replaced or an option added
draw() {
  local -a list
  local i at
  read -ra command <<<"${forms[RANDOM % ${#forms[@]}]}"
  mapfile -t list <<<"${options[${command[0]}]}"
  for ((i = RANDOM % 3; i >= 0; i--)); do
    value=${values[RANDOM % ${#values[@]}]}
    at=$((1 + RANDOM % (${#command[@]} - 1)))
    option=${list[RANDOM % ${#list[@]}]}
    case $((RANDOM % 3)),${command[at]} in
    0,*=*) command[at]=${command[at]%=*}=$value ;;
    0,[!-]*) [ "$at" -gt 1 ] && command[at]=$value ;;
    *) case $option in '' | --help) ;; *X) command+=("${option% X}" "$value") ;; *) command+=("$option") ;; esac ;;
    esac
  done
}

# try: runs `command`; prints it if it breaks a promise
try() {
  timeout -k 5 60 "$orrery" "${command[@]}" "${bounds[@]}" </dev/null >out 2>said
  local code=$?
  if [ $code -gt 3 ] || { [ $code -gt 0 ] && ! grep -q . said; }; then
    printf '# code %d:' $code
    printf ' %q' "${command[@]}"
    echo
    return 1
  fi
}

# scripts: runs the tests of hostile inputs
scripts() {
  local t bad=0
  for t in cli/cli_limits cli/cli_inputs cli/cli_outputs cli/cli_signals jobs/plugins world/isolate world/isolate_all world/modes world/python world/python_harm; do
    (cd "$top" && srcdir=$tests/.. top_builddir=. ORRERY=$orrery timeout -k 5 1800 bash "$tests/$t.sh") >"$work/log" 2>&1 && continue
    bad=$((bad + 1))
    echo "# $t.sh:"
    grep -E '^(not ok|# )' "$work/log" | head -n 20
  done
  return $bad
}

bad=0 n=0
if [ "$seconds" -gt 0 ]; then
  while [ "$SECONDS" -lt "$seconds" ]; do
    [ $((n % 1000)) -ne 0 ] || scripts || bad=$((bad + 1))
    draw
    try || bad=$((bad + 1))
    n=$((n + 1))
  done
else
  for (( ; n < 60; n++)); do
    draw
    try || bad=$((bad + 1))
  done
fi
is "$bad" 0 "$n commands end in time, with a message where they fail"
is "$(find "$work" -name '*.tmp' -o -name 'figures.??????')" "" "no temporary file remains"
is "$("$orrery" db check d.db >/dev/null; echo $?)" 0 "the database is whole"
tap_done
