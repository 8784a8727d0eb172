# completion_fish.sh - the script for fish; read by completion.sh
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh disable=SC2154
cat <<END
# fish completion for orrery; $generated
function __orrery_names
    set -l program (commandline -opc)[1]
    # A name and its description. An empty description prevents fish from repeating the option's description.
    \$program \$argv 2>/dev/null | awk 'NR == 1 { at = index(\$0, "description") } NR > 1 { print \$1 "\t" (at ? substr(\$0, at) : "") }'
end
function __orrery_policies
    set -l words (commandline -opc)
    set -l kind
    contains -- \$words[2] jobs step serve spot plan; and set kind --kind \$words[2]
    set -l names (\$words[1] policy list \$kind 2>/dev/null | awk '/^  [a-z]/ { name = \$1; sub(/^ *[^ ]+ */, ""); print name "\t" \$0 }')
    # In a comma-separated list, completes the word after the last comma.
    set -l before (string match -r '^.*,' -- (commandline -ct))
    for name in \$names
        echo "\$before\$name"
    end
end
function __orrery_books
    set -l program (commandline -opc)[1]
    \$program figures --list 2>/dev/null
end
# Succeeds if the number of words before the cursor is \$argv[1] and the further words are \$argv[2..].
function __orrery_at
    set -l words (commandline -opc)
    test (count \$words) -eq \$argv[1]; or return 1
    for i in (seq 2 (count \$argv))
        test "\$words[\$i]" = "\$argv[\$i]"; or return 1
    end
end
complete -c orrery -n __fish_use_subcommand -s V -l version -d 'the version' -f
END
lists=$(choices)
# Prints the words with empty descriptions, so that fish does not repeat the option's description.
undescribed() { printf '%s\\t ' $1; }
for command in $commands; do
  doc=$(help_of | awk -v c="$command" '$1 == c { sub(/^ *[^ ]+ +/, ""); print; exit }')
  echo "complete -c orrery -n __fish_use_subcommand -f -a $command -d $(quoted "$doc")"
done
echo "complete -c orrery -n __fish_use_subcommand -f -a help -d 'the help of a command'"
echo "complete -c orrery -n '__orrery_at 2 help' -f -a '$(echo "$commands" | tr '\n' ' ')'"
for command in $commands; do
  seen="__fish_seen_subcommand_from $command"
  words=$(verbs "$command")
  [ -z "$words" ] || echo "complete -c orrery -n '__orrery_at 2 $command' -f -a '$words'"
  for option in $(options "$command"); do
    doc=$(described "$command" "$option")
    values=$(echo "$lists" | sed -n "s/^$option //p")
    case $option in
      --policy) how="-x -a '(__orrery_policies)'" ;;
      --device) how="-r -a '(__orrery_names device list)'" ;;
      --model) how="-r -a '(__orrery_names model list --served)'" ;;
      --job) how="-r -a '(__orrery_names model list --elastic)'" ;;
      --format | --to) how="-x -a '$(undescribed "$formats")'" ;;
      *) how= ; [ -z "$values" ] || how="-x -a '$(undescribed "$values")'" ;;
    esac
    printf '%s\n' "complete -c orrery -n '$seen' -l ${option#--} $how${doc:+ -d $(quoted "$doc")}"
  done
done
cat <<END
complete -c orrery -n '__orrery_at 2 jobs' -a '$jobs'
complete -c orrery -n '__orrery_at 2 serve' -a '$requests'
complete -c orrery -n '__orrery_at 2 spot' -a '$instances'
complete -c orrery -n '__orrery_at 2 step; or __orrery_at 2 plan; or __orrery_at 3 model show' -a '(__orrery_names model list)'
complete -c orrery -n '__orrery_at 3 device show' -a '(__orrery_names device list)'
complete -c orrery -n '__orrery_at 3 policy show' -a '(__orrery_policies)'
complete -c orrery -n '__orrery_at 2 figures' -a '(__orrery_books)'
complete -c orrery -n '__orrery_at 3 trace get' -x -a '$published'
complete -c orrery -n '__orrery_at 3 trace synth' -a '$jobs $requests $instances'
END
