#!/bin/bash
# The hand: what docs/hacking.md promises of every file, as far as a script can see it.
set -u
cd "$TOP"
rc=0
check() { if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; rc=1; fi; }
mapfile -t files < <(git ls-files '*.c' '*.h' 2>/dev/null)
[[ ${#files[@]} -gt 0 ]] || mapfile -t files < <(find builder firstboot tests -name '*.[ch]' | sort)
mapfile -t ours < <(printf '%s\n' "${files[@]}" | grep -E '^(builder|firstboot)/')

# none NAME COMMAND…: the command finds nothing.
none() {
        local found name=$1
        shift
        found=$("$@" | head -n 20)
        [[ -z $found ]]
        check "$name" $?
        [[ -z $found ]] || sed 's/^/# /' <<<"$found"
}

if command -v clang-format-19 >/dev/null; then
        printf '%s\n' "${files[@]}" | xargs -n 40 -P 2 clang-format-19 --dry-run -Werror 2>&1 | grep -m 5 error
        [[ ${PIPESTATUS[1]} -eq 0 ]]
        check "every file is as clang-format has it (make format)" $?
else
        echo "skip - every file is as clang-format has it: clang-format-19 is missing"
fi

none "no comment ends on a line of its own" grep -nE '^[[:space:]]*\*/$' "${ours[@]}"
ladders() { awk 'previous ~ /if \(r >= 0( && .*)?\)$/ && /^ +r = / { print FILENAME ":" FNR ": " $0 } { previous = $0 }' "${files[@]}"; }
none "no ladder of 'if (r >= 0) r = …': early return" ladders
none "no casts of string literals: ARGV()" grep -nE '\(char \*\) "' "${ours[@]}"
stray() { # log_…_errno with an error written by hand: its text says what the message says already
        awk '/log_[a-z]+_errno\(-E[A-Z0-9]/ || (open && /^ +-E[A-Z0-9]+,/) { print FILENAME ":" FNR ": " $0 } { open = /log_[a-z]+_errno\($/ }' "${ours[@]}"
}
none "no message ends with the text of an error that somebody wrote there: log_error_return()" stray
none "one monotonic clock: now_usec()" grep -nE 'clock_gettime\(CLOCK_MONOTONIC' $(printf '%s\n' "${ours[@]}" | grep -v 'shared/time-util.h')
none "one opener inside a tree" grep -nE 'SYS_openat2' $(printf '%s\n' "${ours[@]}" | grep -v 'sandbox/open-inside.c')
none "one loop that reads or writes at an offset: shared/file-util.h" grep -nE '= p(read|write)\(.*[+] ?(done|got)' $(printf '%s\n' "${ours[@]}" | grep -v 'shared/file-util.c')
none "one place that prints a variable number of arguments into new memory: strf(), vstrf()" grep -nE '\bvasprintf\(' $(printf '%s\n' "${ours[@]}" | grep -vE 'shared/(strv|log).c')
none "folders are walked with fts" grep -nE '\bnftw\(' "${ours[@]}"
none "folders are read by shared/folder.h" grep -nE '\b(readdir|scandir)\(' $(printf '%s\n' "${ours[@]}" | grep -vE 'shared/folder.[ch]|steps/mounts/entry.c')
none "no tabs" grep -nP '^\t' "${ours[@]}"

# What runs in a check's name ends before "$?" is read, so that the check cannot fail.
none "no check takes the status of a command in its own name" grep -rnE --include='*.sh' --include='*.bash' '^ *check ".*\$\(.*" \$\?' tests

opening() { # the first thing behind licence and pragma is a comment
        for f in "${ours[@]}"; do
                [[ $(sed -n '2,20{/^$/d;/^#pragma once$/d;p}' "$f" | head -n 1) == '/*'* ]] || echo "$f"
        done
}
none "every file opens with what it is for" opening

# The table of reason codes is one.
long() { wc -l "${files[@]}" | awk '$1 > 500 && $2 != "total" && $2 != "firstboot/contract/codes.c" { print $2 ": " $1 " lines" }'; }
none "no file is longer than 500 lines" long
none "no comment goes beyond column 100 (tests/lint/wrap-comments)" tests/lint/wrap-comments --check "${files[@]}"

unmirrored() { # tests/unit/builder/disk/test-layout.c is of builder/disk/layout.c
        local source
        for f in $(printf '%s\n' "${files[@]}" | grep -E '^tests/unit/.*/test-[^/]*\.c$'); do
                source=${f#tests/unit/} source=${source%/*}/${source##*/test-}
                [[ -e $source || -e ${source%.c}.h ]] || echo "$f: no $source"
        done
}
none "each unit test is named after the file that it tests, and lies where that lies" unmirrored

gone() { # files that documents, comments and messages name are there; NAME stands for any
        git grep -IhvE '^ *#include <' -- 'docs/*.md' README.md builder firstboot Makefile tests/run tests/lint 2>/dev/null |
                grep -oE '([A-Za-z0-9_-]+/)*[A-Za-z0-9_-]+\.(c|h|sh|bash|py|md)\b' | grep -v NAME | sort -u |
                while IFS= read -r path; do
                        grep -qE "(^|/)$path\$" "$work/files" || grep -qxF "$path" <<<"$elsewhere" || echo "$path"
                done
}
# Of other projects, of the system, of examples, and made while building.
elsewhere='ROOM/ROOM.h
ROOM/internal.h
active_healthcheck.py
add.py
add_para.py
b.c
check_gpu_setup.py
containerd-rootless-setuptool.sh
ddp.py
doc/PERFORMANCE.md
firstbootctl.bash
include/grub/i386/pc/boot.h
main.py
nvidia-bug-report.sh
opt/nccl-examples/run.sh
run.sh
sd-messages.h
start-head.sh
start-worker.sh
test.py
tf_multi_keras.py'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git ls-files >"$work/files" 2>/dev/null
none "no document and no comment names a file that is gone" gone

deep() { # statements further in than five levels; what continues a line may stand further in
        awk 'FNR == 1 { depth = 0; comment = 0 }
                { line = $0; gsub(/"([^"\\]|\\.)*"/, "", line); gsub(/\/\*.*\*\//, "", line) }
                line ~ /\/\*/ { comment = 1 } comment { if (line ~ /\*\//) comment = 0; next }
                line ~ /^#/ || line ~ /\\$/ { next }
                { n = match(line, /[^ ]/) - 1 }
                n > 40 && line ~ /^ +(if|for|while|switch|return|break;|continue;|do)/ && previous ~ /[;{}]$/ { print FILENAME ":" FNR ": " $0 }
                line ~ /[^ ]/ { previous = line; sub(/ +$/, "", previous) }' "${ours[@]}"
}
none "no statement is indented by more than five levels" deep
exit $rc
