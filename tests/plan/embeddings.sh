#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# orrery plan embeddings:..: metrics compared with values computed by hand, the same bytes for any -j, files, messages.
. "${srcdir:-.}/tests/tap.sh"
orrery=$ORRERY
cd "$work" || exit 1
metric() { awk -F, -v p="$1" -v m="$2" '$1 == p && $2 == m { print $3 }' o/summary.csv; }

table=embeddings:features=20000,fields=2,dim=16,clusters=50
policies=saec,kmeans,hashing,low-precision,product-quantisation
set=(--set policy.saec.iterations=10 --set policy.saec.head_share=0.16 --set policy.kmeans.iterations=10
  --set policy.product-quantisation.iterations=3 --set plan.samples=4000)
"$orrery" plan "$table" --policy "$policies" "${set[@]}" --out o -q -j1 2>said
is "$? $(cat said)" "0 " "five codes of one table"
# The table has two fields with N = 10,000 and d = 16; K = 100, M = 1,600, I = 10.
is "$(metric saec table_bytes)" 1280000 "bytes of the table: 4 d N"
is "$(metric saec code_bytes)" 92800 "saec: 4 d K + 4 N per field"
is "$(metric saec cluster_madds)" 83200000 "saec: I M K d + N K d multiply-adds per field"
is "$(metric kmeans cluster_madds)" 320000000 "kmeans: I N K d"
is "$(metric low-precision code_bytes)" 400000 "8 bits: d + 4 bytes per feature"
is "$(metric hashing code_bytes)" 12800 "hashing: 4 d K per field"
is "$(awk -v a="$(metric saec auc_change)" -v b="$(metric hashing auc_change)" 'BEGIN { print (a > -0.002 && a < 0.002 && b < -0.01) }')" 1 \
  "saec keeps the accuracy, hashing does not"
sum=$(cat o/summary.csv | sha256sum)
"$orrery" plan "$table" --policy "$policies" "${set[@]}" --out o -q -j2
is "$(cat o/summary.csv | sha256sum)" "$sum" "the same bytes with -j2"
"$orrery" plan "$table,hold=false" --policy "$policies" "${set[@]}" --out o -q
is "$(cat o/summary.csv | sha256sum)" "$sum" "hold=false, vectors are drawn again in each pass: the same bytes"
# Compression ratios at d = 32, w = 4 and r = 206, 100, 200, by the formula of docs/models/embed.md.
for r in 206:27.7 100:24.2 200:27.6; do
  "$orrery" plan embeddings:features=20600,fields=1,clusters=10 --policy saec --set policy.saec.reduction=${r%:*} \
    --set policy.saec.iterations=1 --set policy.saec.head_share=0.01 --set plan.samples=0 --out o -q
  is "$(awk -v a="$(metric saec compression)" -v b="${r#*:}" 'BEGIN { x = a / b - 1; print (x > -0.01 && x < 0.01) ? "near" : a }')" near \
    "compression at d = 32 and r = ${r%:*}: ${r#*:}"
done

# Served models: bytes, times and capacity. The device has 0.01 GiB = 10,737,418 bytes, 100 GB/s with an efficiency
# of 0.5, and 1 us per launch.
cat >server.json <<'EOT'
{ "name": "server", "title": "a server", "architecture": "CPU", "peak_tflops": { "fp32": 1 }, "vector_tflops": 1, "memory_GiB": 0.01,
  "memory_GBps": 100, "l2_MiB": 1, "sms": 1, "launch_us": 1, "gemm_efficiency": { "fp32": 0.5 }, "memory_efficiency": 0.5,
  "sources": { "datasheet": "assumed" } }
EOT
"$orrery" plan embeddings:features=20600,fields=2,clusters=50 --device server.json --policy uncompressed,saec,low-precision \
  --set policy.saec.iterations=2 --set policy.saec.reduction=206 --set plan.indirection_cost=3ns --set plan.samples=0 --out o -q
is "$?" 0 "codes with a device"
# The two fields have 20,600 features of 32 values in total, and K = 50 each.
is "$(metric uncompressed code_bytes) $(metric saec code_bytes)" "2636800 95200" "bytes: 4 d N; 4 d K + 4 N"
is "$(metric uncompressed codes_per_device) $(metric saec codes_per_device)" "4 112" "codes that fit: floor(M / bytes)"
is "$(metric uncompressed lookup_bytes) $(metric saec lookup_bytes) $(metric low-precision lookup_bytes)" "256 264 72" \
  "bytes of a sample: 4 d per field; 4 d + 4; d + 4"
is "$(metric uncompressed lookup_s | awk '{ printf "%.4g", $1 * 1e9 }') $(metric saec lookup_s | awk '{ printf "%.5g", $1 * 1e9 }')" "5.12 11.28" \
  "ns of a sample: bytes / 50 GB/s, and 3 ns for each of two reads of the map"
# A replica holds the weights of all models that it serves: at most floor(memory / bytes per model) models.
serve() { # serve LABEL N: serves N copies of the model on one device
  local list="" i
  for ((i = 1; i <= $2; i++)); do
    sed "s/\"name\":[[:space:]]*\"$1\"/\"name\": \"m$i\"/" "o/$1.model.json" >"m$i.json"
    list+=${list:+,}m$i.json
  done
  "$orrery" serve poisson:rate=1000,n=50,model=m1 --model "$list" --cluster 1x1:server --device server.json --policy fifo --check --out s -q 2>&1
}
for code in uncompressed:4 saec:112; do
  is "$(serve "${code%:*}" "${code#*:}")" "" "orrery serve: ${code#*:} copies of ${code%:*} fit on the device"
  is "$(awk -F, '$2 == "memory_use_max" { printf "%.9g", $3 }' s/summary.csv)" \
    "$(awk -v n="${code#*:}" -v b="$(metric "${code%:*}" code_bytes)" 'BEGIN { printf "%.9g", n * b / (0.01 * 1024 ^ 3) }')" "and take this share of it"
  is "$(awk -F, '$2 == "completion_p50" { printf "%.4g", $3 * 1e9 }' s/summary.csv)" \
    "$(metric "${code%:*}" lookup_s | awk '{ printf "%.4g", int(1000 + $1 * 1e9 + 0.5) }')" "a request takes a launch and its lookups"
  like "$(serve "${code%:*}" $((${code#*:} + 1)))" "the weights of the models of replica 0 take" "one more copy is refused"
done
"$orrery" plan embeddings:features=20600,fields=2 --device server.json --policy saec --set policy.saec.iterations=2 --set plan.samples=0 -o one.json -q
server=(embeddings:features=300,fields=3,dim=4 --policy hashing --device server.json --set plan.samples=0)
"$orrery" plan "${server[@]}" --db given.db -q
"$orrery" scenario show "${server[@]}" --world plan >shown.json && "$orrery" run shown.json --db shown.db -q
is "$? $("$orrery" db digest given.db)" "0 $("$orrery" db digest shown.db)" "the scenario that is shown gives the same digest"
is "$("$orrery" serve poisson:rate=10,n=5 --model one.json --cluster 1x1:server --device server.json --policy fifo -q; echo $?)" 0 "-o FILE is a served model"

printf 'field,feature,frequency,vector\ncity,a,3,1 2\ncity,b,1,1 2\nuser,c,1,5 6\n' >t.csv
"$orrery" plan embeddings:file=t.csv --policy saec --set policy.saec.reduction=2 --set plan.samples=0 --out o -q
is "$? $(metric saec vectors) $(metric saec plain_error)" "0 2 0" "a table from a file: equal vectors are shared without error"
printf 'field,feature,frequency,vector\ncity,a,3,1 2\ncity,b,1,1\n' >short.csv
printf 'field,feature,frequency,vector\ncity,a,3,1 2\ncity,a,1,1 2\n' >twice.csv
printf 'field,feature,frequency,vector\ncity,a\n' >cut.csv
printf 'field,feature,frequency,vector\ncity,a,many,1 2\n' >nul.csv
: >empty.csv
# A stored run is reused only for the same table.
stored() { "$orrery" plan "$1" --policy hashing --set plan.samples=0 --db e.db --out o -q && metric hashing plain_error; }
first=$(stored embeddings:features=1000,fields=2,clusters=5)
second=$(stored embeddings:features=1000,fields=2,clusters=6)
is "$([ -n "$first" ] && [ -n "$second" ] && [ "$first" != "$second" ] && echo differ)" differ "tables of 5 and of 6 clusters are two runs"
is "$(stored embeddings:features=1000,fields=2,clusters=5,hold=false)" "$first" "a table whose vectors are not held is the same"
stored embeddings:file=t.csv >first
sed -i '2s/1 2/2 2/' t.csv
is "$(stored embeddings:file=t.csv | cmp -s - first || echo differ)" differ "a file with other vectors is another run"

said=$("$orrery" plan embeddings:features=20000,fields=1 --policy kmeans --set policy.kmeans.reduction=20 --set policy.kmeans.iterations=40 \
  --set plan.samples=0 --policy-timeout 0.1 -q 2>&1)
is "$? $said" "0 " "--policy-timeout does not count the time in which orrery clusters"
while IFS='|' read -r arguments expected; do
  # shellcheck disable=SC2086 # several arguments
  said=$("$orrery" plan $arguments -q 2>&1)
  like "$? $said" "^2 orrery: .*$expected" "refused: $arguments"
done <<'EOT'
embeddings:feature=3 --policy saec|unknown parameter "feature": did you mean "features"?
embeddings:features=3,fields=4 --policy saec|expected at most one field per feature
embeddings:file=none.csv --policy saec|none.csv
embeddings: --policy saec --cluster 1x1:v100|uses no cluster: expected no cluster
embeddings: --policy dapple|expected a policy that compresses embeddings
bert-large --policy saec --cluster 1x2:v100|this policy compresses embeddings
embeddings:features=1000,fields=1 --policy saec --set policy.saec.id_bytes=1 --set policy.saec.reduction=2|expected at most 256
embeddings:dim=6 --policy product-quantisation|expected a divisor of the dimension
embeddings: --policy saec -o x.json|-o: .* expected --device NAME
embeddings: --policy saec,kmeans --device v100 -o x.json|expected one policy, or --out DIR
embeddings: --policy saec --device v101|v101
embeddings:file=short.csv --policy saec|short.csv:3: vector: expected 2 numbers
embeddings:file=twice.csv --policy saec|twice.csv: feature "a" of field "city" has two rows: expected one
embeddings:file=cut.csv --policy saec|cut.csv:2: .*expected
embeddings:file=empty.csv --policy saec|empty.csv
embeddings:file=nul.csv --policy saec|nul.csv:2: frequency: expected
EOT
tap_done
