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
# Two fields of N = 10,000, d = 16: K = 100, M = 1,600, I = 10.
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
# Compression at d = 32, w = 4 and r = 206, 100, 200: ratios by the formula of docs/models/embed.md.
for r in 206:27.7 100:24.2 200:27.6; do
  "$orrery" plan embeddings:features=206000,fields=1,clusters=10 --policy saec --set policy.saec.reduction=${r%:*} \
    --set policy.saec.iterations=1 --set policy.saec.head_share=0.01 --set plan.samples=0 --out o -q
  is "$(awk -v a="$(metric saec compression)" -v b="${r#*:}" 'BEGIN { x = a / b - 1; print (x > -0.01 && x < 0.01) ? "near" : a }')" near \
    "compression at d = 32 and r = ${r%:*}: ${r#*:}"
done

printf 'field,feature,frequency,vector\ncity,a,3,1 2\ncity,b,1,1 2\nuser,c,1,5 6\n' >t.csv
"$orrery" plan embeddings:file=t.csv --policy saec --set policy.saec.reduction=2 --set plan.samples=0 --out o -q
is "$? $(metric saec vectors) $(metric saec plain_error)" "0 2 0" "a table from a file: equal vectors are shared without error"
while IFS='|' read -r arguments expected; do
  # shellcheck disable=SC2086 # several arguments
  said=$("$orrery" plan $arguments -q 2>&1)
  like "$? $said" "^2 orrery: .*$expected" "refused: $arguments"
done <<'EOT'
embeddings:feature=3 --policy saec|no parameter "feature"; did you mean features
embeddings:features=3,fields=4 --policy saec|expected at most one field per feature
embeddings:file=none.csv --policy saec|none.csv
embeddings: --policy saec --cluster 1x1:v100|expected no cluster
embeddings: --policy dapple|expected a policy that compresses embeddings
bert-large --policy saec --cluster 1x2:v100|compresses embeddings
embeddings:features=1000,fields=1 --policy saec --set policy.saec.id_bytes=1 --set policy.saec.reduction=2|expected at most 256
embeddings:dim=6 --policy product-quantisation|expected a divisor of the dimension
EOT
tap_done
