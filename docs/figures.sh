#!/bin/sh
# figures.sh - the figures of the documents, made again (make docs-figures)
# SPDX-License-Identifier: GPL-3.0-or-later
#
#   docs/figures.sh ORRERY DIR
#
# Writes into DIR. The same version of orrery makes the same figures, byte for byte but
# for what gnuplot's version changes.
set -eu
orrery=${1:?usage: docs/figures.sh ORRERY DIR}
into=${2:?usage: docs/figures.sh ORRERY DIR}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# The README's figure is that of ./bootstrap.sh demo.
"$orrery" jobs philly-like --cluster 48x8:v100 --policy fifo,srtf,las,easy-backfill --replications 100 --out "$tmp" >"$tmp/table.txt"
mkdir -p "$into"
cp "$tmp/jct-cdf.svg" "$into/jct-cdf.svg"
cat "$tmp/table.txt"
