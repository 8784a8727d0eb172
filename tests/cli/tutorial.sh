#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The tutorials as a new user runs them: each command in order, in an empty folder; each line of output that a page shows, and each number that
# its sentences state, is in what the program printed.
. "${srcdir:-.}/tests/tap.sh"
not_sanitized "a test of the pages and of results that other tests check, not of the program's memory"
orrery=$(realpath "$ORRERY")
docs=$(realpath "$srcdir/docs")
mkdir "$work/bin"
ln -s "$orrery" "$work/bin/orrery"
export PATH=$work/bin:$PATH
exec </dev/null

# blocks PAGE: writes block.N.sh or block.N.text for each block of the page, N from 100 on
blocks() {
  awk -v n=100 '/^```(sh|console)$/ { on = $0 ~ /sh$/ ? 1 : 2; file = "block." n++ ".sh"; printf "" >file; next }
    /^```text$/ { on = 3; file = "block." n++ ".text"; next }
    /^```/ { on = 0; next }
    on == 2 { sub(/^\$ /, "") } on { print >file }' "$1"
}
# unseen TEXT OUTPUT: prints the lines of TEXT that no line of OUTPUT has; columns that the page leaves out may be missing, and ".." ends a line
unseen() {
  sed 's/, \.\.$//' "$1" | grep -v '^-*$\|^----' | while IFS= read -r line; do
    awk -v line="$line" 'BEGIN { n = split(line, cell, /  +/) }
      { m = split($0, has, /  +/); k = 1
        if (index($0, line) == 1) k = n + 1
        for (i = 1; i <= m && k <= n; i++) { sub(/ +$/, "", has[i]); if (has[i] == cell[k]) k++ }
        if (k > n) found = 1 }
      END { if (!found) print line }' "$2"
  done
}
# page NAME: runs the blocks of a page; all output is in said
page() {
  mkdir "$work/$1" && cd "$work/$1" || exit 1
  blocks "$docs/$1.md"
  : >said
  for b in block.*; do
    case $b in
    *.sh)
      if grep -q '^sqlite3 ' "$b" && ! command -v sqlite3 >/dev/null; then skip "$1: no sqlite3"; : >last; continue; fi
      bash -e -c ". ./$b" >last 2>&1
      rc=$?
      [ $rc = 0 ] || sed 's/^/# /' last
      ok $rc "$1: $(grep -o '^orrery [a-z]* *[a-z]*\|^sqlite3\|^cc ' "$b" | tr '\n' ';')"
      cat last >>said
      ;;
    *.text) [ ! -s last ] || is "$(unseen "$b" last)" "" "$1: the lines that the page shows: $(head -n 1 "$b")" ;;
    esac
  done
}
says() { # PAGE SENTENCE OUTPUT..: the page has the words, and the output each of the patterns
  grep -qzE "$(sed 's/ /[[:space:]]+/g' <<<"$2")" "$docs/$1.md"
  ok $? "$1 says: $2"
  for pattern in "${@:3}"; do like "$(cat said)" "$pattern" "and so does the program"; done
}

if command -v gnuplot >/dev/null; then
  page tutorial
  says tutorial '11,302 jobs, most of them on one GPU, 125,687 GPU hours' '^rows +11302$' '^one whole GPU +10570$' '^GPU hours +125687$'
  says tutorial 'need 374 GPUs on average' '^GPU time / span +374\.133$'
  says tutorial 'mean is 4\.99 days, of which 4\.82 days are waiting' '^fifo +4\.99 d +4\.24 d +11\.6 d +4\.82 d '
  says tutorial 'reduces the mean completion time by 94 %' '^  las +-4\.70 d +-94\.2 %'
  says tutorial 'The mean under `las` rises from 0\.288 to 0\.301 days: 8,272 preemptions' '^las +0\.288 d ' '^las +0\.301 d .* 8272$'
  says tutorial '`las` still completes jobs in 0\.411 days \(9\.9 hours\) on average' '^las +0\.411 d +0\.334 h '
  is "$(grep -c 'the run is taken from study.db' said)" 4 "runs that the database has are not repeated: fifo, las, and both of the scenario file"
  is "$(tail -n 1 said)" "$("$orrery" db digest study.db)" "the digest is printed again"
  is "$("$orrery" trace synth philly-like:days=14 -o again.csv.gz 2>/dev/null; cmp again.csv.gz jobs.csv.gz)" "" "the trace is made again, byte by byte"
else
  skip "gnuplot is not installed" 20
fi

if "$orrery" doctor | grep -q '^ok  *libpython3 ' && command -v cc >/dev/null; then
  page tutorial-own
  like "$(cat said)" '^orrery: ours.csv:1: unknown trace format: its columns are id \(job_id\), .* --map job_id=id,submit=created_at,start=began,' "the answer to an unknown table"
  says tutorial-own 'the mean falls to 29\.0 hours' '^patient +29\.0 h '
  says tutorial-own 'falls from 34\.6 hours to 73\.9 minutes under `fifo`, and from 4\.92 hours to 77\.2 minutes' '^fifo +34\.6 h ' '^las +4\.92 h '
  says tutorial-own 'with `n=500`, all of them arrive within seconds, before queues build up, and the rate seems to be almost twice as high\. A remark'
  like "$("$orrery" serve poisson:rate=2,n=500,prompt=1500,output=200 --model llama3-8b --cluster 1x4:h100 --policy vllm --find-rate ttft=500ms --attainment 0.99)" \
    '^vllm: 127 requests/s, .*' "n=500: almost twice as high"
  like "$("$orrery" serve poisson:rate=2,n=500,prompt=1500,output=200 --model llama3-8b --cluster 1x4:h100 --policy vllm --find-rate ttft=500ms --attainment 0.99)" \
    '^vllm: at this rate all requests arrive within 0\.[0-9]+ mean latencies' "n=500: the remark"
  is "$(grep -oE '(src|href)="[^"#]{1,60}' report.html | grep -v '"data:')" "" "the report loads nothing from a network or another file"
  ok "$(($(grep -c '<svg' report.html) < 1))" "it has figures"
  for text in "Two weeks" "Should small jobs overtake?" patient patient-c fjf; do grep -qF -- "$text" report.html; ok $? "the report has $text"; done
else
  skip "no libpython3 or no cc on this machine, or a build without Python" 20
fi
tap_done
