# completion_zsh.sh - the script for zsh; read by completion.sh
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh disable=SC2154
cat <<END
#compdef orrery
# zsh completion for orrery; $generated
_orrery() {
  local -a found
  local command=\$words[2] verb=\$words[3] verbs='' options='' kind='' previous=\$words[CURRENT-1]
  local formats='$formats' generators='$jobs' requests='$requests' instances='$instances' published='$published'
  _orrery_names() { found=(\${(f)"\$(_call_program names \$words[1] "\$@" 2>/dev/null | awk 'NR > 1 { print \$1 }')"}) }
  _orrery_policies() {
    found=(\${(f)"\$(_call_program names \$words[1] policy list \$=kind 2>/dev/null | awk '/^  [a-z]/ { print \$1 }')"})
  }
  if (( CURRENT == 2 )); then
    found=(
END
for command in $commands; do
  doc=$(help_of | awk -v c="$command" '$1 == c { sub(/^ *[^ ]+ +/, ""); print; exit }')
  printf '      %s\n' "$(quoted "$command:$doc")"
done
cat <<'END'
      'help:the help of a command'
    )
    _describe -t commands 'command' found
    [[ $PREFIX != -* ]] || compadd -- --help --version
    return
  fi
  case $command in
END
printf "    help) verbs='%s' ;;\n" "$(echo "$commands" | tr '\n' ' ')"
for command in $commands; do
  printf "    %s) verbs='%s' options='%s' ;;\n" "$command" "$(verbs "$command")" "$(options "$command")"
done
cat <<'END'
  esac
  case $command in jobs | step | serve | spot | plan) kind="--kind $command" ;; esac
  case $previous in
END
choices | while read -r option words; do
  printf '    %s) compadd -- %s; return ;;\n' "$option" "$words"
done
cat <<'END'
    --policy) _orrery_policies; compset -P '*,'; compadd -S '' -a found; _files; return ;;
    --device) _orrery_names device list; compadd -a found; _files; return ;;
    --model) _orrery_names model list --served; compset -P '*,'; compadd -S '' -a found; _files; return ;;
    --job) _orrery_names model list --elastic; compadd -a found; _files; return ;;
    --format | --to) compadd -- $=formats; return ;;
  esac
  if [[ $PREFIX == -* ]]; then
    compadd -- $=options --help
    return
  fi
  (( CURRENT == 3 )) && compadd -- $=verbs
  case $command,$verb,$CURRENT in
    policy,show,4) _orrery_policies; compadd -a found ;;
    step,*,3 | plan,*,3 | model,show,4) _orrery_names model list; compadd -a found ;;
    device,show,4) _orrery_names device list; compadd -a found ;;
    figures,*,3) found=(${(f)"$(_call_program names $words[1] figures --list 2>/dev/null)"}); compadd -a found ;;
    trace,get,4) compadd -- $=published ;;
    jobs,*,3) compadd -- $=generators ;;
    serve,*,3) compadd -- $=requests ;;
    spot,*,3) compadd -- $=instances ;;
    trace,synth,4) compadd -- $=generators $=requests $=instances ;;
  esac
  _files
}
if [ "$funcstack[1]" = _orrery ]; then _orrery "$@"; else compdef _orrery orrery; fi
END
