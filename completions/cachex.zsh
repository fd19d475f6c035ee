#compdef cachex
# SPDX-License-Identifier: BSD-2-Clause
# zsh completion of cachex. The tool itself knows what can stand where.

local kind line
local -a answer found shown

answer=("${(@f)$(_call_program words ${(q)words[1]} __complete "${(@q)${(@Q)words[2,CURRENT]}}" 2>/dev/null)}")
kind=$answer[1]
case $kind in
files) _files ;;
dirs) _files -/ ;;
*)
	for line in "${(@)answer[2,-1]}"; do
		found+=("${line%%$'\t'*}")
		shown+=("${line%%$'\t'*}  ${line#*$'\t'}")
	done
	compadd -l -d shown -a found
	;;
esac
