#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# orrery report: refused arguments, structure of the page, hostile texts, long tables, and use in a browser where one is installed
. "${srcdir:-.}/tests/tap.sh"
tests=$(cd "$srcdir/tests/cli" && pwd)
cd "$work" || exit 1

# refuse PATTERN ARGUMENTS..
refuse() {
  local pattern=$1 text rc; shift
  text=$("$ORRERY" report "$@" 2>&1 >/dev/null); rc=$?
  is "$rc" 2 "report $* exits with 2"
  like "$text" "$pattern" 'the message gives the reason'
}

# The ids of jobs are hostile: an element, the end of a CDATA section, an escape sequence, a quote, bytes that are not UTF-8.
hostile() {
  echo 'job_id,submit_s,duration_s,gpus'
  printf ']]>,0,60,32\n<script>alert(1)</script>,0,60,32\n\033[31mred,0,60,32\n\x27 onload=x &amp; \x27,0,60,32\n\xff\xfe,0,60,32\n'
  awk -v n="$1" 'BEGIN { for (i = 6; i <= n; i++) printf "j%d,%d,%d,%d\n", i, i, 60 + i % 90, 1 + i % 4 }'
}
hostile 10000 >jobs.csv
"$ORRERY" jobs jobs.csv --cluster 4x8 --policy 'fifo,las' --db long.db -q >/dev/null
"$ORRERY" report long.db -o long.html --rows 20000 --title '</title><script>x()</script> ]]>' --question $'Is "it" safe & <b>sound</b>?\033'
is "$?" 0 'a page of 20,000 rows with hostile names'
hostile 5 >few.csv
"$ORRERY" jobs few.csv --cluster 4x8 --policy fifo --db few.db -q >/dev/null
"$ORRERY" report few.db -o few.html
cat >study.json <<'JSON'
{ "title": "Loads and sizes", "about": "Which policy bears the load?",
  "axes": { "load": [0.5, 1], "nodes": [8, 16] }, "seeds": 2,
  "runs": { "month": { "axes": ["load", "nodes"], "scenario": { "world": "jobs", "trace": "philly-like:n=60,load=${load}",
    "cluster": "${nodes}x8", "policies": ["fifo", "las"] } } } }
JSON
"$ORRERY" sweep ./study.json --db study.db -q >/dev/null
"$ORRERY" report study.json --db study.db -o study.html
is "$?" 0 'a page of a study'
"$ORRERY" step vgg16 --cluster 2x1:v100 --policy allreduce,parameter-server --db step.db -q >/dev/null
"$ORRERY" report step.db -o step.html
"$ORRERY" report step.db -o again.html
is "$(cksum <step.html)" "$(cksum <again.html)" 'the same database gives the same bytes'

digest=$("$ORRERY" db digest step.db)
is "$(grep -c "<dt>digest</dt><dd><code>$digest<" step.html)" 1 'the digest of the database'
cp step.db large.db && sqlite3 large.db 'CREATE TABLE filler(x); INSERT INTO filler VALUES (zeroblob(52000000))'
"$ORRERY" report large.db -o large.html
is "$? $(grep -c 'not computed for 52 MB: &#39;orrery db digest&#39; prints it' large.html)" '0 1' 'of a large one its command, which takes seconds'
rm -f large.db

# ---- contents ----
is "$(grep -c '<h1>Loads and sizes</h1>' study.html)" 1 'the title is that of the study'
is "$(grep -c '<p class="question">Which policy bears the load?</p>' study.html)" 1 'and so is the question'
is "$(grep -c '<figcaption>JCT mean, trace = philly-like:n=60,load=' study.html)" 2 'a figure for each load'
is "$(grep -c 'orrery run --from study.db --run 16<' study.html)" 1 'the command of each run'
is "$(grep -c '<h3>Assumptions</h3>' step.html)" 1 'assumptions'
is "$(grep -c 'JCT mean (h) under fifo</title>' study.html)" 1 'a heat map of two axes, with its unit'
# The values come from the database: the mean JCT of run 1 in hours, with four digits.
value=$(sqlite3 study.db "SELECT printf('%.4g', value / 3600) FROM metrics WHERE run = 1 AND name = 'jct_mean'")
like "$(grep -A 1 '<tr><td class="number">1</td><td>fifo</td>' study.html | head -n 1)" "<td class=\"number\">$value" 'the table has the stored value'
is "$(grep -c 'Operations of devices under allreduce' step.html)" 2 'a timeline of devices, in caption and title'

# ---- units and differences are those of the printed table ----
run() { "$ORRERY" jobs philly-like:n=60 --seed 3 --cluster 4x8 --policy 'fifo,las,srtf' "$@"; }
headings() { sed -n '/<thead>/{s/<\/button>/\n/g;p}' "$1" | sed 's/.*>//' | grep . ; }
run --table markdown --db one.db 2>/dev/null | head -n 1 | tr '|' '\n' | sed 's/^ *//; s/ *$//' | grep '(' >printed
"$ORRERY" report one.db -o one.html
headings one.html >shown
is "$(wc -l <printed | awk '{ print ($1 > 3) }') $(grep -cvxFf shown printed)" '1 0' 'each column has the unit of the printed table'
difference=$(run --db one.db 2>/dev/null | sed -n '/job by job/,$s/^  las  *\([-+0-9.]*\) .*/\1/p')
like "$difference" '^[-+]?[0-9.]+$' 'the printed table has a difference'
is "$(grep -A 4 '<caption>Mean JCT against fifo, job by job</caption>' one.html | grep -cF "<td>las</td><td class=\"number\">$difference")" 1 \
  'and so does the page, with the same numbers'
"$ORRERY" jobs 'philly-like:n=60' --cluster 4x8 --policy fifo,las --replications 12 --db many.db >many.txt 2>/dev/null
"$ORRERY" report many.db -o many.html
line=$(grep -A 1 'JCT mean against fifo, paired over 12 replications' many.txt | tail -n 1)
number=$(echo "$line" | sed 's/^ *las *\([-+0-9.]*\) [a-z]* \(\[[^]]*\]\).*/\1 \2/')
is "$(grep -A 4 '<caption>JCT mean against fifo, paired over 12 replications' many.html | grep -cF "<td>las</td><td class=\"number\">$number<")" 1 \
  'differences over replications, with their intervals'
is "$(grep -c '<caption>Order by JCT mean over 12 replications</caption>' many.html)" 1 'and the order of the policies'
cat >seeds.json <<'JSON'
{ "title": "Seeds", "seeds": 12, "runs": { "month": { "scenario": { "world": "jobs", "trace": "philly-like:n=60", "cluster": "8x8", "policies": ["fifo", "las"] } } } }
JSON
"$ORRERY" sweep ./seeds.json --db seeds.db -q >/dev/null
"$ORRERY" report seeds.json --db seeds.db -o seeds.html
is "$(grep -c '<caption>JCT mean against fifo, paired over 12 seeds</caption>' seeds.html)" 1 'the seeds of a study pair the policies'
# The share is the difference of the stored means, in per cent of the first.
mean() { sqlite3 seeds.db "SELECT avg(value) FROM metrics JOIN runs USING(run) WHERE name = 'jct_mean' AND label = '$1'"; }
share=$(awk -v a="$(mean fifo)" -v b="$(mean las)" 'BEGIN { printf "%+.1f", 100 * (b - a) / a }')
is "$(grep -A 3 '<caption>JCT mean against fifo, paired' seeds.html | grep -cF "<td class=\"number\">$share</td>")" 1 'their difference is that of the means'

# ---- a book ----
mkdir -p mine
cat >mine/figures.json <<'JSON'
{ "title": "A small book", "about": "What does a book look like?",
  "axes": { "gpus": [2, 4] },
  "runs": {
    "one": { "axes": ["gpus"], "scenario": { "world": "step", "model": "vgg16", "cluster": "${gpus}x1:v100", "policies": ["allreduce", "parameter-server"] } },
    "other": { "axes": ["gpus"], "scenario": { "world": "step", "model": "resnet50", "cluster": "${gpus}x1:v100", "policies": ["allreduce"] } } },
  "figures": [
    { "name": "speed", "kind": "lines", "x": { "axis": "gpus", "label": "GPUs" }, "y": { "label": "samples/s" }, "series": [
      { "label": "all-reduce", "y": "{one.allreduce.samples_per_s}" },
      { "label": "published", "y": "{published:speed-${gpus}}", "marks": true } ] },
    { "name": "bars", "kind": "bars", "x": { "axis": "gpus" }, "y": { "label": "samples/s" }, "series": [
      { "label": "all-reduce", "y": "{one.allreduce.samples_per_s}" }, { "label": "other", "y": "{other.allreduce.samples_per_s}" } ] } ],
  "table": [ { "id": "speed-${gpus}", "each": ["gpus"], "simulated": "{one.allreduce.samples_per_s}" } ] }
JSON
printf 'id,what,value,low,high,source\nspeed-2,speed of 2,100,1,10000,"made up"\nspeed-4,speed of 4,200,1,2,"made up"\n' >mine/published.csv
"$ORRERY" figures ./mine --db mine.db --no-figures --out out -q
"$ORRERY" report mine/figures.json --db mine.db -o mine.html
is "$?" 0 'a page of a book'
is "$(grep -c '<caption>Published and simulated values</caption>' mine.html) $(grep -c 'made up' mine.html)" '1 2' 'published values, with their sources'
simulated=$(tr -d '"' <out/table.csv | awk -F, '$1 == "speed-2" { printf "%.6g", $7 }')
is "$(grep -c "<td class=\"number\">$simulated</td>" mine.html)" 1 'beside the simulated value of the printed table'
is "$(grep -c '2 have bounds; 1 lies outside' mine.html) $(grep -c '\[1, 2\] no<' mine.html)" '1 1' 'a value outside its bounds is marked'
is "$(grep -c '<figcaption>speed: samples/s</figcaption>' mine.html) $(grep -c 'class="bar"' mine.html) $(grep -c 'fill="#ffffff" stroke=' mine.html)" \
  '1 4 2' 'the figures of the book, with bars and hollow marks for published values'
# Of the published values drawn, 100 lies within [1, 10000] and 200 has the bounds [1, 2], which no simulated value meets.
is "$(grep -o 'class="bounds"' mine.html | wc -l) $(grep -o 'class="missed"' mine.html | wc -l) $(grep -c '>bounds from 1 to 10000<' mine.html)" \
  '3 2 1' 'their bounds are shaded and the missed one is crossed, in the figure and its legend'
is "$(grep -o '<h2 id="results-[0-9]*">[^<]*' mine.html | sed 's/.*>//' | paste -sd,)" 'Results: one,Results: other' 'runs are grouped by the runs of the book'
mv mine yours
"$ORRERY" report yours/figures.json --db mine.db -o yours.html
is "$(grep -c 'made up' yours.html)" 2 'a book that has moved keeps its runs'
sed -i 's/\[2, 4\]/[2, 4, 8]/' yours/figures.json
echo 'speed-8,speed of 8,400,,,"made up"' >>yours/published.csv
"$ORRERY" report yours/figures.json --db mine.db -o lacks.html
is "$? $(grep -c 'The database lacks 3 of the 9 runs of this book' lacks.html) $(grep -c 'made up' lacks.html)" '0 1 0' \
  'a database that lacks runs of the book: the page says so'

# ---- hostile texts ----
is "$(grep -c '<script>' long.html)" 1 'no text becomes a script'
is "$(LC_ALL=C grep -c $'\033' long.html)" 0 'no control characters'
is "$(grep -c '&lt;script&gt;alert(1)&lt;/script&gt;' few.html) $(grep -c '&lt;script&gt;alert(1)&lt;/script&gt;' long.html)" '2 2' \
  'names are shown as text, in a Gantt chart and in tables'
is "$(grep -c '<script>' few.html) $(grep -c '>]]&gt;' few.html)" '1 1' 'also with few jobs'
is "$(wc -c <long.html | awk '{ print ($1 < 5000000) }')" 1 'at most 5 MB'

# ---- the same without python ----
for page in long study step one many seeds mine lacks; do
  is "$(grep -c '<h1>' $page.html) $(grep -c '</html>' $page.html) $(grep -cE '(src|href)="https?:|@import|url\(' $page.html)" '1 1 0' "$page: one h1, whole, and loads nothing"
done

# ---- refusals ----
refuse 'expected one database or study' -o a.html
refuse 'expected -o FILE.html' step.db
refuse 'study.json is a study: expected --db FILE' study.json -o a.html
refuse 'no run 99: expected a run that .orrery db runs. lists' step.db --run 99 -o a.html
refuse 'rows: expected a whole number from 1' step.db --rows 0 -o a.html
refuse 'did you mean "--rows"' step.db --rws 5 -o a.html
refuse 'No such file' none.db -o a.html
refuse 'not a database|not an SQLite|expected a database' jobs.csv -o a.html
echo '[1]' >list.json
refuse 'list.json: not a study: expected a JSON object' list.json --db step.db -o a.html
is "$(ls a.html 2>/dev/null)" '' 'a refusal writes no page'
"$ORRERY" report step.db -o none/a.html 2>err
is "$? $(grep -c 'none/a.html' err)" '1 1' 'a folder that does not exist is named'

# ---- rows that have no time ----
# Of two jobs one is completed: its mark is half way between the lower and the upper end of the axis (270 and 30).
printf 'job_id,submit_s,gpus,duration_s\n1,0,1,10\n2,0,1,100\n' >cut.csv
"$ORRERY" jobs cut.csv --cluster 1x2 --policy fifo --until 20s --db cut.db --no-figures -q
"$ORRERY" report cut.db -o cut.html
is "$(sed -n '/<title>Distribution of job/,/class="frame"/p' cut.html | grep -o 'd="M[^"]*' | tr '\n' ' ')" 'd="M261.0 150.0 d="M58.0 30.0V270.0H464.0 ' \
  'distributions are shares of all jobs, as in the figures of a run'

"$ORRERY" plan vgg16 --cluster 1x4:v100 --policy straight --db plan.db --no-figures -q
"$ORRERY" report plan.db -o plan.html
is "$(grep -o '<figcaption>[^<]* over [^<]*' plan.html | cut -d '>' -f 2 | tr '\n' ',') $(grep -c '>evaluations</text>' plan.html)" \
  'best iteration over evaluations,first layer over GPUs of the stages, in model order,last layer over GPUs of the stages, in model order, 1' \
  'series of plans are over evaluations and GPUs, not over time'

# ---- structure and browser ----
python=
for p in python3 /usr/bin/python3; do
  command -v $p >/dev/null && python=${python:-$p}
done
if [ -n "$python" ]; then
  for page in long few study step one many seeds mine lacks; do
    is "$($python "$tests/report_page.py" $page.html)" '' "$page: balanced elements, headings in order, a title per figure, nothing to load"
  done
else
  skip 'no python3: elements and headings are not checked' 9
fi
browser=
for p in python3 /usr/bin/python3; do
  command -v chromium >/dev/null && command -v chromedriver >/dev/null && $p -c 'import selenium' 2>/dev/null && browser=$p
done
if [ -n "$browser" ] && [ "${ORR_SANITIZED:-}" != 1 ]; then
  export HOME=$work XDG_RUNTIME_DIR=$work
  is "$("$browser" "$tests/report_browser.py" long.html 20000 2>&1)" '' 'long: opens, sorts, filters, zooms, prints; contrast, keys and widths'
  is "$("$browser" "$tests/report_browser.py" study.html 16 2>&1)" '' 'study: the same'
  is "$("$browser" "$tests/report_browser.py" seeds.html 24 2>&1)" '' 'study with differences over seeds: the same'
  is "$("$browser" "$tests/report_browser.py" mine.html 6 2>&1)" '' 'book: the same'
else
  skip 'no chromium, chromium-driver or python3-selenium: the page is not opened' 4
fi
tap_done
