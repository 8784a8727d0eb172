#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Outputs: a full device is an error of every verb; devices, FIFOs and symbolic links remain; two processes that write the same file leave
# a whole one; temporary files have unique names and do not remain. ROUNDS sets the number of rounds with two processes.
. "${srcdir:-.}/tests/tap.sh"
orrery=$(realpath "$ORRERY")
scenarios=$(realpath "$srcdir/scenarios")
cd "$work" || exit 1
rounds=${ROUNDS:-6}
printf 'job_id,submit_s,duration_s,gpus\na,0,10,1\nb,1,5,1\nc,2,1,1\n' >t.csv
printf 'link,bandwidth_Bps,latency_s\nup,1e9,1e-6\n' >links.csv
printf 'id,step,src,dst,bytes,start_s,links\n0,-1,a,b,3e6,0,up\n1,-1,a,c,1e6,0.001,up\n' >flows.csv
printf 'request_id,arrival_s,prompt_tokens,output_tokens\n1,0,10,5\n2,1,10,5\n' >r.csv
jobs=(jobs t.csv --cluster 1x1 --policy fifo)
"$orrery" "${jobs[@]}" --db r.db --no-figures -q
"$orrery" jobs t.csv --cluster 1x1 --policy fifo,sjf --db two.db --no-figures -q
# no_drafts WHAT: passes if this folder and its subfolders have no temporary file
no_drafts() { is "$(find . -name '*.tmp' -o -name '*.part' -o -name 'figures.*' | head -n 3)" "" "$1"; }

# ---- a full standard output ----
if [ -e /dev/full ]; then
  while read -r line; do
    # shellcheck disable=SC2086
    said=$("$orrery" $line 2>&1 >/dev/full)
    is "$? $said" "1 orrery: standard output: cannot be written" "full standard output: $line"
  done <<'EOT'
--help
--version
jobs --help
net --help
figures --help
jobs t.csv --cluster 1x1 --policy fifo
jobs t.csv --cluster 1x1 --policy fifo --json
run --from r.db --run 1 --json
policy list
policy show fifo
trace list
trace info t.csv
trace convert t.csv -o -
trace synth poisson:n=5,rate=1,mean=2 -o -
trace slice t.csv --until 5s -o -
device list
device show v100
model list
model show resnet50
scenario schema
scenario show t.csv --cluster 1x1 --policy fifo
db runs r.db
db digest r.db
db columns
db show r.db
net flows --links links.csv --flows flows.csv
net flows --links links.csv --flows flows.csv --json
net flows --links links.csv --flows flows.csv --json -o rows.csv
serve poisson:rate=2,n=50,prompt=500,output=100 --model llama2-7b --cluster 1x1:a100 --policy vllm --find-rate ttft=1s,tpot=100ms
EOT
else
  skip "no /dev/full"
fi
said=$("$orrery" db runs r.db 2>&1 >&-)
is "$? $said" "1 orrery: standard output: cannot be written" "a closed standard output"
"$orrery" "${jobs[@]}" --db closed.db --fresh -q >&- 2>&- <&-
"$orrery" db digest closed.db >closed 2>&1
is "$? $(cat closed)" "0 $("$orrery" db digest r.db)" "with closed standard streams the database is whole"

# ---- devices, FIFOs, symbolic links ----
# outputs FILE: writes FILE with each option that names a file; prints the names of those that fail
outputs() {
  "$orrery" trace convert t.csv -o "$1" >/dev/null 2>said || echo convert
  "$orrery" trace synth poisson:n=5,rate=1,mean=2 -o "$1" >/dev/null 2>said || echo synth
  "$orrery" net flows --links links.csv --flows flows.csv -q -o "$1" 2>said || echo flows
  "$orrery" step lenet5 --cluster 1x2:v100 --policy allreduce --timeline "$1" -q --no-figures >/dev/null 2>said || echo timeline
  "$orrery" plan lenet5 --cluster 1x2:v100 --global-batch 16 --policy data-parallel -o "$1" -q >/dev/null 2>said || echo plan
}
echo old >target
ln -s target link
ln -s unmade dangling
mkdir sub && ln -s ../beside sub/link
is "$(outputs link)" "" "outputs to a symbolic link"
is "$([ -L link ] && [ -f target ] && grep -c old target)" 0 "the link remains, and its target has the new text"
is "$(outputs dangling; outputs sub/link)" "" "outputs to links without a target"
is "$([ -L dangling ] && [ -f unmade ] && [ -L sub/link ] && [ -f beside ]; echo $?)" 0 "create the target"
ln -s loop loop
like "$("$orrery" trace convert t.csv -o loop 2>&1; echo $?)" 'loop: cannot be written: Too many levels' "a link to itself"
ln -s /dev/null null
is "$(outputs null)" "" "outputs to a device"
is "$([ -L null ] && [ -c null ]; echo $?)" 0 "the device remains"
if mknod node c 1 3 2>/dev/null; then
  is "$(outputs node) $([ -c node ]; echo $?)" " 0" "a device node remains"
else
  skip "mknod is not permitted"
fi
if [ -e /dev/full ]; then
  ln -s /dev/full full
  is "$(outputs full | tr '\n' ' ')" "convert synth flows timeline plan " "outputs to a full device fail"
  is "$([ -L full ] && [ -c full ]; echo $?)" 0 "and leave the device"
fi
mkfifo pipe
for form in "trace convert t.csv -o pipe" "net flows --links links.csv --flows flows.csv -q -o pipe" \
  "step lenet5 --cluster 1x2:v100 --policy allreduce --timeline pipe -q --no-figures"; do
  timeout 20 cat pipe >got &
  reader=$!
  # shellcheck disable=SC2086
  timeout 20 "$orrery" $form >/dev/null 2>said
  rc=$?
  [ "$rc" -eq 0 ] || kill $reader
  wait $reader 2>/dev/null
  is "$rc $([ -p pipe ]; echo $?) $([ -s got ]; echo $?)" "0 0 0" "a FIFO receives the output: $form"
done
mkdir dir
ln -s "$work/target" dir/fifo.jobs.csv
ln -s /dev/null dir/summary.csv
ln -s "$work/elsewhere" dir/wait-cdf.svg
"$orrery" "${jobs[@]}" --out dir -q
is "$? $([ -L dir/fifo.jobs.csv ] && [ -L dir/summary.csv ] && [ -c dir/summary.csv ]; echo $?) $(head -n 1 target | cut -c 1-6)" "0 0 job_id" \
  "--out writes through links"
is "$("$orrery" trace convert t.csv -o /dev/stdout 2>said | cat)" "$("$orrery" trace convert t.csv -o - 2>said)" "/dev/stdout is standard output"
echo first >log
ln -s /dev/stdout out_link
is "$("$orrery" trace convert t.csv -o out_link 2>said | cat)" "$("$orrery" trace convert t.csv -o - 2>said)" "a link to /dev/stdout too"
(echo before; "$orrery" trace convert t.csv -o out_link 2>said) >redirected
is "$(head -n 1 redirected) $([ -L out_link ]; echo $?)" "before 0" "of a redirected output, which is not replaced"
"$orrery" trace convert t.csv -o /dev/stdout 2>said >>log
is "$(head -n 1 log) $(wc -l <log)" "first 5" "also where that is appended to a file"
(umask 027 && "$orrery" trace convert t.csv -o masked.csv >/dev/null 2>&1)
touch shared.csv && chmod 664 shared.csv && "$orrery" trace convert t.csv -o shared.csv >/dev/null 2>&1
is "$(stat -c %a masked.csv shared.csv | tr '\n' ' ')" "640 664 " "permissions follow the umask, or those of the existing file"
no_drafts "no temporary file remains"

# A link at a fixed temporary name is not followed.
echo mine >victim
mkdir trap
for name in wait-cdf jct-cdf utilisation queue-length summary; do
  for f in svg pdf png csv; do ln -s ../victim "trap/$name.$f.tmp"; done
done
ln -s victim x.csv.part
"$orrery" "${jobs[@]}" --out trap -q
"$orrery" trace convert t.csv -o x.csv >/dev/null 2>&1
is "$(cat victim)" mine "links at the names of temporary files are not followed"
rm -r trap x.csv.part

# ---- two processes, the same file ----
# both A B: runs two commands at once; prints their exit codes
both() {
  local a b
  eval "$1" >/dev/null 2>said.a & a=$!
  eval "$2" >/dev/null 2>said.b & b=$!
  wait $a; a=$?
  wait $b; echo "$a $?"
}
"$orrery" trace synth poisson:n=4000,rate=1,mean=2 --seed 1 -o one.csv >/dev/null 2>&1
"$orrery" trace synth poisson:n=4000,rate=1,mean=2 --seed 2 -o other.csv >/dev/null 2>&1
bad=0
for _ in $(seq "$rounds"); do
  [ "$(both '"$orrery" trace synth poisson:n=4000,rate=1,mean=2 --seed 1 -o same.csv' \
    '"$orrery" trace synth poisson:n=4000,rate=1,mean=2 --seed 2 -o same.csv')" = "0 0" ] || bad=$((bad + 1))
  cmp -s same.csv one.csv || cmp -s same.csv other.csv || bad=$((bad + 1))
done
is "$bad" 0 "two processes write the same -o $rounds times: each file is whole and of one of them"
for seed in 1 2; do "$orrery" jobs poisson:n=300,rate=0.1,mean=9 --cluster 1x1 --policy fifo,sjf --seed $seed --out out$seed -q; done
bad=0
for _ in $(seq $(((rounds + 2) / 3))); do
  [ "$(both '"$orrery" jobs poisson:n=300,rate=0.1,mean=9 --cluster 1x1 --policy fifo,sjf --seed 1 --out same -q' \
    '"$orrery" jobs poisson:n=300,rate=0.1,mean=9 --cluster 1x1 --policy fifo,sjf --seed 2 --out same -q')" = "0 0" ] || bad=$((bad + 1))
  for f in same/*; do cmp -s "$f" "out1/${f##*/}" || cmp -s "$f" "out2/${f##*/}" || bad=$((bad + 1)); done
done
is "$bad $(ls same)" "0 $(ls out1)" "two processes write the same --out: each file is whole and of one of them"
bad=0
"$orrery" jobs t.csv --cluster 1x1 --policy fifo,sjf,las --db want.db --no-figures -q
want=$("$orrery" db digest want.db)
for _ in $(seq "$rounds"); do
  rm -f same.db*
  [ "$(both '"$orrery" jobs t.csv --cluster 1x1 --policy fifo,sjf --db same.db --no-figures -q' \
    '"$orrery" jobs t.csv --cluster 1x1 --policy las,sjf --db same.db --no-figures -q')" = "0 0" ] || bad=$((bad + 1))
  [ "$("$orrery" db digest same.db)" = "$want" ] || bad=$((bad + 1))
done
is "$bad" 0 "two processes write the same --db: each run is stored once"
no_drafts "no temporary file remains after two processes"

# ---- names that are not files ----
for db in "" :memory:; do
  said=$("$orrery" "${jobs[@]}" --db "$db" -q 2>&1)
  like "$? $said" '^2 orrery: .*expected the name of a file$' "--db \"$db\""
  said=$("$orrery" db runs "$db" 2>&1)
  like "$? $said" '^2 orrery: .*expected the name of a file$' "db runs \"$db\""
done
like "$("$orrery" "${jobs[@]}" --db null -q 2>&1; echo $?)" 'expected the name of a regular file' "--db of a device"
like "$("$orrery" trace convert t.csv -o '' 2>&1; echo $?)" 'cannot be written: No such file' "-o without a name"
like "$("$orrery" trace convert t.csv -o dir 2>&1; echo $?)" 'dir: cannot be written: Is a directory' "-o of a folder"

# ---- policy new ----
mkdir new
said=$(cd new && ulimit -f 0 && "$orrery" policy new mine --kind jobs 2>&1)
like "$? $said" '^1 orrery: mine\.c: cannot be written: File too large' "policy new on a full disk"
is "$(ls new)" "" "leaves no file"
touch new/mine_test.sh
(cd new && "$orrery" policy new mine --kind jobs) >said 2>&1
is "$? $(ls new)" "2 mine_test.sh" "nor one of two files where the other exists"
tap_done
