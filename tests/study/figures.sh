# figures.sh - functions shared by tests of scenario folders: source it after tap.sh
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash disable=SC2154

# small FOLDER SED..: copies a scenario folder to $work/FOLDER and edits its figures.json
small() {
  local name=$1
  shift
  cp -r "$srcdir/scenarios/$name" "$work/$name"
  chmod -R u+w "$work/$name"
  for change; do sed -i "$change" "$work/$name/figures.json"; done
}
# carry_out FOLDER: makes figures if gnuplot is installed; sets $rows: id,published,low,high,closed,simulated,error,error_closed,within,..
carry_out() {
  local options=(-q --out "$work/out")
  command -v gnuplot >/dev/null || options+=(--no-figures)
  "$ORRERY" figures "$work/$1" "${options[@]}" >"$work/said" 2>&1
  is "$? $(cat "$work/said")" "0 " "orrery figures $1"
  rows=$(sed -n '2,$s/^"\([^"]*\)","[^"]*",/\1,/p' "$work/out/table.csv")
}
# off PATTERN LIMIT: prints the matching ids whose error against the closed form exceeds the limit
off() {
  printf '%s\n' "$rows" | awk -F, -v pattern="$1" -v limit="$2" '$1 ~ pattern { n++; e = $8 < 0 ? -$8 : $8
    if ($8 == "" || e > limit) print $1, $5, $6 } END { if (!n) print "no row" }'
}
simulated() { printf '%s\n' "$rows" | awk -F, -v id="$1" '$1 == id { print $6 }'; }
# between ID LOW HIGH: prints 1 if the simulated value is between LOW and HIGH
between() { simulated "$1" | awk -v low="$2" -v high="$3" '{ print ($1 >= low && $1 <= high) }'; }
within() { printf '%s\n' "$rows" | awk -F, -v id="$1" '$1 == id { print $9 }'; }
# drawn NAME..: checks that each figure exists as PDF, SVG and PNG
drawn() {
  if ! command -v gnuplot >/dev/null; then
    skip "gnuplot is not installed" $#
    return
  fi
  for name; do
    is "$(cd "$work/out" && find . -size +1k -name "$name.*" ! -name '*.csv' | sort | tr '\n' ' ')" \
      "./$name.pdf ./$name.png ./$name.svg " "figure $name"
  done
}
