#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Remarks on options without effect: below the table, in JSON and notes.csv, stored with the run, in all worlds.
. "${srcdir:-.}/tests/tap.sh"
orrery=$ORRERY
cd "$work" || exit 1
printf 'job_id,submit_s,duration_s,gpus\na,0,10,1\nb,1,4,2\n' >t.csv
jobs() { "$orrery" jobs t.csv --cluster 1x2 --no-figures --policy fifo "$@"; }
text='jobs.checkpoint has no effect: no job was on a node that failed'

jobs --set jobs.checkpoint=60s --db runs.db --out o >first
is "$(grep -c "^$text\$" first)" 1 "an option without effect is named below the table"
is "$(grep checkpoint o/notes.csv)" "fifo,remark,$text" "--out writes the remark to notes.csv"
jobs --set jobs.checkpoint=60s --db runs.db >again 2>said
is "$(diff first again && grep -c 'taken from runs.db' said)" 1 "a stored run prints the same remark"
jobs --set jobs.checkpoint=1m --json >json
like "$(cat json)" "\"remarks\":.*\"$text\"" "--json contains the remark"
is "$(jobs --set jobs.checkpoint=60s -q | wc -c)" 0 "-q prints no remark"
is "$(jobs --set jobs.checkpoint=0s | grep -c jobs.checkpoint)" 0 "no remark on a default value in another spelling"
printf 'time_s,node,event\n5,n0,fail\n6,n0,repair\n' >failures.csv
is "$(jobs --set jobs.checkpoint=2s --failures failures.csv | grep -c jobs.checkpoint)" 0 "no remark on an option with an effect"

printf '{"world": "mixed", "cluster": "1x2", "jobs": {"trace": "t.csv", "jobs": {"checkpoint": "60s"}}, "policies": ["fifo"]}' >mixed.json
is "$("$orrery" run mixed.json --no-figures | grep -c "^jobs.$text\$")" 1 "mixed: the key begins with the name of the part"
few() { "$orrery" jobs poisson:n=200,rate=0.02,gpus=1,mean=60 --cluster 1x1 --policy fifo --no-figures --replications "$1" | grep -c '^no interval of jct_p50: with 10 replications, less than 90 % of such intervals are correct; --replications 20 gives one$'; }
is "$(few 10) $(few 20)" "1 0" "a median needs 20 replications"
tap_done
