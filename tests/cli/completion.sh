#!/bin/bash
# The completion scripts: both shells accept them, every option of every verb is in them, and in a real bash
# they complete verbs, options and values.
set -u
cd "$TOP"
rc=0
check() { if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; rc=1; fi; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for shell in bash zsh; do
        "$IMGBUILD" completion "$shell" >"$work/$shell"
        check "a script for $shell" $?
        if command -v "$shell" >/dev/null; then
                "$shell" -n "$work/$shell"
                check "$shell accepts it" $?
        else
                echo "skip - $shell accepts it: $shell is missing"
        fi
done

"$IMGBUILD" completion csh >"$work/out" 2>"$work/err"
[[ $? -eq 2 && ! -s $work/out ]] && grep -q 'takes bash or zsh' "$work/err"
check "another shell is refused" $?

verbs=$("$IMGBUILD" --help | sed -n 's/^  \([a-z]*\) .*/\1/p')
for shell in bash zsh; do
        bad=0
        for verb in $verbs; do
                grep -qE "^ *${verb}[:)]" "$work/$shell" || { echo "# no $verb for $shell"; bad=1; }
                # In the verb's own part of the script, or among the options that all have in common.
                options=$("$IMGBUILD" "$verb" --help | grep -oE '(^|[ ,])--[a-z-]+' | tr -d ' ,' | sort -u)
                part=$(sed -n "/^ *$verb)/,/;;/p; /specs=(/,/^ *)$/p" "$work/$shell")
                for o in $options; do
                        grep -qE -e "$o([^a-z-]|\$)" <<<"$part" || { echo "# $verb $o is not there for $shell"; bad=1; }
                done
        done
        check "every option of every verb is there for $shell" $bad
done

mkdir -p "$work/here/images" "$work/here/out"
touch "$work/here/node.json" "$work/here/node.txt" "$work/here/key.pub" "$work/here/key"

# complete WORDS… : what a Tab behind the last word offers; readline has "=" as a word of its own. In a shell with
# bash-completion where it is installed, as users have it.
complete_words() {
        (cd "$work/here" && bash --norc -c '
                shopt -s extglob
                [[ -r /usr/share/bash-completion/bash_completion ]] && . /usr/share/bash-completion/bash_completion
                . "$0" || exit
                COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
                spec=($(complete -p imgbuild))
                [[ ${spec[-3]} == -F && ${spec[-1]} == imgbuild ]] || exit
                "${spec[-2]}" imgbuild "${@: -1}" "${@: -2:1}" 2>&1
                echo ${COMPREPLY[*]}' "$work/bash" "$@")
}

offers() {
        local expected=$1 found
        shift
        found=$(complete_words "$@")
        [[ $found == "$expected" ]] || echo "# '$*' offers '$found', not '$expected'"
        [[ $found == "$expected" ]]
        check "bash: $*" $?
}

offers build imgbuild bu
offers "$(xargs <<<"$verbs")" imgbuild ''
offers '--help --version' imgbuild -
offers '--firmware=' imgbuild boot --fi
offers 'uefi bios' imgbuild boot --firmware =
offers uefi imgbuild boot --firmware = u
offers 'auto plain json none' imgbuild build node.json --progress = ''
offers json imgbuild build --progress j
offers 'qcow2 raw vhd vmdk ova raw.zst gce oci artifact' imgbuild export -f ''
offers 'images node.json out' imgbuild build ''
offers node.json imgbuild plan --json n
offers 'images out' imgbuild build --output = ''
offers images imgbuild build -o i
offers key.pub imgbuild boot --ssh-key = k
offers 'list prune verify export import push' imgbuild cache ''
offers 'plan' imgbuild doctor build p
offers '' imgbuild boot --timeout = ''
offers '' imgbuild shell node.json -- n

# A whole Tab in zsh, through a terminal.
if command -v zsh >/dev/null; then
        found=$(cd "$work/here" && TERM=dumb timeout 180 zsh -f -c '
                zmodload zsh/zpty || exit 77
                zpty z zsh -f -i
                zpty -w z "PS1=; autoload -U compinit; compinit -u -D; source '"$work/zsh"'; print rea\dy"
                zpty -r z out "*ready*" || exit 1
                zpty -w -n z "imgbuild boot --firmware=u"$'"'\\t'"'
                zpty -r z out "*--firmware=uefi*" && print uefi')
        [[ $found == uefi ]]
        check "zsh: imgbuild boot --firmware=u" $?
else
        echo "skip - zsh: imgbuild boot --firmware=u: zsh is missing"
fi
exit $rc
