#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# orrery net flows: formats of input and output, and messages for invalid input. Expected times are computed next to each
# case.
. "${srcdir:-.}/tests/tap.sh"

links=$work/links.csv
flows=$work/flows.csv
net() { "$ORRERY" net flows --links "$links" --flows "$flows" "$@" 2>"$work/err"; }
# refused WHAT LINK-ROWS FLOW-ROWS PATTERN: expects exit code 2 and an error on stderr that matches the pattern
refused() {
  printf 'link,bandwidth_Bps,latency_s\n%b' "$2" >"$links"
  printf 'id,step,src,dst,bytes,start_s,links\n%b' "$3" >"$flows"
  net >"$work/out"
  is "$? $(cat "$work/out")" "2 " "$1: exit 2, nothing on standard output"
  like "$(cat "$work/err")" "$4" "$1: named with file and line"
}

# The link has 10 B/s and a latency of 0.5 s. A (10 B at 0 s) drains from 0.5 s on, B (10 B at 1 s) from 1.5 s on. A
# has sent its 10 B at 1.5 s, so the flows never share the link. They end at 1.5 and 2.5 s.
printf 'link,bandwidth_Bps,latency_s\nl,10,0.5\n' >"$links"
printf 'links,start_s,bytes,dst,src,step,id,colour\nl,1,10,y,x,-1,"B,1",red\nl,0,10,y,x,-1,A,\n' >"$flows"
is "$(net)" "id,start_s,finish_s
\"B,1\",1,2.5
A,0,1.5" "columns in any order, unknown ones ignored; rows in file order"

# In step 0, flows of 10 and 30 B share 10 B/s. They end at 0.5 + 2 = 2.5 and 0.5 + 4 = 4.5 s. Step 1 starts at 4.5
# s and ends at 4.5 + 0.5 + 1 = 6 s. Step 2 repeats step 0: 6 + 2.5 and 6 + 4.5 s.
printf 'id,step,src,dst,bytes,start_s,links\n0,0,a,b,10,7,l\n1,0,a,b,30,7,l\n2,1,a,b,10,0,l\n3,2,a,b,10,0,l\n4,2,a,b,30,0,l\n' >"$flows"
want="id,start_s,finish_s
0,0,2.5
1,0,4.5
2,4.5,6
3,6,8.5
4,6,10.5"
is "$(net --check)" "$want" "a step starts when the last flow of the step before has ended"
like "$(net --json)" '"steps_simulated":	2,' "a step equal to an earlier one is not simulated again"
# Another flow in the file, on a separate link, forces the simulation of every step; the times stay the same.
printf 'm,1,0\n' >>"$links"
printf '5,-1,a,b,100,0,m\n' >>"$flows"
is "$(net --check)" "$want
5,0,100" "a step that is not simulated takes as long as a simulated one"
like "$(net --json)" '"steps_simulated":	3,' "an equal step is simulated if the file also has flows of step -1"

gzip -c "$flows" >"$work/f.gz"
gzip -c "$links" >"$work/l.gz"
"$ORRERY" net flows --links "$work/l.gz" --flows "$work/f.gz" -o "$work/out.csv" -q
is "$? $(cat "$work/out.csv")" "0 $(net)" "compressed files, and -o FILE"
like "$(net -o "$work/out.csv")" '6 flows, 190 bytes, 2 links, 3 steps' "with -o a summary is printed"
is "$(cat "$work/err")" "" "no progress without a terminal"
is "$(net -o /dev/full >"$work/out"; echo $?)" 1 "a full disk is an error"
is "$(net -o "$work/none/out.csv" >"$work/out"; echo $?)" 1 "a missing folder is an error"

# Latencies of 1 and 1 + 1 s give weights 1 and 1/2 on 9 B/s. Both flows drain from 2 s on, at 6 and 3 B/s, until 2
# + 12/6 and 2 + 6/3 s.
printf 'link,bandwidth_Bps,latency_s\nl,9,1\nm,100,1\nn,100,0\n' >"$links"
printf 'id,step,src,dst,bytes,start_s,links\na,-1,x,y,12,1,l;n\nb,-1,x,y,6,0,l;m\n' >"$flows"
is "$(net --rtt-weighted)" "id,start_s,finish_s
a,1,4
b,0,4" "--rtt-weighted: shares in proportion to 1 / latency"
# With equal shares of 4.5 B/s, b ends at 2 + 6/4.5 s. Then a has 6 B left and the whole link.
is "$(net | awk -F, 'NR > 1 { printf "%.6f ", $3 }')" "4.000000 3.333333 " "without --rtt-weighted: equal shares"

l='l,10,0\n'
refused "an unknown link" "$l" '0,-1,a,b,5,0,l\n1,-1,a,b,5,0,l;k\n' 'flows.csv:3: links: unknown link "k"'
refused "a duplicate link" "${l}l,20,0\n" '' 'links.csv:3: link: expected a name that differs from the names of earlier lines, found "l"'
refused "a link that a flow names twice" "$l" '0,-1,a,b,5,0,l;l\n' 'flows.csv:2: links: expected each link at most once'
refused "negative bytes" "$l" '0,-1,a,b,-5,0,l\n' 'flows.csv:2: bytes: expected .* found "-5"'
refused "bytes that are no number" "$l" '0,-1,a,b,nan,0,l\n' 'flows.csv:2: bytes: expected .* found "nan"'
refused "a bandwidth that is no number" 'l,fast,0\n' '' 'links.csv:2: bandwidth_Bps: expected .* found "fast"'
refused "a negative latency" 'l,1,-1\n' '' 'links.csv:2: latency_s: expected'
refused "a duplicate id" "$l" '0,-1,a,b,5,0,l\n0,-1,a,b,5,0,l\n' 'flows.csv:3: id: expected an id that differs from the ids of earlier rows, found "0"'
refused "a step below an earlier one" "$l" '0,0,a,b,5,0,l\n1,1,a,b,5,0,l\n2,0,a,b,5,0,l\n' 'flows.csv:4: step: expected at least the step of the previous row.* found "0"'
refused "a step left out" "$l" '0,0,a,b,5,0,l\n1,2,a,b,5,0,l\n' 'flows.csv:3: step: expected the step of the previous row'
refused "steps that do not begin at 0" "$l" '0,1,a,b,5,0,l\n' 'flows.csv:2: step: expected .* found "1"'
refused "hosts without a link between them" "$l" '0,-1,a,b,5,0,\n' 'flows.csv:2: links: expected at least one link, because "src" and "dst" differ'
refused "a link without bandwidth" 'l,0,0\n' '0,-1,a,b,5,0,l\n' 'flows.csv:2: links: expected links with a bandwidth above 0'
refused "a row with too few fields" "$l" '0,-1,a,b,5,0\n' 'flows.csv:2: '

printf 'id,step,src,dst,bytes,links\n' >"$flows"
net >"$work/out"
is "$?" 2 "a missing column: exit 2"
like "$(cat "$work/err")" 'flows.csv:1: .*start_s' "a missing column: the message names it"
flows=$work/nothing.csv
net >"$work/out"
is "$?" 2 "a missing file: exit 2"
like "$(cat "$work/err")" 'nothing.csv' "a missing file: the message names it"
like "$("$ORRERY" net flow 2>&1)" 'did you mean "flows"?' "a misspelt verb"
like "$("$ORRERY" net flows --linsk x 2>&1)" 'links' "a misspelt option"
like "$("$ORRERY" net flows --links x 2>&1)" 'expected the options --links FILE and --flows FILE' "a missing required option"
tap_done
