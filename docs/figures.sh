#!/bin/sh
# figures.sh - draws the figures of the documents (make docs-figures)
# SPDX-License-Identifier: GPL-3.0-or-later
#
#   docs/figures.sh ORRERY DIR
#
# Writes to DIR. With one version of gnuplot, a version of orrery draws identical figures.
set -eu
orrery=${1:?usage: docs/figures.sh ORRERY DIR}
into=${2:?usage: docs/figures.sh ORRERY DIR}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# Draws the README's figure, the same as the figure of ./bootstrap.sh demo.
"$orrery" jobs philly-like --cluster 48x8:v100 --policy fifo,srtf,las,easy-backfill --replications 50 --out "$tmp" >"$tmp/table.txt"
mkdir -p "$into"
cp "$tmp/jct-cdf.svg" "$into/jct-cdf.svg"
cat "$tmp/table.txt"
