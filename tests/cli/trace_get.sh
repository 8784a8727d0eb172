# orrery trace get: downloads from a server of this machine, with SHA-256, resumed
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
. "$srcdir/tests/tap.sh"
orrery=$(realpath "$ORRERY")
here=$(realpath "$srcdir/tests/cli")
o() { "$orrery" "$@"; }
refused() { { o "$@" >/dev/null; } 2>&1; }
cd "$work" || exit 1

is "$(o trace get | awk 'NR > 1 { print (NF > 4) }' | sort -u)" 1 "without a name: the list"
said=$(refused trace get phily)
like "$? $said" '^2 orrery: unknown trace "phily": did you mean "philly"\?' "an unknown name"
said=$(refused trace get philly --sha256 00)
is "$? $said" '2 orrery: --sha256: expected 64 digits of 0-9 and a-f, found "00"' "a hash that is none"
said=$(refused trace get philly --sha256 "$(printf '%064d' 0)")
is "$? $said" '2 orrery: --sha256: expected this option only with an address: the hash of philly is known' "a hash of a known trace"
said=$(refused trace get philly --mirror ftp://x)
like "$? $said" '^2 orrery: --mirror: expected an address such as https://' "a mirror without HTTP"
said=$(refused trace get https://x.example/)
like "$? $said" '^2 orrery: https://x.example/: expected an address of a file' "an address of a folder"
said=$(PATH=/nowhere refused trace get philly)
like "$? $said" '^3 orrery: trace get: curl is not installed: expected curl in PATH, or the file https://.* fetched by hand$' "no curl: code 3"

if ! command -v python3 >/dev/null || ! command -v curl >/dev/null; then
  skip "python3 or curl is not installed" 19
  tap_done
  exit
fi
mkdir server
python3 "$here/range_server.py" server port log &
server=$!
trap 'kill $server; rm -rf "$work"' EXIT
for _ in $(seq 100); do [ -e port ] && break; sleep 0.1; done
base=http://127.0.0.1:$(cat port)
export no_proxy=127.0.0.1 NO_PROXY=127.0.0.1
seq 100000 >server/t.csv
hash=$(sha256sum server/t.csv | cut -c 1-64)

said=$(o trace get "$base/t.csv" 2>&1)
is "$? $said" "0 t.csv: SHA-256 $hash" "an address: the file with its hash"
ok "$(cmp -s t.csv server/t.csv; echo $?)" "the file is whole"
said=$(refused trace get "$base/t.csv")
like "$? $said" '^2 orrery: t.csv: this file exists already: expected another name' "a file without a known hash is not overwritten"
said=$(o trace get "$base/t.csv" --sha256 "$hash" 2>&1)
is "$? $said $(grep -c . log)" "0 t.csv: complete already 1" "a file with the hash is not fetched again"
echo other >u.csv
said=$(refused trace get "$base/t.csv" --sha256 "$hash" -o u.csv)
like "$? $said" "^2 orrery: u.csv: this file exists already with the SHA-256 [0-9a-f]{64}: expected $hash" "another file of the name stays"
is "$(cat u.csv)" other "with its contents"
zero=$(printf '%064d' 0)
said=$(refused trace get "$base/t.csv" --sha256 "$zero" -o w.csv)
like "$? $said" "^1 orrery: $base/t.csv: the downloaded file has the SHA-256 $hash: expected $zero; it is removed" "another hash is an error"
is "$(ls w.csv* 2>/dev/null)" "" "which leaves no file"

# A connection that breaks: the part is kept, and the same command continues it.
said=$(refused trace get "$base/cut/t.csv" -o r.csv)
like "$? $said" 'orrery: .*/cut/t.csv: curl ended with status 18 .*; the same command continues with r.csv.part$' "a broken connection"
half=$(stat -c %s r.csv.part)
ok "$([ "$half" -gt 1000 ] && [ ! -e r.csv ]; echo $?)" "leaves a part, and no file of the name"
: >log
said=$(o trace get "$base/cut/t.csv" --sha256 "$hash" -o r.csv 2>&1)
is "$? $said $(cat log)" "0 orrery: continues r.csv.part after $half bytes
r.csv: SHA-256 $hash, as expected /cut/t.csv bytes=$half-" "it continues after the bytes of the part"
ok "$(cmp -s r.csv server/t.csv && [ ! -e r.csv.part ]; echo $?)" "and the file is whole"
head -c 1000 server/t.csv >p.csv.part
said=$(o trace get "$base/plain/t.csv" --sha256 "$hash" -o p.csv 2>&1)
like "$? $said" "as expected\$" "a server without ranges: from the start"
ok "$(cmp -s p.csv server/t.csv; echo $?)" "the file is whole"
cp server/t.csv q.csv.part
: >log
said=$(o trace get "$base/t.csv" --sha256 "$hash" -o q.csv 2>&1)
is "$? $said $(cat log)" "0 q.csv: SHA-256 $hash, as expected " "a whole part needs no download"
said=$(refused trace get "$base/missing.csv")
like "$? $said" 'orrery: .*/missing.csv: curl ended with status 22' "a file that the server lacks"

# The hashes of published traces are those of the files.
if need "$traces/azure_llm_2023/AzureLLMInferenceTrace_code.csv"; then
  ln -s "$traces"/azure_llm_2023/*.csv "$traces"/muri_philly/*.csv "$traces"/openb/*.csv "$traces"/swf_*/*.swf* server/
  gzip -dc "$traces/philly/philly.csv.gz" >server/philly.csv
  gzip -dc "$traces/mooncake_conversation/conversation_trace.jsonl.gz" >server/conversation_trace.jsonl
  mkdir all
  is "$(cd all && for t in $(o trace get | awk 'NR > 1 { print $1 }'); do o trace get "$t" --mirror "$base" >said 2>&1 || { echo "$t"; cat said; }; done)" "" \
    "every published trace has its hash, from a mirror"
  is "$(cd all && for t in $(o trace get | awk 'NR > 1 && $2 != "cluster" { print $1 }'); do
      file=$(o trace get "$t" --mirror "$base" | sed -n 's/: complete already$//p')
      o trace info "$file" --json >/dev/null 2>&1 || echo "$t: $file"
    done)" "" "trace info reads each of them"
fi
tap_done
