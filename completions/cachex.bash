# SPDX-License-Identifier: BSD-2-Clause
# bash completion of cachex. The tool itself knows what can stand where.

_cachex() {
	local line=${COMP_LINE:0:COMP_POINT} typed='' kind word prefix
	local -a words answer

	# Split at blanks only: readline's own words end at : and = as well.
	read -ra words <<<"$line"
	[[ $line == *[[:space:]] ]] || { typed=${words[-1]}; unset 'words[-1]'; }
	mapfile -t answer < <("${words[0]}" __complete "${words[@]:1}" "$typed" 2>/dev/null)
	kind=${answer[0]-}
	COMPREPLY=()
	case $kind in
	files | dirs)
		compopt -o filenames 2>/dev/null
		[[ $kind == dirs ]] && mapfile -t COMPREPLY < <(compgen -d -- "$typed")
		[[ $kind == files ]] && mapfile -t COMPREPLY < <(compgen -f -- "$typed")
		return
		;;
	esac
	# readline replaces only what stands behind the last : or =.
	prefix=${typed%"${typed##*[:=]}"}
	for word in "${answer[@]:1}"; do
		word=${word%%$'\t'*}
		printf -v word %q "${word#"$prefix"}"
		COMPREPLY+=("$word")
	done
}

complete -F _cachex cachex
