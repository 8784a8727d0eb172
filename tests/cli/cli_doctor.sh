# help, doctor, files to start from, and policy new: what a new user types first
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
. "$srcdir/tests/tap.sh"
orrery=$(realpath "$ORRERY")
books=$(find "$srcdir"/scenarios -name figures.json | grep -c .)
cd "$work" || exit 1
o() { "$orrery" "$@"; }
refused() { { o "$@" >/dev/null; } 2>&1; }

# ---- help and version ----
is "$(o -h)" "$(o --help)" "-h is --help"
is "$(o -V)" "$(o --version)" "-V is --version"
commands=$(o --help | awk '/^commands:/ { on = 1; next } on && NF == 0 { exit } on { print $1 }')
is "$(for c in $commands; do [ "$(o help "$c")" = "$(o "$c" --help)" ] || echo "$c"; [ "$(o "$c" -h)" = "$(o "$c" --help)" ] || echo "$c"; done)" "" \
  "help COMMAND and COMMAND -h are COMMAND --help"
is "$(o help)$(o help --help)" "$(o --help)$(o --help)" "help alone is --help"
said=$(refused help jbos)
is "$? $said" '2 orrery: unknown command "jbos": did you mean:
  orrery jobs' "help of an unknown command"

# ---- --format lists every format ----
# formats PART: the names in that part of trace list
formats() { o trace list | awk -v part="$1" '/^[^ ]/ { on = index($0, part) == 1 } on && /^  [a-z]/ { print $1 }' | grep -v '^openb-nodes$' | sort; }
# listed VERB: the names in the help of --format
listed() {
  o "$1" --help | awk '/^  --format F/ { on = 1; sub(/.*--format F/, "") } on && /^  -/ { exit } on' | sed 's/ or auto//' | tr -s ', \n' '\n' | grep . | sort
}
for pair in 'jobs:formats of jobs' 'serve:formats of requests' 'spot:formats of instance'; do
  verb=${pair%%:*}
  is "$(listed "$verb")" "$(formats "${pair#*:}")" "orrery $verb --help lists the formats of trace list"
done

# ---- files to start from ----
o device show v100-16g --json >d.json
is "$(o device show d.json | sed '$d')" "$(o device show v100 | sed '$d')" "device show --json is a device; an alias counts"
sed 's/"name": "v100"/"name": "mine"/' d.json >mine.json
like "$(o device show mine.json | head -n 1)" '^mine: ' "an edited copy is another device"
is "$(o device show mine.json --json)" "$(cat mine.json)" "a file is shown as it is"
is "$(for m in resnet50 ResNet-50 llama2_7b gcn_amazon; do o model show "$m" --file >m.json && o model show m.json >a && o model show "$m" | cmp -s - a || echo "$m"; done)" "" \
  "model show --file is the model"
o model show llama2-7b --served --file >s.json
is "$(o model show s.json --served | tail -n +2)" "$(o model show llama2-7b --served | tail -n +2)" "so of served models"
o model show bamboo-bert --elastic --file >e.json
is "$(o model show e.json --elastic | head -n 3)" "$(o model show bamboo-bert --elastic | head -n 3)" "so of elastic jobs"
said=$(refused model show gpt:hidden=64,layers=1,heads=1,seq=8,vocab=9 --file)
like "$? $said" '^2 orrery: --file: gpt:.* has no file: expected a name' "a model by its dimensions has no file"
said=$(refused model list --file)
is "$? $said" "2 orrery: --file: expected this option only in 'orrery model show NAME'" "--file is of show"
said=$(refused device list --json)
like "$? $said" '^2 orrery: device: expected "list" or "show NAME"' "device list has no --json"
said=$(refused device show a1000 --json)
like "$? $said" '^2 orrery: .*"a1000"' "an unknown device"
is "$(o figures --list | head -n 1) $(o figures --list | grep -c .)" "academus $books" "figures --list names the books"
said=$(refused figures ako --list)
is "$? $said" '2 orrery: figures: --list: expected no book, found "ako"' "with nothing else"

# ---- policy new ----
for name in fifo las-gpu allreduce; do
  said=$(refused policy new "$name")
  like "$? $said" "^2 orrery: policy new: \"$name\" is a built-in policy of orrery [a-z]+: expected another name, such as my-$name\$" "policy new $name"
done
is "$(find . -name 'fifo*')" "" "no file is written"
next=$(o policy new own | grep -o 'cc -shared.*')
if command -v cc >/dev/null; then
  like "$(eval "$next" && o policy show ./own.so)" '^own: ' "the command that policy new prints works before an installation"
  rm own.so
  # shellcheck disable=SC2046 # options
  like "$(cc -shared -fPIC $(o policy cflags) -o own.so own.c && o policy show ./own.so)" '^own: ' "policy cflags finds the headers"
  like "$(unset ORRERY_CFLAGS; ORRERY=$orrery PKG_CONFIG_PATH=/nowhere ./own_test.sh 2>&1)" '^ok: same end times as fifo$' "the test of a new policy needs no pkg-config"
else
  skip "no C compiler" 3
fi

# ---- doctor ----
o doctor >text
is $? 0 "doctor ends with 0 in the tree"
like "$(head -n 1 text)" "^orrery [0-9.]+ \(sources [0-9a-f]{12}\), SQLite 3\." "its first line is the version"
o doctor --json >json
is "$(grep -c '"what"' json)" "$(grep -c '                  for: ' text)" "JSON has the same findings"
mkdir -p bin empty
printf '#!/bin/sh\n' >bin/gnuplot
chmod +x bin/gnuplot
# finding NAME [VARIABLE=VALUE..]: the line of doctor on NAME
finding() { env "${@:2}" "$orrery" doctor | grep -E "^(ok|none|MISSING) +$1 "; }
like "$(finding gnuplot "PATH=$work/bin")" "^ok +gnuplot +$work/bin/gnuplot\$" "a program in PATH is found"
like "$(finding gnuplot "PATH=$work/empty")" '^none +gnuplot +not in PATH: install it \(Debian: gnuplot-nox\), or use --no-figures$' "a missing one has a remedy"
like "$(finding gnuplot "PATH=bin")" '^none +gnuplot' "relative folders of PATH do not count"
chmod -x bin/gnuplot
like "$(finding gnuplot "PATH=$work/bin")" '^none +gnuplot' "nor files that cannot be executed"
like "$(finding 'real traces' "ORRERY_TRACE_PATH=$work/empty" ORRERY_DATA_PATH=)" "^ok +real traces +ORRERY_TRACE_PATH=$work/empty\$" "traces"
like "$(finding 'real traces' ORRERY_TRACE_PATH=/nowhere ORRERY_DATA_PATH=)" '^none +real traces +ORRERY_TRACE_PATH=/nowhere \(cannot be read\)$' "a folder that does not exist"
like "$(finding 'real traces' ORRERY_TRACE_PATH= ORRERY_DATA_PATH=)" "^none .*'orrery trace get' downloads traces" "no folder"
said=$(refused doctor x)
is "$? $said" '2 orrery: doctor: expected no argument, found "x"' "doctor has no arguments"
tap_done
