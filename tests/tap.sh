# tap.sh - the Test Anything Protocol in bash: source it, call ok/is/skip, end with tap_done
# SPDX-License-Identifier: GPL-3.0-or-later
tap_n=0 tap_bad=0
: "${ORRERY:=./orrery}" "${srcdir:=.}"
data=$(realpath -m "${ORRERY_DATA_PATH:-$srcdir/../shared}") # the scripts change the folder
traces=${ORRERY_TRACE_PATH:-$data/traces}
work=$(mktemp -d "${TMPDIR:-/tmp}/orrery-test.XXXXXX")
trap 'rm -rf "$work"' EXIT

# ok STATUS WHAT: passes if STATUS is 0
ok() {
  tap_n=$((tap_n + 1))
  if [ "$1" -eq 0 ]; then echo "ok $tap_n - $2"; else echo "not ok $tap_n - $2"; tap_bad=$((tap_bad + 1)); fi
}
# is GOT WANT WHAT
is() {
  if [ "$1" = "$2" ]; then ok 0 "$3"; else
    printf '%s\n' "$1" | sed 's/^/# got  /'; printf '%s\n' "$2" | sed 's/^/# want /'; ok 1 "$3"; fi
}
# like TEXT PATTERN WHAT: passes if the text matches the extended regular expression
like() {
  if printf '%s\n' "$1" | grep -Eq -- "$2"; then ok 0 "$3"; else
    printf '%s\n' "$1" | sed 's/^/# got  /'; echo "# want something like $2"; ok 1 "$3"; fi
}
# skip WHY [COUNT]
skip() { for _ in $(seq "${2:-1}"); do tap_n=$((tap_n + 1)); echo "ok $tap_n # SKIP $1"; done; }
# need FILE: returns true if the file exists; otherwise skips one test
need() { [ -e "$1" ] && return 0; skip "no $1 (set ORRERY_TRACE_PATH / ORRERY_DATA_PATH)"; return 1; }
# not_sanitized WHY: in a sanitized program, skips one test and ends the script
not_sanitized() { [ "${ORR_SANITIZED:-}" != 1 ] || { skip "$1"; tap_done; exit; }; }
tap_done() { echo "1..$tap_n"; [ "$tap_bad" -eq 0 ]; }
