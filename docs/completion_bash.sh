# completion_bash.sh - the script for bash; read by completion.sh
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=sh disable=SC2154
cat <<END
# bash completion for orrery; $generated
# shellcheck shell=bash disable=SC2086,SC2207
_orrery()
{
	local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]}
	local command=\${COMP_WORDS[1]} verbs='' options='' done_part=''
	local formats='$formats' models='$jobs' requests='$requests' instances='$instances'
	COMPREPLY=()
	if [ "\$COMP_CWORD" -eq 1 ]; then
		COMPREPLY=(\$(compgen -W "$(echo "$commands" | tr '\n' ' ')help --help --version" -- "\$cur"))
		return
	fi
	case \$command in
	help) verbs='$(echo "$commands" | tr '\n' ' ')' ;;
END
for command in $commands; do
  printf "\t%s) verbs='%s' options='%s' ;;\n" "$command" "$(verbs "$command")" "$(options "$command")"
done
cat <<'END'
	esac
	case $prev in
END
choices | while read -r option words; do
  printf '\t%s)\n\t\tCOMPREPLY=($(compgen -W "%s" -- "$cur"))\n\t\treturn\n\t\t;;\n' "$option" "$words"
done
cat <<END
	get)
		COMPREPLY=(\$(compgen -W "$published" -- "\$cur"))
		return
		;;
END
cat <<'END'
	--policy | show)
		if [ "$prev" = --policy ] || [ "$command" = policy ]; then
			local kind=''
			case $command in jobs | step | serve | spot | plan) kind="--kind $command" ;; esac
			# In a comma-separated list, completes the word after the last comma.
			case $cur in *,*) done_part=${cur%,*}, cur=${cur##*,} ;; esac
			COMPREPLY=($(compgen -P "$done_part" \
				-W "$("${COMP_WORDS[0]}" policy list $kind 2>/dev/null | awk '/^  [a-z]/ { print $1 }')" -- "$cur"))
			[ -n "${COMPREPLY[*]}" ] || COMPREPLY=($(compgen -f -- "$cur"))
			return
		fi
		;;
	--device)
		COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" device list 2>/dev/null | awk 'NR > 1 { print $1 }')" -- "$cur") $(compgen -f -- "$cur"))
		return
		;;
	--model)
		case $cur in *,*) done_part=${cur%,*}, cur=${cur##*,} ;; esac
		COMPREPLY=($(compgen -P "$done_part" \
			-W "$("${COMP_WORDS[0]}" model list --served 2>/dev/null | awk 'NR > 1 { print $1 }')" -- "$cur"))
		[ -n "${COMPREPLY[*]}" ] || COMPREPLY=($(compgen -f -- "$cur"))
		return
		;;
	--job)
		COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" model list --elastic 2>/dev/null | awk 'NR > 1 { print $1 }')" -- "$cur") $(compgen -f -- "$cur"))
		return
		;;
	--format | --to)
		COMPREPLY=($(compgen -W "$formats" -- "$cur"))
		return
		;;
	esac
	case $cur in
	-*) COMPREPLY=($(compgen -W "$options --help" -- "$cur")) ;;
	*)
		[ "$COMP_CWORD" -ne 2 ] || COMPREPLY=($(compgen -W "$verbs" -- "$cur"))
		# Completes traces by names of generators, and models, devices and books by their names.
		case $command,${COMP_WORDS[2]},$COMP_CWORD in
		step,*,2 | plan,*,2 | model,show,3) COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" model list 2>/dev/null |
			awk 'NR > 1 { print $1 }')" -- "$cur") $(compgen -f -- "$cur")) ;;
		device,show,3) COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" device list 2>/dev/null |
			awk 'NR > 1 { print $1 }')" -- "$cur") $(compgen -f -- "$cur")) ;;
		figures,*,2) COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" figures --list 2>/dev/null)" -- "$cur") $(compgen -f -- "$cur")) ;;
		jobs,*,2) COMPREPLY=($(compgen -W "$models" -- "$cur") $(compgen -f -- "$cur")) ;;
		serve,*,2) COMPREPLY=($(compgen -W "$requests" -- "$cur") $(compgen -f -- "$cur")) ;;
		spot,*,2) COMPREPLY=($(compgen -W "$instances" -- "$cur") $(compgen -f -- "$cur")) ;;
		trace,synth,3) COMPREPLY=($(compgen -W "$(printf '%s\n' $models $requests $instances | sort -u)" -- "$cur") $(compgen -f -- "$cur")) ;;
		esac
		[ -n "${COMPREPLY[*]}" ] || COMPREPLY=($(compgen -f -- "$cur"))
		;;
	esac
}
complete -o filenames -F _orrery orrery
END
