#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Signals and figures: a signal leaves no temporary file and is the reason of the end; an ignored signal stays ignored; figures that
# cannot be drawn are an error; gnuplot is ended if it hangs, and never comes from a relative folder.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
cd "$work" || exit 1
printf 'job_id,submit_s,duration_s,gpus\na,0,10,1\nb,1,5,1\n' >t.csv
jobs=(jobs t.csv --cluster 1x1 --policy fifo)
# drafts: prints up to 3 temporary files of this folder
drafts() { find . -name '*.tmp' -o -name '*.part' -o -name 'figures.*' | head -n 3; }
# after COMMAND..: waits up to 10 s until the command succeeds
after() { for _ in $(seq 200); do "$@" 2>/dev/null && return; sleep 0.05; done; return 1; }
has_draft() { [ -n "$(drafts)" ]; }

# ---- figures that fail ----
mkdir bin
# fake BODY: writes a gnuplot with this body
fake() { printf '#!/bin/sh\n%s\n' "$1" >bin/gnuplot; chmod +x bin/gnuplot; }
fake 'cat >/dev/null; echo broken >&2; exit 1'
PATH=$work/bin:$PATH "$orrery" "${jobs[@]}" --out broken -q 2>said
is "$? $(cat said)" "1 orrery: no figures were drawn: gnuplot failed (status 1): broken (the CSV files are complete)" "gnuplot fails"
is "$(ls broken | tr '\n' ' ')" "fifo.jobs.csv fifo.series.csv notes.csv summary.csv " "which leaves the CSV files"
fake 'cat >/dev/null'
PATH=$work/bin:$PATH "$orrery" "${jobs[@]}" --out silent -q 2>said
like "$? $(cat said)" '^1 orrery: no figures were drawn: silent/[a-z-]+\.pdf: gnuplot wrote an incomplete file' "gnuplot draws nothing"
fake 'cat >/dev/null; sleep 600'
begin=$SECONDS
ORRERY_GNUPLOT_TIMEOUT=1 PATH=$work/bin:$PATH timeout 60 "$orrery" "${jobs[@]}" --out slow -q 2>said
like "$? $(cat said)" '^1 orrery: no figures were drawn: .*/bin/gnuplot made no progress for 1 s and was ended' "gnuplot that hangs at its end"
fake 'sleep 600'
ORRERY_GNUPLOT_TIMEOUT=1 PATH=$work/bin:$PATH timeout 60 "$orrery" "${jobs[@]}" --out slow -q 2>said
like "$? $(cat said)" '^1 orrery: no figures were drawn: .*/bin/gnuplot made no progress for 1 s and was ended' "gnuplot that reads nothing"
is "$((SECONDS - begin < 30))" 1 "soon after its limit of time"
is "$(drafts)" "" "no temporary file remains"

# A gnuplot in the folder of the figures, or in the current one, does not run.
printf '#!/bin/sh\ntouch "%s/trapped"\n' "$work" >gnuplot
chmod +x gnuplot
mkdir here && cp gnuplot here/
for path in . "" bin ":$PATH" ".:$PATH" "here:$PATH"; do
  PATH=$path "$orrery" "${jobs[@]}" --out here -q 2>said
done
is "$([ -e trapped ]; echo $?)" 1 "gnuplot is not taken from a relative folder of PATH"
PATH=. "$orrery" "${jobs[@]}" --out here -q 2>said
like "$? $(cat said)" '^3 orrery: no figures were drawn: gnuplot is not installed' "but then is missing"

# ---- signals ----
ulimit -c 0
fake 'cat >/dev/null; sleep 600'
for s in INT:130 TERM:143 HUP:129 PIPE:141 QUIT:131; do
  PATH=$work/bin:$PATH env --default-signal "$orrery" "${jobs[@]}" --out "o-$s" -q 2>said &
  pid=$!
  after has_draft || echo "# no draft"
  kill -"${s%:*}" $pid
  wait $pid 2>/dev/null
  is "$? $(drafts)" "${s#*:} " "SIG${s%:*} during --out ends the program and leaves no temporary file"
done
"$orrery" trace synth poisson:n=100000000,rate=1,mean=2 -o big.csv >said 2>&1 &
pid=$!
after has_draft || echo "# no draft"
kill -TERM $pid
wait $pid 2>/dev/null
is "$? $(drafts) $([ -e big.csv ]; echo $?)" "143  1" "SIGTERM during -o leaves no file"
said=$( (ulimit -f 8; "$orrery" trace synth poisson:n=100000,rate=1,mean=2 -o big.csv 2>&1) )
like "$? $said" '^1 orrery: big\.csv: cannot be written: File too large' "a file above ulimit -f is a failed write"
said=$( (ulimit -f 8; "$orrery" jobs poisson:n=3000,rate=1,mean=2 --cluster 1x1 --policy fifo --out lim -q 2>&1) )
like "$? $said" '^1 orrery: lim/fifo\.jobs\.csv: cannot be written: File too large \(an existing file is unchanged\)' "also with --out"
said=$( (ulimit -f 8; "$orrery" jobs poisson:n=3000,rate=1,mean=2 --cluster 1x1 --policy fifo --db lim.db -q 2>&1) )
like "$? $said" '^1 orrery: ' "also with --db"
is "$(drafts)" "" "which leaves no temporary file"

# What the parent ignores stays ignored: nohup, and `command &` in a script.
for s in INT HUP; do
  fake 'cat >/dev/null; touch "'"$work"'/began"; sleep 0.3; exit 1'
  rm -f began
  (trap '' $s; PATH=$work/bin:$PATH exec "$orrery" "${jobs[@]}" --db "ignored-$s.db" --out "i-$s" -q) 2>said &
  pid=$!
  after test -e began
  kill -$s $pid 2>/dev/null
  wait $pid
  is "$? $(grep -c 'no figures' said)" "1 1" "an ignored SIG$s stays ignored"
done

# A shell reads 130 after Ctrl-C, and the database has the completed runs.
# A background process of a script ignores SIGINT; env restores the default.
env --default-signal=INT "$orrery" jobs poisson:n=1000000,rate=1,mean=2 --cluster 1x1 --policy fifo,sjf,las,srtf -j1 --db c.db \
  --no-figures -q 2>said &
pid=$!
has_run() { "$orrery" db runs c.db | grep -q fifo; }
after has_run || echo "# no run"
kill -INT $pid
wait $pid
rc=$?
like "$rc $(tr '\n' ' ' <said)" '^130 +orrery: interrupted; the database has the completed runs' "Ctrl-C exits with 130"
tap_done
