#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# firstbootctl's completion knows verbs, options and reason codes; other shells are an error.
set -u
ctl=$TOP/$BUILD/firstboot/firstbootctl
rc=0
check() { if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; rc=1; fi; }

# offered WORD…: what bash offers for the last word.
offered() {
        COMP_WORDS=(firstbootctl "$@") COMP_CWORD=$# COMPREPLY=()
        _firstbootctl
        printf '%s\n' "${COMPREPLY[@]}"
}

source <("$ctl" completion bash)
check "bash reads the script" $?
[[ $(offered pl) == plot ]]
check "verbs are offered" $?
[[ $(offered --ti) == --timeout* ]]
check "options are offered" $?
[[ $(offered explain scratch.foreign) == scratch.foreign-signature ]]
check "reason codes are offered" $?

cmp -s "$TOP/$BUILD/firstboot/firstbootctl.bash" <("$ctl" completion bash)
check "what is installed is what it prints" $?
[[ $("$ctl" completion zsh | head -1) == "#compdef firstbootctl" ]]
check "zsh has a script too" $?
"$ctl" completion fish >/dev/null 2>&1
[[ $? -eq 64 ]]
check "another shell is a wrong argument" $?
exit $rc
