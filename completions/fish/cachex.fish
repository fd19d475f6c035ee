# SPDX-License-Identifier: BSD-2-Clause
# fish completion of cachex. The tool itself knows what can stand where.

function __cachex_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -l answer ($words[1] __complete $words[2..-1] "$typed" 2>/dev/null)
    switch "$answer[1]"
        case files
            __fish_complete_path $typed
        case dirs
            __fish_complete_directories $typed
        case '*'
            printf '%s\n' $answer[2..-1]
    end
end

complete -c cachex -f -a '(__cachex_complete)'
