# Automatic checks of the rules in CONTRIBUTING.md.
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
. "$srcdir/tests/tap.sh"
not_sanitized "a test of the tree and its build, not of the program"

# All source files, without build folders and the output of autoreconf.
files() {
  (cd "$srcdir" && find . \( -name .git -o -name 'build*' -o -name 'autom4te*' -o -name 'orrery-[0-9]*' \
    -o -name aclocal.m4 -o -name configure -o -name 'config.*' -o -name Makefile.in -o -name Makefile \) -prune -o \
    -type f \( "$@" \) -print | sort)
}
code() {
  files -name '*.[ch]' -o -name '*.cu' -o -name '*.sh' -o -name '*.awk' -o -name '*.mk' -o -name Makefile.am \
    -o -name configure.ac -o -name '*.def' -o -name '*.gp' -o -path './.ci/run'
}

is "$(code | while read -r f; do
  n=$(wc -l <"$srcdir/$f")
  [ "$n" -le 700 ] || echo "$f has $n lines"
done)" "" "no file of code is over 700 lines"

marks='TO''DO|FIX''ME|XX''X'
is "$(code | grep -v '^\./tests/summary.sh$' | while read -r f; do grep -nHE "\\b($marks)\\b" "$srcdir/$f"; done)" "" \
  "no file contains a marker of unfinished work ($marks)"

is "$(files -name '*.[ch]' -o -name '*.sh' | while read -r f; do
  head -n 5 "$srcdir/$f" | grep -q 'SPDX-License-Identifier: GPL-3.0-or-later' || echo "$f"
done)" "" "every source file names its licence"

is "$(code | while read -r f; do grep -nHE '[[:space:]]+$' "$srcdir/$f"; done | head)" "" "no line ends in blanks"

is "$(files -name '*.sh' -o -path './.ci/run' | while read -r f; do bash -n "$srcdir/$f" 2>&1; done)" "" "every script parses"

if command -v shellcheck >/dev/null; then
  # Files that are sourced or run by `bash FILE` have no #! line and take variables from make and tap.sh. Commas
  # in words separate the policies of a list.
  is "$(files -name '*.sh' -o -path './.ci/run' | while read -r f; do
    shell=bash
    head -c 2 "$srcdir/$f" | grep -q '#!' && shell=$(head -n 1 "$srcdir/$f" | grep -oE '(ba)?sh$')
    shellcheck -s "$shell" -S warning -e SC1091,SC2034,SC2046,SC2054,SC2154 "$srcdir/$f" 2>&1
  done)" "" "shellcheck has no warnings"
else
  skip "shellcheck is not installed"
fi

# A file that no list names is missing from releases, or is never built.
listed() {
  files -name '*.mk' -o -name Makefile.am | while read -r f; do cat "$srcdir/$f"; done | tr -s ' \t\\' '\n'
}
if (cd "$srcdir" && git rev-parse --is-inside-work-tree) >/dev/null 2>&1; then
  listed >"$work/listed"
  is "$(cd "$srcdir" && git ls-files | grep -vE '(^|/)(sources\.mk|\.gitignore|\.gitattributes)$|^(Makefile.am|configure.ac|orrery.pc.in)$' |
    awk 'NR == FNR { listed[$0] = 1; next }
      { for (path = $0; !(path in listed); ) if (!sub(/\/[^\/]*$/, "", path)) { print; break } }' "$work/listed" -)" "" \
    "every file, or its folder, is in a sources.mk, and so in a release"
else
  skip "no git checkout to compare with"
fi

# The documents agree with the program.
# rows FILE HEADING: prints the first cells of the tables below "## HEADING", one per line
rows() { awk -v h="## $2" '/^## / { on = $0 == h } on && /^\| `/ { split($0, cell, "`"); print cell[2] }' "$srcdir/$1"; }
# missing FILE HEADING NAMES: prints the lines of NAMES without a row
missing() {
  rows "$1" "$2" >"$work/rows"
  if [ -s "$3" ]; then grep -vxFf "$work/rows" "$3"; else echo "the program lists none"; fi
}
"$ORRERY" policy list 2>/dev/null | awk '/^[^ ]/ { kind = $1 } /^  [a-z]/ { print $1 >"'"$work"'/policies." kind }'
if [ -e "$work/policies.jobs" ]; then
  is "$(for k in "$work"/policies.*; do missing docs/policies.md "${k##*.}" "$k" | sed "s/^/${k##*.} /"; done)" "" \
    "every policy has a row under its world in docs/policies.md"
else
  skip "this orrery lists no policies"
fi
"$ORRERY" trace list 2>/dev/null | awk '/^[^ ]/ { what = $1 } /^  [a-z]/ { print $1 >"'"$work"'/traces." what }'
is "$(missing docs/traces.md Formats "$work/traces.formats")" "" "every trace format has a row in docs/traces.md"
is "$(missing docs/traces.md Generators "$work/traces.models")" "" "every generator has a row in docs/traces.md"
is "$("$ORRERY" --help | awk '/^commands:/ { on = 1; next } on && NF == 0 { exit } on { print $1 }' |
  while read -r c; do grep -q "^| \`orrery $c\`" "$srcdir/docs/reference/commands.md" || echo "$c"; done)" "" \
  "every command has a row in docs/reference/commands.md"
is "$("$ORRERY" --help | awk '/^commands:/ { on = 1; next } on && NF == 0 { exit } on { print $1 }' | while read -r c; do
  "$ORRERY" "$c" --help | awk -v c="$c" 'on && NF && !/^  / { print c ": " $0 } tolower($1) ~ /^example/ { on = 1 }'; done)" "" \
  "the lines below Example in the help of a command are commands"
# options WORLD ARGUMENTS..: prints the options of a world as in a scenario
options() {
  "$ORRERY" scenario show "${@:2}" 2>/dev/null | awk -v w="\t\"$1\":" 'index($0, w) == 1 { on = 1; next } /^\t}/ { on = 0 }
    on && match($0, /"[a-zA-Z_]+"/) { print substr($0, RSTART + 1, RLENGTH - 2) }'
}
is "$(while read -r w arguments; do
  cat "$srcdir"/docs/reference/options{,-serve}.md | awk -v h="## $w" '/^## / { on = $0 == h } on' >"$work/section"
  # shellcheck disable=SC2086 # words
  options "$w" $arguments >"$work/options"
  [ -s "$work/options" ] || echo "$w: the scenario has none"
  while read -r o; do grep -qF "\`$o\`" "$work/section" || echo "$w.$o"; done <"$work/options"
done <<'END'
jobs philly-like --cluster 1x1 --policy fifo
step lenet5 --world step --cluster 1x1:v100 --policy allreduce
serve poisson --world serve --cluster 1x1 --model irina-alexnet --policy fifo
spot hazard --world spot --job bamboo-bert --policy bamboo
plan lenet5 --world plan --cluster 1x1:v100 --policy straight
END
)" "" "every option of a world is in docs/reference/options.md"
is "$(sed -n 's/^version: //p' "$srcdir/CITATION.cff")" "$("$ORRERY" --version | awk '{ print $2 }')" \
  "CITATION.cff has the program's version"

# Checks that the documents agree with one another.
documents() { (cd "$srcdir" && find README.md CONTRIBUTING.md CHANGELOG.md docs scenarios -name '*.md' | sort); }
is "$(documents | while read -r f; do
  n=$(wc -m <"$srcdir/$f")
  [ "$n" -le 25000 ] || echo "$f has $n characters"
done)" "" "no page is over 25,000 characters"
# Prints the anchors of a page in GitHub's form: lower case, blanks as hyphens, other signs dropped.
anchors() {
  awk '/^```/ { code = !code } !code && sub(/^#+ /, "") { print }' "$srcdir/$1" | tr '[:upper:]' '[:lower:]' |
    sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}
# links FILE: prints the targets of its links, without those to other hosts
links() { awk '/^```/ { code = !code } !code' "$srcdir/$1" | grep -oE '\]\([^)]+' | sed 's/^](//' | grep -vE '^[a-z]+:'; }
is "$(documents | while read -r f; do
  links "$f" | while read -r to; do
    path=${to%%#*}
    page=$f
    [ -z "$path" ] || page=$(realpath -m --relative-to="$srcdir" "$srcdir/$(dirname "$f")/$path")
    [ -e "$srcdir/$page" ] || { echo "$f: $to: no such file"; continue; }
    case $to in *.md#* | \#*) anchors "$page" | grep -qxF -- "${to#*#}" || echo "$f: $to: no such heading" ;; esac
  done
done)" "" "every link in the documents leads to a file and a heading of it"
is "$(documents | grep '^docs/' | grep -vE '^docs/(README|models/.*)\.md$' | while read -r f; do
  grep -qF "](${f#docs/})" "$srcdir/docs/README.md" || grep -qF "](${f#docs/})" "$srcdir"/docs/{comparison,traces}.md || echo "$f"
done)" "" "every page is in docs/README.md, or in the page that it belongs to"
# An unclosed code fence turns the rest of a page into code. A merge can remove a closing fence.
is "$(documents | while read -r f; do awk -v f="$f" '
    /^```/ { n++ }
    n % 2 == 0 && /^#+ / && before !~ /^(<!--.*)?$/ { print f ":" FNR ": no empty line before the heading" }
    n % 2 == 0 && /^\$ |^orrery: / { print f ":" FNR ": a command or message that is not in a fence" }
    { before = $0 }
    END { if (n % 2) print f ": a fence is not closed" }' "$srcdir/$f"; done)" "" "code in the documents is fenced, and headings stand alone"
is "$(documents | while read -r f; do grep -nHE '[[:space:]]+$' "$srcdir/$f"; done | head)" "" "no line of a document ends in blanks"
# Checks that every document that a text refers to exists.
is "$({ code && documents; } | while read -r f; do grep -HoE '\bdocs/[a-z/-]+\.(md|json)' "$srcdir/$f"; done | sort -u |
  while IFS=: read -r f to; do [ -e "$srcdir/$to" ] || echo "${f#"$srcdir"/}: $to"; done)" "" "documents that code and documents name exist"
# A script that goes on after its plan has two plans: it fails only where something is not installed.
is "$(files -path './tests/*.sh' | while read -r f; do awk -v f="$f" '
    plan { if ($1 != "exit" && $1 != "return") print f ":" FNR ": the script goes on after tap_done"; plan = 0 }
    /^ +tap_done$/ { plan = 1 }' "$srcdir/$f"; done)" "" "no test goes on after its plan"
tap_done
