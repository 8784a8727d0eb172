#!/bin/sh
# figures.sh - draws the figures of the documents (make docs-figures)
# SPDX-License-Identifier: GPL-3.0-or-later
#
#   docs/figures.sh ORRERY DIR
#
# Writes into DIR. The same version of orrery draws identical figures, except for differences between versions of
# gnuplot.
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
