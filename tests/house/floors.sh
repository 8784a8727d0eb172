# Checks the order of floors: an include may only name a lower floor (docs/architecture.md).
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
#
# srcdir=. bash tests/house/floors.sh --draw prints the plan of docs/architecture.md (make docs-floors writes it there).
. "$srcdir/tests/tap.sh"
not_sanitized "a test of the tree and its build, not of the program"

# Floors from the ground up; rooms of one floor must not include one another. calib may include hwmodel and base only.
plan="base;engine hwmodel results traces;calib;cluster;net;world;step;embed learn;jobs spot serve;mixed;plan;plots;study;cli"

# Prints the folder that holds a room.
folder() { if [ -d "$srcdir/sim/$1" ]; then echo "sim/$1"; else echo "$1"; fi; }
# Prints the floors from the top, each room with the first line of its sources.mk and the rooms that its files include.
draw() {
  local floor room dir
  echo '| floor | room | content | includes |'
  echo '| --: | --- | --- | --- |'
  tr ';' '\n' <<<"$plan" | grep -n . | sort -t: -k1,1nr | while IFS=: read -r floor rooms; do
    for room in $rooms; do
      dir=$(folder "$room")
      [ -e "$srcdir/$dir/sources.mk" ] || continue
      printf '| %d | `%s/` | %s | %s |\n' "$floor" "$dir" "$(sed -n '1s/^# //p' "$srcdir/$dir/sources.mk")" \
        "$(grep -hoE '^#include "[a-z]+/' "$srcdir/$dir"/*.[ch] | sed 's/.*"//; s#/##' | sort -u | grep -vxE "$room|config|tests" | tr '\n' ' ' | sed 's/ $//')"
    done
  done
}
if [ "${1-}" = --draw ]; then draw; exit; fi

# Prints the includes of the tree $1 that violate the order of floors, one per line.
uphill() {
  (cd "$1" && find base results study cli plots sim traces hwmodel calib policies include -name '*.[ch]' -exec grep -nE \
    '^[[:space:]]*#[[:space:]]*include[[:space:]]' {} + 2>/dev/null) | awk -v plan="$plan" '
    BEGIN {
      n = split(plan, rows, ";")
      for (i = 1; i <= n; i++) {
        m = split(rows[i], rooms, " ")
        for (k = 1; k <= m; k++)
          floor[rooms[k]] = i
      }
      floor["tests"] = 99 # nothing in the program may include a test
    }
    function room_of(path) { sub(/^sim\//, "", path); sub(/\/.*/, "", path); return path }
    {
      split($0, field, ":")
      file = field[1]
      what = $0
      sub(/^[^:]*:[^:]*:[^<"]*[<"]/, "", what)
      sub(/[>"].*/, "", what)
      is_quoted = $0 ~ /include[ \t]*"/
      room = room_of(file)
      target = room_of(what)
      is_ours = what ~ /\// && target in floor
      why = ""
      if (what ~ /^orrery\// || what == "paths.h" || (!is_quoted && !is_ours))
        next # public headers, system headers and install paths are open to every room
      if (file ~ /^include\//)
        why = "a public header may include only <orrery/...> and the system"
      else if (file ~ /^policies\/.*\// && room_of(what) != "policies" && what ~ /\//)
        why = "a policy may include only <orrery/...> and its own folder"
      else if (room == "calib" && target != "calib" && target != "hwmodel" && target != "base")
        why = "calib may include only hwmodel and base"
      else if ((room in floor) && is_ours && target != room && floor[target] >= floor[room])
        why = room " is not above " target
      if (why != "")
        print file ":" field[2] ": " what ": " why
    }'
}

# A folder that the plan lacks would be left unchecked.
unknown=$(cd "$srcdir/sim" && for d in */; do echo "${d%/}"; done |
  grep -vxE 'engine|cluster|net|world|step|learn|jobs|spot|serve|mixed|plan|embed')
is "$unknown" "" "every folder of sim/ has its floor"

is "$(sed -n '/^| floor/,/^$/p' "$srcdir/docs/architecture.md" | grep .)" "$(draw)" "docs/architecture.md has the plan (make docs-floors)"
is "$(uphill "$srcdir")" "" "includes point down, and policies include only public headers"

# The check detects includes that violate the order.
mkdir -p "$work/bad/sim/engine" "$work/bad/sim/cluster" "$work/bad/sim/jobs" "$work/bad/policies/jobs" \
  "$work/bad/include/orrery" "$work/bad/traces"
echo '#include "cluster/cluster.h"' >"$work/bad/sim/engine/a.c"
echo '#include "engine/engine.h"' >"$work/bad/sim/cluster/fine.c"
echo '#include "spot/spot.h"' >"$work/bad/sim/jobs/b.c"
echo '#  include "jobs/world.h"' >"$work/bad/policies/jobs/c.c"
printf '#include <orrery/policy.h>\n#include "own.h"\n#include <sys/stat.h>\n' >"$work/bad/policies/jobs/fine.c"
echo '#include "base/mem.h"' >"$work/bad/include/orrery/d.h"
echo '#include <results/store.h>' >"$work/bad/traces/e.c"
is "$(uphill "$work/bad" | cut -d: -f1 | sort | tr '\n' ' ')" \
  "include/orrery/d.h policies/jobs/c.c sim/engine/a.c sim/jobs/b.c traces/e.c " "includes that point up or sideways are found"
tap_done
