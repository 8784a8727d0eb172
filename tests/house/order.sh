# Checks the order of calls inside a room: files call downward, with at most 3 calls per room against the order of its
# sources.mk.
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
#
# As a test: run by make check-house. By hand, in a build folder:
#   srcdir=.. top_builddir=. bash ../tests/house/order.sh sim/serve   lists the calls against the order of that room
#   srcdir=.. top_builddir=. bash ../tests/house/order.sh --best sim/serve   proposes an order (greedy)
. "$srcdir/tests/tap.sh"
not_sanitized "a test of the tree and its build, not of the program"
: "${top_builddir:=.}"
rooms="base results sim/engine sim/cluster sim/net sim/world sim/step sim/embed sim/learn sim/jobs sim/serve sim/spot sim/mixed
  traces hwmodel calib policies/jobs policies/step policies/serve policies/spot plots study cli"

# Prints the .c files of a room, bottom first.
files_of() {
  local lists="$srcdir/$1/sources.mk"
  [ -e "$lists" ] || lists="$srcdir/${1%/*}/sources.mk"
  tr -s ' \t\\' '\n' <"$lists" | grep -E "^$1/[a-z0-9_]+\.c$" | awk '!seen[$0]++'
}
# calls ROOM: prints one line per call from a file of the room to a function of another: caller, callee, symbol.
calls() {
  local file object
  files_of "$1" | while read -r file; do
    object=$top_builddir/${file%.c}.o
    [ -e "$object" ] || object=$(find "$top_builddir/${file%/*}" -maxdepth 1 -name "*-$(basename "$file" .c).o" | head -n 1)
    [ -n "$object" ] && nm "$object" | awk -v file="$file" '{ print file, $(NF - 1), $NF }'
  done | awk '
    { from[NR] = $1; kind[NR] = $2; symbol[NR] = $3; if ($2 ~ /[TDBR]/) home[$3] = $1 }
    END { for (i = 1; i <= NR; i++) if (kind[i] == "U" && symbol[i] in home && home[symbol[i]] != from[i])
      print from[i], home[symbol[i]], symbol[i] }'
}
# against ROOM: prints the calls that go up.
against() {
  awk 'NR == FNR { at[$1] = NR; next } at[$2] > at[$1] { print $1 " calls " $3 "() of " $2 ", listed later" }' \
    <(files_of "$1") <(calls "$1")
}
# best ROOM: prints an order with few upward calls (greedy): repeatedly appends the file with the fewest calls to
# files not yet placed.
best() {
  calls "$1" | awk -v all="$(files_of "$1" | tr '\n' ' ')" '
    { weight[$1, $2]++ }
    END { n = split(all, file, " ")
      for (round = 1; round <= n; round++) {
        least = -1
        for (i = 1; i <= n; i++) if (!(i in placed)) {
          sum = 0
          for (j = 1; j <= n; j++) if (!(j in placed) && j != i) sum += 1000 * weight[file[i], file[j]] - weight[file[j], file[i]]
          if (least == -1 || sum < low) { least = i; low = sum }
        }
        placed[least] = 1; print file[least] } }'
}

case ${1-} in
--best) best "$2"; exit ;;
?*) against "$1"; exit ;;
esac
for room in $rooms; do
  [ -d "$srcdir/$room" ] || continue
  [ -n "$(calls "$room")" ] || { skip "$room: no object files with symbols here, or no calls"; continue; }
  against "$room" >"$work/against"
  sed 's/^/# /' "$work/against"
  ok "$([ "$(wc -l <"$work/against")" -le 3 ]; echo $?)" "$room: at most 3 calls against the order of its files ($(wc -l <"$work/against") of $(calls "$room" | wc -l))"
done
tap_done
