#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Printed tables: their width at 60, 80, 120 and 200 columns by COLUMNS and on a terminal, one unit per column, Markdown and LaTeX that
# pandoc and pdflatex accept, CSV and JSON.
. "${srcdir:?}/tests/tap.sh"

ORRERY=$(realpath "$ORRERY")
cd "$work" || exit 1

# holds WHAT COMMAND..: passes if the command does
holds() {
	local what=$1
	shift
	"$@"
	ok $? "$what"
}
jobs=(jobs philly-like:n=60 --cluster 4x8 --policy fifo,srtf,las,sjf --seed 3)
step=(step resnet50 --cluster 2x4:v100 --policy allreduce,parameter-server)
printf '%s' '{"axes": {"load": [0.5, 1], "policy_of_placement": ["count"]}, "runs": {"philly": {"axes": ["load", "policy_of_placement"],
"scenario": {"trace": "philly-like:n=50,load=${load}", "cluster": "4x8", "placement": "${policy_of_placement}",
"policies": ["fifo", "srtf"]}}}}' >study.json

# Prints the longest line of standard input, in characters. awk counts bytes in the C locale, so continuation bytes are removed.
longest() { tr -d '\200-\277' | awk '{ if (length > n) n = length } END { print n + 0 }'; }

for what in jobs step sweep; do
	case $what in
	jobs) args=("${jobs[@]}") ;;
	step) args=("${step[@]}") ;;
	sweep) args=(sweep study.json) ;;
	esac
	for width in 60 80 120 200; do
		COLUMNS=$width "$ORRERY" "${args[@]}" >out 2>err
		n=$(longest <out)
		holds "$what: COLUMNS=$width, no line is longer" [ "$n" -le "$width" ]
		holds "$what: COLUMNS=$width, there is a table" grep -q policy out
	done
	"$ORRERY" "${args[@]}" >wide 2>err
	holds "$what: without COLUMNS and a terminal, the table has one part" [ "$(sed "/^$/q" wide | grep -c policy)" -eq 1 ]
done

if command -v python3 >/dev/null; then
	for width in 60 80 120 200; do
		python3 - "$width" "$ORRERY" "${jobs[@]}" >out <<'P'
import fcntl, os, pty, struct, sys, termios
pid, fd = pty.fork()
if pid == 0:
    os.environ.pop("COLUMNS", None)
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
    null = os.open("/dev/null", os.O_WRONLY)
    os.dup2(null, 2)
    os.execv(sys.argv[2], sys.argv[2:])
text = b""
while True:
    try:
        part = os.read(fd, 65536)
    except OSError:
        break
    if not part:
        break
    text += part
os.waitpid(pid, 0)
sys.stdout.buffer.write(text.replace(b"\r\n", b"\n"))
P
		n=$(longest <out)
		holds "jobs: a terminal of $width columns, no line is longer" [ "$n" -le "$width" ]
		holds "jobs: a terminal of $width columns, there is a table" grep -q '^policy' out
	done
else
	skip "python3 is not installed: no terminal" 8
fi

# One unit per column: the cells below a title have the same last word.
"$ORRERY" "${jobs[@]}" --table markdown >out.md 2>/dev/null
holds "Markdown: units are in the titles" grep -Eq '^\| policy \| JCT mean \((s|min|h|d)\) ' out.md
holds "Markdown: cells of metrics are numbers" awk -F'|' '/^\| (fifo|las) / && $3 !~ /^ [-0-9.]+( .*)? $/ { bad = 1 } END { exit bad }' out.md
"$ORRERY" "${jobs[@]}" >out 2>/dev/null
units=$(awk '/^policy/ { t = 1; next } t && NF == 0 { exit } t' out | sed 's/ (oracle)//' | awk '{ print $3 }' | sort -u | wc -l)
holds "text: one unit in the column of mean JCT" [ "$units" -eq 1 ]

"$ORRERY" "${jobs[@]}" --table latex >out.tex 2>/dev/null
holds "LaTeX: a tabular" grep -q '^\\begin{tabular}{lr' out.tex
holds "LaTeX: the per cent sign is escaped" grep -q 'utilisation (\\%)' out.tex
"$ORRERY" sweep study.json --table latex >sweep.tex 2>/dev/null
holds "LaTeX: underscores of a study are escaped" grep -q 'policy\\_of\\_placement' sweep.tex
if command -v pandoc >/dev/null; then
	holds "pandoc reads the Markdown as a table" sh -c 'pandoc -f markdown -t html out.md | grep -q "<table"'
else
	skip "pandoc is not installed: Markdown is not compiled" 1
fi
if command -v pdflatex >/dev/null; then
	for f in out sweep; do
		printf '\\documentclass{article}\\usepackage[utf8]{inputenc}\\begin{document}\\footnotesize\n\\input{%s.tex}\n\\end{document}\n' \
			$f >whole-$f.tex
		holds "pdflatex compiles $f.tex" sh -c "pdflatex -interaction=nonstopmode -halt-on-error whole-$f.tex >/dev/null"
	done
else
	skip "pdflatex is not installed: LaTeX is not compiled" 2
fi

"$ORRERY" "${jobs[@]}" --table csv >out.csv 2>/dev/null
holds "CSV: the metrics' names" grep -q '^policy,jct_mean,jct_mean_ci_low,jct_mean_ci_high,' out.csv
holds "CSV: a row per policy and nothing else" [ "$(wc -l <out.csv)" -eq 5 ]
holds "CSV: each row has as many fields" [ "$(awk -F, '{ print NF }' out.csv | sort -u | wc -l)" -eq 1 ]
"$ORRERY" "${jobs[@]}" --table json >a.json 2>/dev/null
"$ORRERY" "${jobs[@]}" --json >b.json 2>/dev/null
holds "--table json is --json" cmp -s a.json b.json
"$ORRERY" "${jobs[@]}" --table html >out 2>err
is $? 2 "an unknown form is refused with exit code 2"
holds "its message names the forms" grep -q -- '--table html: expected text, markdown, latex, csv or json' err
# Numbers in JSON are as short as they are exact.
if command -v python3 >/dev/null; then
	holds "JSON numbers are the shortest of 15, 16 and 17 digits that read back" python3 - b.json <<'P'
import json, sys
def check(text):
    v = float(text)
    short = next(s for s in ("%.15g" % v, "%.16g" % v, "%.17g" % v) if float(s) == v)
    assert len(text) <= len(short) or float(text).is_integer(), (text, short)
    return v
json.load(open(sys.argv[1]), parse_float=check)
P
else
	skip "python3 is not installed: JSON numbers are not read" 1
fi
tap_done
