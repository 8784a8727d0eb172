#!/bin/sh
# embed.sh - data files as C, so that the program needs no path to them
# SPDX-License-Identifier: GPL-3.0-or-later
#
#   hwmodel/embed.sh HEADER TYPE ARRAY FILE.. >data.c
#
# writes `const struct TYPE ARRAY[]` of {name, text, size}, ended by zeros; the name is the
# file's without folder and suffix.
set -eu
header=$1 type=$2 array=$3
shift 3
echo "/* made by hwmodel/embed.sh; do not edit */"
echo "#include \"$header\""
i=0
for file in "$@"; do
  echo "static const unsigned char text_${i}[] = {"
  od -An -v -tu1 "$file" | sed 's/^ *//; s/  */,/g; s/$/,/'
  echo "};"
  i=$((i + 1))
done
echo "const struct $type ${array}[] = {"
i=0
for file in "$@"; do
  name=${file##*/}
  echo "{ \"${name%.json}\", text_$i, sizeof text_$i },"
  i=$((i + 1))
done
echo "{ 0, 0, 0 } };"
