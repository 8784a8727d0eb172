# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# remarks_of.sh - source it after tap.sh; remarks_of WORLD runs the scenarios of this world in
# tests/world/cases/remarks.json at the command line. Each scenario must give exactly the listed remarks on options
# without effect, and contain the listed notes.
remarks_of() {
  local world=$1 program n i one name got
  program=$(realpath "$ORRERY")
  if ! command -v jq >/dev/null; then
    skip "jq is not installed"
    return
  fi
  cp -r "$srcdir/tests/world/cases" "$work/cases"
  cd "$work/cases" || exit 1
  for list in cases notes; do
    n=$(jq --arg w "$world" "[.${list}[] | select(.scenario.world == \$w)] | length" remarks.json)
    for i in $(seq 0 $((n - 1))); do
      one=$(jq -c --arg w "$world" "[.${list}[] | select(.scenario.world == \$w)][$i]" remarks.json)
      name=$(jq -r .name <<<"$one")
      jq .scenario <<<"$one" >scenario.json
      mapfile -t sets < <(jq -r '.set // [] | .[] | "--set", .' <<<"$one")
      "$program" run scenario.json "${sets[@]}" --json --no-figures --db runs.db -q >run.json 2>run.err || cat run.err
      if [ "$list" = cases ]; then
        got=$(jq -r '.runs[0].remarks[]? | select(test(" (has|may have) no effect: "))' run.json | sort)
        is "$got" "$(jq -r '.remarks[]' <<<"$one" | sort)" "$world: $name"
      else
        got=$(jq -r '.runs[0] | (.remarks, .assumptions)[]?' run.json)
        is "$(jq -r '.notes[]' <<<"$one" | while read -r text; do grep -qF -- "$text" <<<"$got" || echo "$text"; done)" "" "$world, notes: $name"
      fi
    done
  done
}
