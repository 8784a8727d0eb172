#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The look of figures: panels, labels that stay inside the figure and do not overlap, the share of the data, --size, --font and --style. The
# structure of the SVG is checked, because pixels depend on the fonts of a machine.
. "${srcdir:-.}/tests/tap.sh"
tests=$(cd "$srcdir/tests/cli" && pwd)
export ORRERY_DATADIR=${ORRERY_DATADIR:-$(cd "$srcdir" && pwd)}
cd "$work" || exit 1

# book NAME KIND SERIES LABEL LOG: a book of a figure that needs no runs
book() {
  mkdir -p "$1"
  awk -v name="$1" -v kind="$2" -v n="$3" -v label="$4" -v scale="$5" 'BEGIN {
    printf "{ \"title\": \"t\", \"axes\": { \"x\": [1, 2, 3, 4, 5, 10], \"s\": ["
    for (i = 1; i <= n; i++) printf "%s{ \"value\": %d, \"label\": \"%s %d\" }", (i > 1 ? ", " : ""), i, label, i
    printf "] }, \"runs\": {}, \"figures\": [ { \"name\": \"%s\", \"kind\": \"%s\", \"x\": { \"axis\": \"x\", \"label\": \"position (m)\", \"log\": %s }, ", name, kind, scale
    printf "\"y\": { \"label\": \"mass of the load (kg)\", \"log\": %s }, \"series\": [ { \"label\": \"${s.label}\", \"each\": [\"s\"], \"y\": \"x * s + 3\" }, ", scale
    printf "{ \"label\": \"least\", \"y\": \"x * 2\", \"marks\": true }, { \"label\": \"largest\", \"y\": \"x * 3\", \"marks\": true } ] } ] }\n" }' >"$1/figures.json"
}
draw() { local name=$1; shift; "$ORRERY" figures "./$name" --out out -q "$@"; }
value() { python3 "$tests/figure_svg.py" "out/$1.svg" | sed -n "s/^$2 //p"; }
faults() { python3 "$tests/figure_svg.py" "out/$1.svg" | grep '^fault'; }

# ---- refusals need no gnuplot ----
book one lines 1 policy false
refuse() {
  local pattern=$1 text rc; shift
  text=$(draw one --no-figures "$@" 2>&1 >/dev/null); rc=$?
  is "$rc" 2 "$* exits with 2"
  like "$text" "$pattern" 'the message says what is expected'
}
refuse 'size: expected WIDTHxHEIGHT in inches, from 2x1 to 30x30, such as 3.5x2.4, found "3"' --size 3
refuse 'size: expected' --size 1x1
refuse 'size: expected' --size 3x2x1
refuse 'font: expected a family .* such as "Sans,8", found "a.;b' --font "a';b"
refuse 'font: expected' --font Sans,200
refuse 'style: expected paper or slides, found "book"' --style book

if ! command -v gnuplot >/dev/null || ! command -v python3 >/dev/null; then
  skip 'no gnuplot or no python3: figures are not drawn' 85
  tap_done
  exit
fi

# ---- series: panels beyond seven ----
for kind in lines bars; do
  for n in 1 7 12 20; do
    book "$kind$n" $kind $n policy false
    draw "$kind$n"
    want=1
    [ $n -gt 7 ] && want=$n
    is "$(value "$kind$n" panels) $(faults "$kind$n")" "$want " "$n series of $kind: $want panel(s); labels are inside and apart"
    is "$(python3 "$tests/figure_svg.py" "out/$kind$n.svg" | grep -c '^text policy')" "$n" 'a label for each series'
    least=0.6
    [ $n -gt 7 ] && least=0.58
    is "$(value "$kind$n" share | awk -v least=$least '{ print ($1 >= least) }')" 1 "the data have at least $least of the figure"
  done
done
book points lines 7 policy false
draw points
is "$(value points points)" 9 'seven series and two kinds of published values: nine marks'
for kind in lines bars; do
  book "log$kind" $kind 7 policy true
  draw "log$kind"
  is "$(faults "log$kind") $(value "log$kind" panels)" ' 1' "log axes of $kind: labels are apart"
  is "$(python3 "$tests/figure_svg.py" "out/log$kind.svg" | sed -n 's/^text //p' | grep -cxE '1|10|100')" "$([ $kind = lines ] && echo 5 || echo 5)" \
    'their tics are powers of ten'
done
book long lines 7 'a label of nearly forty characters' false
draw long
is "$(faults long) $(value long panels)" ' 1' 'long labels are inside and apart'
book longer lines 9 'a label of nearly forty characters' false
draw longer
is "$(faults longer) $(value longer panels)" ' 9' 'also as titles of panels'

# ---- numbers of the axes: long ones apart, a decade with 2 and 5, prefixes; long names of categories ----
mkdir -p axes
cat >axes/figures.json <<'JSON'
{ "title": "t", "axes": { "x": [1000, 8000, 16384], "big": [10000, 200000, 4000000], "one": [0.2], "n": [ { "value": 1, "label": "TTFT 500 ms, TPOT 40 ms" },
  { "value": 2, "label": "TTFT 1 s, TPOT 75 ms" }, { "value": 3, "label": "TTFT 2 s, TPOT 200 ms" } ] }, "runs": {}, "figures": [
  { "name": "far", "kind": "lines", "x": { "axis": "x", "label": "tokens" }, "y": { "label": "time (s)", "log": true }, "series": [
    { "label": "one", "y": "0.016 + x / 1000000" } ] },
  { "name": "large", "kind": "lines", "x": { "axis": "big", "label": "tokens", "log": true }, "y": { "label": "time (s)", "log": true }, "series": [
    { "label": "one", "y": "10 * big" } ] },
  { "name": "decade", "kind": "lines", "x": { "axis": "one", "label": "load" }, "y": { "label": "time of all jobs (s)", "log": true }, "series": [
    { "label": "one", "y": "30000 + one" } ] },
  { "name": "single", "kind": "lines", "x": { "axis": "one", "label": "load" }, "y": { "label": "time (s)" }, "series": [ { "label": "one", "y": "one" } ] },
  { "name": "alone", "kind": "lines", "x": { "axis": "x", "label": "tokens" }, "y": { "label": "time (s)" }, "series": [ { "label": "one", "y": "x < 2000 ? 2 : none" } ] },
  { "name": "turned", "kind": "bars", "x": { "axis": "n", "label": "limit" }, "y": { "label": "requests/s" }, "series": [ { "label": "one", "y": "n" } ] } ] }
JSON
draw axes
shown() { python3 "$tests/figure_svg.py" "out/$1.svg" | sed -n 's/^text //p' | grep -xE "$2" | LC_ALL=C sort -u | paste -sd' '; }
is "$(faults far) $(shown far '[0-9]{4,}')" ' 10000 15000 5000' 'numbers of five digits are apart'
is "$(shown far '0.*')" '0.01 0.02 0.05 0.1' 'a logarithmic axis of one decade has 2 and 5'
is "$(faults single) $(shown single '0[.]2[0-9]*|0[.]19.*')" ' 0.2' 'a single position has one number'
is "$(faults alone) $(value alone 'centre 1000')" ' 0.50' 'the only value of a series lies in the middle of the data'
is "$(shown large '[0-9]+[kM]')" '100M 100k 10M 10k 1M' 'large numbers have prefixes'
is "$(faults decade) $(shown decade '[0-9]+k?')" ' 100k 10k 20k 50k' 'also between powers of ten'
book turned7 bars 1 policy false
sed -i 's/"x": \[[^]]*\]/"x": ["smallest-gpu", "conservative", "shockwave", "gandiva-fair", "elasticflow", "themis-gpu", "gittins-gpu"]/; s/x \* s + 3/s/; s/x \* [23]/1/g' turned7/figures.json
book narrow lines 9 policy-of-long-words false
sed -i 's/"x": \[[^]]*\]/"x": [16, 24]/' narrow/figures.json
draw narrow
is "$(faults narrow) $(shown narrow '16|20|24')" ' 16 24' 'panels of a short range have tics at both ends'
is "$(python3 "$tests/figure_svg.py" out/narrow.svg | grep -cE '^text (long-)?words')" 9 'and titles that break at a hyphen'
book crowd bars 1 policy false
sed -i 's/"x": \[[^]]*\]/"x": ["smallest-gpu", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "conservative", "shockwave"]/; s/x \* s + 3/s/; s/x \* [23]/1/g' crowd/figures.json
draw crowd
is "$(faults crowd) $(grep -c 'rotate(-90' out/crowd.svg)" ' 16' 'names of 16 categories stand upright'
is "$(faults turned)" '' 'turned names begin within the figure'

# ---- bounds of published values: of three marks one is met, one is missed, one has an open end and no value ----
mkdir -p near
cat >near/figures.json <<'JSON'
{ "title": "t", "axes": { "x": [1, 2, 3] }, "runs": {}, "figures": [
  { "name": "near-lines", "kind": "lines", "x": { "axis": "x", "label": "position (m)" }, "y": { "label": "mass (kg)" }, "series": [
    { "label": "simulated", "y": "x < 3 ? 2 * x : none" }, { "label": "published", "y": "{published:p-${x}}", "marks": true } ] },
  { "name": "near-bars", "kind": "bars", "x": { "axis": "x", "label": "position (m)" }, "y": { "label": "mass (kg)" }, "series": [
    { "label": "simulated", "y": "x < 3 ? 2 * x : none" }, { "label": "published", "y": "{published:p-${x}}", "marks": true } ] },
  { "name": "near-twice", "kind": "lines", "x": { "axis": "x", "label": "position (m)" }, "y": { "label": "mass (kg)" }, "series": [
    { "label": "simulated", "y": "2 * x" }, { "label": "other", "y": "9" },
    { "label": "published", "y": "{published:p-${x}}", "marks": true }, { "label": "twice", "y": "2 * {published:p-${x}}", "marks": true } ] } ] }
JSON
printf 'id,what,value,low,high,source\np-1,a,2.5,1.5,3,made up\np-2,b,6,5,7,made up\np-3,c,6,4,,made up\n' >near/published.csv
draw near
for figure in near-lines near-bars; do
  is "$(faults $figure) $(grep -c "rgb(212, 212, 212)" out/$figure.svg) $(grep -c "xlink:href='#gpPt1'" out/$figure.svg)" ' 4 2' \
    "$figure: a shade for each of three bounds, a cross for those without a value within, and both in the legend"
  is "$(python3 "$tests/figure_svg.py" out/$figure.svg | grep -cxE 'text (bounds|none within bounds)')" 2 'the legend names them'
done
is "$(grep -c "rgb(212, 212, 212)" out/near-twice.svg) $(grep -c "xlink:href='#gpPt1'" out/near-twice.svg)" '4 2' \
  'two kinds of marks: each is compared with the line of its colour; an expression has no bounds'
is "$(grep published out/near-lines.csv | paste -sd' ')" '"published","1",2.5,1.5,3 "published","2",6,5,7 "published","3",6,4,' 'the data have the bounds'

# ---- figures of runs ----
# The data take 0.6 of each, and labels do not overlap. For a timeline of few devices the legend is high relative to the rows.
"$ORRERY" jobs philly-like:n=80,load=1.2 --cluster 4x8 --policy fifo,las,srtf,easy-backfill,gandiva --drop-unfit --out out -q
"$ORRERY" spot hazard:p=0.1,length=24h --job bamboo-bert --policy on-demand,bamboo,checkpoint --out out -q
"$ORRERY" step vgg16 --cluster 16x1:v100 --policy parameter-server --out out -q
for figure in jct-cdf utilisation queue-length gantt-fifo node-hours dollars throughput value instances-bamboo; do
  is "$(faults $figure) $(value $figure share | awk '{ print ($1 >= 0.6) }')" ' 1' "$figure: labels are apart, and the data have 0.6 of the figure"
done
"$ORRERY" step vgg16 --cluster 2x1:v100 --policy allreduce --out out -q
for figure in timeline-parameter-server timeline-allreduce; do
  is "$(faults $figure) $(value $figure share | awk '{ print ($1 >= 0.6) }')" ' 1' "$figure, of many devices or of few: 0.6"
done
# The rows of the Gantt chart are the 30 jobs with the longest waits, of equal waits those with the smallest numbers.
wait_of='function column(name, i) { for (i = 1; i <= NF; i++) if ($i == name) return i }'
awk -F, "$wait_of"' NR == 1 { w = column("wait_ns"); n = column("job_id"); next } { print $w, NR, $n }' out/fifo.jobs.csv | LC_ALL=C sort -k1,1nr -k2,2n | head -n 30 |
  sed 's/.* //' | LC_ALL=C sort -n >longest
python3 "$tests/figure_svg.py" out/gantt-fifo.svg | sed -n 's/^text \([0-9]*\) ([0-9]*)$/\1/p' | LC_ALL=C sort -n >drawn
is "$(wc -l <drawn | tr -d ' ') $(cmp longest drawn && echo same)" '30 same' 'the Gantt chart has the 30 jobs that waited longest'
mkdir -p kinds
cat >kinds/figures.json <<'JSON'
{ "title": "t", "axes": { "x": [1, 2, 3, 4], "n": [ { "value": 1, "label": "all branches" }, { "value": 2, "label": "worse than best" },
  { "value": 3, "label": "worse than best two" }, { "value": 4, "label": "the first two" } ] }, "runs": {}, "figures": [
  { "name": "piled", "kind": "stacked", "x": { "axis": "x", "label": "position" }, "y": { "label": "mass (kg)" }, "series": [
    { "label": "one", "y": "x" }, { "label": "two", "y": "2" } ] },
  { "name": "names", "kind": "bars", "x": { "axis": "n", "label": "stop rule" }, "y": { "label": "saving against sequential jobs" }, "series": [
    { "label": "one", "y": "n" } ] },
  { "name": "whole", "kind": "lines", "x": { "axis": "x", "label": "draft tokens" }, "y": { "label": "mass (kg)" }, "series": [ { "label": "one", "y": "10 * x" } ] },
  { "name": "partly", "kind": "lines", "x": { "axis": "x", "label": "draft tokens" }, "y": { "label": "mass (kg)" }, "series": [
    { "label": "one", "y": "x < 3 ? 10 * x : none" } ] } ] }
JSON
draw kinds
for figure in piled names whole partly; do
  is "$(faults $figure) $(value $figure share | awk '{ print ($1 >= 0.6) }')" ' 1' "$figure: labels are apart, and the data have 0.6 of the figure"
done
is "$(shown names '(all|branches|worse|than best|worse than|best two|the first|two)')" 'all best two branches than best the first two worse worse than' \
  'names of positions are split before they are turned'
is "$(shown whole '[0-9](.5)?') $(shown partly '[34]')" '0 1 2 3 4 5 ' 'no tics between whole numbers; an axis ends where the values do'

# ---- more than 7 runs: a panel for each, in every figure of curves; colours and dashes never repeat ----
"$ORRERY" jobs philly-like:n=80,load=1.2 --cluster 4x8 --policy fifo,fjf,sjf,srtf,las,easy-backfill,gandiva,qssf,smallest-gpu --drop-unfit --out many -q
for figure in jct-cdf utilisation queue-length; do
  cp "many/$figure.svg" "out/many-$figure.svg"
  is "$(faults "many-$figure") $(value "many-$figure" panels) $(value "many-$figure" share | awk '{ print ($1 >= 0.58) }')" ' 9 1' \
    "$figure of 9 policies: a panel for each, labels apart"
  is "$(python3 "$tests/figure_svg.py" "many/$figure.svg" | grep -cxE 'text (fifo|fjf|sjf \(oracle\)|las|gandiva|smallest-gpu)')" 6 'with its name'
done
is "$(shown many-jct-cdf '1 (s|h|d)|1 min|10+ [a-z]+')" '1 d 1 h 1 min' 'their times have units'
"$ORRERY" serve poisson:rate=20,n=300,prompt=500,output=50 --model llama2-7b --cluster 1x4:a100 --policy vllm,vllm@b,vllm@c,vllm@d,vllm@e,vllm@f,vllm@g,vllm@h \
  --out many -q
for figure in latency-cdf in-system; do
  cp "many/$figure.svg" "out/many-$figure.svg"
  is "$(faults "many-$figure") $(value "many-$figure" panels)" ' 8' "$figure of 8 policies"
done

# Curves of steps are paths with a corner at each value, which keep their dashes in PDF and PNG; gnuplot's "with steps" restarts the dashes
# at each step.
printf 'job_id,submit_s,duration_s,gpus\na,0,100,1\nb,0,1000,1\nc,0,3000,1\n' >three.csv
"$ORRERY" jobs three.csv --cluster 4x8 --policy fifo,las --out many -q 2>/dev/null
is "$(sed -n "s/.*stroke-dasharray='10.8,3.6'  d='M\([^']*\)'.*/\1/p" many/jct-cdf.svg | head -n 1 | tr ' ' '\n' | grep -c ,) $(grep -l 'with steps' "$ORRERY_DATADIR"/plots/*.gp)" \
  '6 ' 'three jobs: a start, and a corner between two values'

# ---- published values in panels ----
# The legend above has their name, bounds and misses. Each ninth line has a value within and one outside of its bounds.
mkdir -p near9
cat >near9/figures.json <<'JSON'
{ "title": "t", "axes": { "x": [1, 2], "s": [1, 2, 3, 4, 5, 6, 7, 8, 9] }, "runs": {}, "figures": [
  { "name": "near9", "kind": "lines", "x": { "axis": "x", "label": "position (m)" }, "y": { "label": "mass (kg)" }, "series": [
    { "label": "system ${s}", "each": ["s"], "y": "x * s" }, { "label": "published, system ${s}", "each": ["s"], "y": "{published:p-${x}}", "marks": true } ] } ] }
JSON
printf 'id,what,value,low,high,source\np-1,a,2,0.5,9.5,made up\np-2,b,1,0.5,1.5,made up\n' >near9/published.csv
draw near9
is "$(faults near9) $(value near9 panels) $(python3 "$tests/figure_svg.py" out/near9.svg | grep -cxE 'text (published|bounds|none within bounds)')" ' 9 3' \
  'nine lines with published values: one entry for all of them'
is "$(grep -c "polygon fill = 'rgb(212, 212, 212)'" out/near9.svg) $(grep -c "xlink:href='#gpPt1'" out/near9.svg)" '19 10' '18 shades and 9 crosses, and one of each in the legend'

# ---- numbers without exponents; marks that do not run together; maps ----
mkdir -p numbers
cat >numbers/figures.json <<'JSON'
{ "title": "t", "axes": { "x": [1, 2, 3, 4], "n": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34,
  35, 36, 37, 38, 39] }, "runs": {}, "figures": [
  { "name": "millions", "kind": "lines", "x": { "axis": "x", "label": "position" }, "y": { "label": "mass (kg)" }, "series": [ { "label": "one", "y": "x * 600000" } ] },
  { "name": "cents", "kind": "stacked", "x": { "axis": "x", "label": "position" }, "y": { "label": "mass of the load and of the car (kg)" }, "series": [
    { "label": "one", "y": "x * 0.006" }, { "label": "two", "y": "x * 0.004" } ] },
  { "name": "dense", "kind": "lines", "x": { "axis": "n", "label": "time (s)" }, "y": { "label": "mass (kg)" }, "series": [ { "label": "one", "y": "n" } ] } ] }
JSON
draw numbers
is "$(faults millions) $(shown millions '.*[kM]|.*e.*')" ' 1.5M 1M 2.5M 2M 500k one' 'numbers from a million have prefixes instead of exponents'
is "$(faults cents)" '' 'numbers of stacks do not touch the label'
is "$(grep -c "xlink:href='#gpPt6'" out/dense.svg)" 21 'of 40 points each second has a mark, and the legend'
if [ -n "$("$ORRERY" calib show v100 --out out 2>/dev/null)" ]; then
  is "$(faults efficiency-fp16) $(value efficiency-fp16 share | awk '{ print ($1 >= 0.6) }')" ' 1' 'a map: labels are apart, and it has 0.6 of the figure'
fi

# ---- size, font, style ----
cp out/lines12.csv data.csv
for options in '--size 5x3' '--style slides' '--font Serif,10'; do
  # shellcheck disable=SC2086
  draw lines7 $options
  echo "$options: $(value lines7 size), $(sed -n 's/.*font-family="\([^"]*\)" font-size="\([^"]*\)".*/\1 \2/p' out/lines7.svg | sort -u)"
done >looks
is "$(cat looks)" "--size 5x3: 480 288, Sans 10.67
--style slides: 768 432, Sans 21.33
--font Serif,10: 336 $(sed -n 's/^--font Serif,10: 336 \([0-9]*\),.*/\1/p' looks), Serif 13.33" 'size, font and style'
sed 's/mass of the load/mass of all the loads of a truck/' lines7/figures.json >lines7/new && mv lines7/new lines7/figures.json
draw lines7 --style slides
is "$(faults lines7)" '' 'a label of y that is longer than the data are high does not meet the legend'
book tall lines 6 'a name of a series' false
sed -i 's/mass of the load (kg)/goodput (requests per second), long context, 16 x 8 A100 80 GB/' tall/figures.json
draw tall --style slides
is "$(faults tall) $(python3 "$tests/figure_svg.py" out/tall.svg | grep -cxE 'text (goodput \(requests per|second\), long context,|16 x 8 A100 80 GB)')" ' 3' 'on a slide with a high legend it has three lines'
draw lines12 --style slides
is "$(value lines12 panels) $(value lines12 size | cut -d' ' -f1)" '12 768' 'panels on a slide'
for words in 'all the loads of a truck' 'all the loads of a truck, of its trailer and of its driver'; do
  sed "s/mass of the load/mass of $words/" lines12/figures.json >lines12/new
  mkdir -p lines12y && mv lines12/new lines12y/figures.json
  for style in slides paper; do
    "$ORRERY" figures ./lines12y --out wide-label -q --style $style
    cp wide-label/lines12.svg out/lines12y.svg
    is "$(faults lines12y) $(value lines12y panels)" ' 12' 'a long label of y stays within the panels of a figure for '$style
  done
done
# The names of the same positions are turned on paper, and in one row on a wider figure. Turned names leave the rest of the height to the
# data.
draw turned7 --size 3.5x3
is "$(faults turned7) $(grep -c 'rotate(-30' out/turned7.svg) $(value turned7 share | awk '{ print ($1 >= 0.58) }')" ' 7 1' 'turned names on a narrow figure'
draw turned7 --size 9x3
is "$(faults turned7) $(grep -c 'rotate(-30' out/turned7.svg)" ' 0' 'names in a row on a wide one'
is "$(cmp out/lines12.csv data.csv && echo same)" same 'the data do not depend on the look'
tap_done
