# Checks an installation by `make install`: program, man pages, completions, data files, headers, pkg-config.
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
. "$srcdir/tests/tap.sh"
not_sanitized "a test of the tree and its build, not of the program"
unset MAKEFLAGS MFLAGS MAKELEVEL DESTDIR

root=$work/root
make -C "$top_builddir" install DESTDIR="$root" >"$work/install.log" 2>&1
rc=$?
[ $rc -eq 0 ] || sed 's/^/# /' "$work/install.log"
ok $rc "make install DESTDIR=... works"

one() { find "$root" -path "*/$1" -type f | head -n 1; }
program=$(one bin/orrery)
is "$("$program" --version)" "$("$ORRERY" --version)" "the installed program runs"

man=$(one man1/orrery.1)
ok "$([ -s "$man" ]; echo $?)" "the man page is installed"
commands=$("$ORRERY" --help | awk '/^commands:/ { on = 1; next } on && NF == 0 { exit } on { print $1 }')
is "$(for c in $commands; do
  grep -qix "\\.SH ORRERY $c" "$man" || echo "no section on $c"
  "$ORRERY" "$c" --help | grep -oE -- '(^|[^-[:alnum:]])--[a-z][a-z-]*' | sed 's/^[^-]*//' | sort -u |
    while read -r o; do sed 's/\\-/-/g' "$man" | grep -qF -- "$o" || echo "$c: no $o"; done
done)" "" "the man page has every command and option"
if command -v groff >/dev/null; then
  is "$(groff -man -Tascii -ww "$man" 2>&1 >/dev/null)" "" "groff formats the man page without a warning"
else
  skip "groff is not installed"
fi

pages=$(dirname "$man")
is "$(for c in $commands; do
  page=$pages/orrery-$c.1
  [ -s "$page" ] || { echo "no page orrery-$c.1"; continue; }
  head -n 8 "$page" | grep -q "^orrery.-$c .- [a-zA-Z]" || echo "$c: no line of NAME"
  "$ORRERY" "$c" --help | grep -oE -- '(^|[^-[:alnum:]])--[a-z][a-z-]*' | sed 's/^[^-]*//' | sort -u |
    while read -r o; do sed 's/\\-/-/g' "$page" | grep -qF -- "$o" || echo "$c: no $o"; done
  command -v groff >/dev/null && groff -man -Tascii -ww "$page" 2>&1 >/dev/null
done)" "" "every command has a man page of its own with all its options"

# Data files: the program finds those of the installation, and users can copy them.
share=$(dirname "$(one plots/style.gp)")/..
is "$(for d in $("$ORRERY" device list | awk 'NR > 1 { print $1 }'); do cmp "$share/hwmodel/devices/$d.json" <("$ORRERY" device show "$d" --json); done)" "" \
  "the file of every device is installed"
is "$(for m in $("$ORRERY" model list | awk 'NR > 1 { print $1 }'); do cmp "$share/hwmodel/models/$m.json" <("$ORRERY" model show "$m" --file); done)" "" \
  "the file of every model is installed"
is "$(for m in $("$ORRERY" model list --served | awk 'NR > 1 { print $1 }'); do cmp "$share/hwmodel/served/$m.json" <("$ORRERY" model show "$m" --served --file); done)" "" \
  "the file of every served model is installed"
is "$(for m in $("$ORRERY" calib list | awk 'NR > 1 && /^[a-z]/ { print $1 }'); do [ -s "$share/hwmodel/profiles/$m.json" ] || echo "$m"; done)" "" \
  "the file of every profile is installed"
like "$(ORRERY_DATADIR=$share "$program" doctor | grep -E '^(ok|MISSING) +(figure|scenario|device)' | grep -c "^ok .* $share/")" '^3$' \
  "doctor finds the files of the installation"

completion=$(one bash-completion/completions/orrery)
ok "$([ -s "$completion" ]; echo $?)" "the completion is installed under the command's name"
# complete_words WORD...: prints the completions that bash offers for the last word
complete_words() {
  PATH=$(dirname "$program"):$PATH bash --norc -c '
    . "$1"; shift
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _orrery; printf "%s\n" "${COMPREPLY[@]}"' bash "$completion" "$@" 2>&1
}
is "$(complete_words orrery --ver)" "--version" "the completion completes options"
is "$(for c in $commands; do complete_words orrery "$c" | grep -qx -- "$c" || echo "$c"; done)" "" \
  "the completion knows every command"
is "$(complete_words orrery policy new x --)" "--kind
--lang
--max-memory
--max-time
--reacting
--router
--help" "options in examples are not completed as options of the command"
is "$(complete_words orrery scenario show x --plac)" "--placement" "scenario show has the options of jobs"
if "$program" policy list >/dev/null 2>&1; then
  is "$(complete_words orrery jobs t.csv --policy fif)" "fifo" "the completion knows the policies"
  is "$(complete_words orrery jobs t.csv --placement consol)" "consolidate" "the completion knows choices listed in help texts"
  is "$(complete_words orrery jobs t.csv --policy srtf,fif)" "srtf,fifo" "the completion works after a comma"
  is "$(complete_words orrery step resnet50 --policy fif)$(complete_words orrery step resnet50 --policy stan)" "stanza" \
    "the completion offers policies of the command's world only"
  is "$(complete_words orrery step vgg1)" "vgg16
vgg19
vgg16_cifar" "the completion knows the models"
  is "$(complete_words orrery serve poi)$(complete_words orrery serve x --policy irin)$(complete_words orrery serve x --model llama2-13)" \
    "poissonirinallama2-13b" "the completion of serve knows its generators, policies and models"
  is "$(complete_words orrery figures stan)$(complete_words orrery step vgg16 --device v100-p)$(complete_words orrery device show v100-p)" \
    "stanzav100-pciev100-pcie" "the completion knows books and devices"
  is "$(complete_words orrery help expl)$(complete_words orrery trace get nasa)" "explainnasa-ipsc" "help is followed by a command, trace get by a trace"
else
  skip "this orrery lists no policies" 8
fi

# zsh: the functions of its completion system are replaced by ones that print.
zsh_file=$(one site-functions/_orrery)
is "$(head -n 1 "$zsh_file")" "#compdef orrery" "the completion of zsh is installed under the name that compinit reads"
# zsh_words WORD..: prints the candidates for the last word
zsh_words() {
  PATH=$(dirname "$program"):$PATH zsh -f -c '
    compdef() { : }; _files() { : }; compset() { : }
    _call_program() { shift; "$@" }
    _describe() { print -l -- "${(@)found%%:*}" }
    compadd() {
      local -a all
      while [[ $1 == -* ]]; do
        case $1 in --) shift; break ;; -a) all=("${(@P)2}"); shift 2 ;; -S) shift 2 ;; *) shift ;; esac
      done
      print -l -- "${all[@]}" "$@"
    }
    . $1; shift
    words=("$@") CURRENT=$# PREFIX=${@[-1]}
    _orrery' zsh "$zsh_file" "$@" 2>&1 | grep -e "^${*: -1}"
}
if command -v zsh >/dev/null; then
  is "$(for c in $commands; do zsh_words orrery "$c" | grep -qx -- "$c" || echo "$c"; done)" "" "zsh: every command"
  is "$(zsh_words orrery jobs t.csv --policy fif; zsh_words orrery step vgg16 --device v100-p; zsh_words orrery figures stan; zsh_words orrery model show vgg1;
    zsh_words orrery serve p --model llama2-13; zsh_words orrery jobs t.csv --placement consol; zsh_words orrery trace get nasa)" "fifo
v100-pcie
stanza
vgg16
vgg19
vgg16_cifar
llama2-13b
consolidate
nasa-ipsc" "zsh: names of policies, devices, books, models and choices"
else
  skip "zsh is not installed" 2
fi

fish_file=$(one vendor_completions.d/orrery.fish)
# fish_lines LINE: prints the candidates for the end of the line with their descriptions
fish_lines() { PATH=$(dirname "$program"):$PATH HOME=$work fish --no-config -c "source $fish_file; complete -C '$1'" 2>&1; }
fish_words() { fish_lines "$1" | cut -f 1; }
ok "$([ -s "$fish_file" ]; echo $?)" "the completion of fish is installed"
if command -v fish >/dev/null; then
  is "$(for c in $commands; do fish_words "orrery $c" | grep -qx -- "$c" || echo "$c"; done)" "" "fish: every command"
  is "$(fish_words 'orrery jobs t.csv --policy fif'; fish_words 'orrery jobs t.csv --policy srtf,fif'; fish_words 'orrery step vgg16 --device v100-p'
    fish_words 'orrery figures stan'; fish_words 'orrery model show vgg1' | sort; fish_words 'orrery serve p --model llama2-13'
    fish_words 'orrery jobs t.csv --placement consol'; fish_words 'orrery trace get nasa'; fish_words 'orrery help expl')" "fifo
srtf,fifo
v100-pcie
stanza
vgg16
vgg16_cifar
vgg19
llama2-13b
consolidate
nasa-ipsc
explain" "fish: names of policies, devices, books, models and choices"
  is "$(fish_lines 'orrery jobs t.csv --policy fif'; fish_lines 'orrery serve p --model llama2-13'; fish_lines 'orrery jobs t.csv --placement consol')" \
    "fifo	$("$ORRERY" policy list --kind jobs | sed -n 's/^  fifo  *//p')
llama2-13b	$("$ORRERY" model list --served | sed -n 's/^llama2-13b .*GiB *//p')
consolidate" "fish: a candidate has its own description, not that of the option"
else
  skip "fish is not installed" 3
fi

is "$("$program" policy cflags)" "-I$(realpath "$(dirname "$(one include/orrery/policy.h)")/..")" "policy cflags names the installed headers"
# pkg-config and the headers: enough to build a plugin outside the tree.
pc=$(one pkgconfig/orrery.pc)
if command -v pkg-config >/dev/null; then
  flags=$(PKG_CONFIG_PATH=$(dirname "$pc") PKG_CONFIG_SYSROOT_DIR=$root pkg-config --cflags orrery)
  like "$flags" '^-I.*/include *$' "pkg-config --cflags orrery names the headers"
  is "$(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --modversion orrery)" "$("$ORRERY" --version | cut -d' ' -f2)" \
    "pkg-config knows the version"
  # `orrery policy new` writes a policy and a test that builds it, runs it and compares it with fifo.
  if "$program" policy new --help >/dev/null 2>&1; then
    (cd "$work" && "$program" policy new mine && ORRERY=$program ORRERY_CFLAGS=$flags sh ./mine_test.sh) \
      >"$work/new.log" 2>&1
    rc=$?
    [ $rc -eq 0 ] || sed 's/^/# /' "$work/new.log"
    ok $rc "a new policy compiles against the installed headers, runs and does what its test says"
  else
    skip "this orrery has no command policy"
  fi
  is "$(for h in "$root"/*/*/include/orrery/*.h "$root"/*/include/orrery/*.h; do
    [ -e "$h" ] || continue
    # shellcheck disable=SC2086
    ${CC:-cc} -std=c11 -Wall -Wextra -Werror $flags -fsyntax-only -x c "$h" 2>&1
  done)" "" "every public header compiles by itself"
else
  skip "pkg-config is not installed" 4
fi
tap_done
