#!/bin/bash
# No kind of stage changes its code without its number (builder/plan/stage-code), or layers of the code before would be
# taken for layers of the new one. The tool is shown to see each kind of change.
set -u
cd "$TOP"
rc=0
check() { if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; rc=1; fi; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tool=tests/lint/stage-code

faults=$(python3 $tool "$TOP")
check "the code of every kind of stage is that of its number" $?
sed 's/^/# /' <<<"$faults"

mkdir -p "$work/builder"
cp -r builder/{plan,stage,sandbox,store,lock,appliance,common} "$work/builder/"
python3 $tool "$work" --write --same all >/dev/null
number() { sed -n "s/^STAGE_CODE([A-Z]*, $1, \([0-9]*\),.*/\1/p" "$work/builder/plan/stage-code"; }
base=$(number base) run=$(number run) files=$(number files)

printf '\n/* a comment,\n   and another */ // 1\n' >>"$work/builder/stage/base.c"
sed -i 's/^#include/  # include/' "$work/builder/stage/base.c"
python3 $tool "$work" >"$work/out"
check "comments and white space are no change" $?
sed -i 's/"--mode=root"/"--mode= root"/' "$work/builder/stage/base.c"
python3 $tool "$work" >"$work/out"
[[ $? -eq 1 && $(wc -l <"$work/out") -eq 1 ]] && grep -q "^base: its code changed, and its number is $base still: 'make stage-code'" "$work/out"
check "white space in a text is one, and its kind alone is named" $?
python3 $tool "$work" --write >"$work/out" && [[ $(number base) -eq $((base + 1)) && $(number run) -eq $run ]] && python3 $tool "$work"
check "--write gives it the next number, the others keep theirs" $?

echo 'int changed;' | tee -a "$work/builder/stage/run.c" >>"$work/builder/stage/files.c"
python3 $tool "$work" --write --same "run" >"$work/out" && [[ $(number run) -eq $run && $(number files) -eq $((files + 1)) ]] && python3 $tool "$work"
check "--same keeps a number for code that makes the same, of that kind alone" $?
python3 $tool "$work" --write --same rnu >"$work/out"
[[ $? -eq 1 ]] && grep -q 'there is no kind "rnu"' "$work/out"
check "a kind that there is not is told" $?
echo 'int new;' >"$work/builder/stage/new.c"
python3 $tool "$work" >"$work/out"
[[ $? -eq 1 ]] && grep -q 'builder/stage/new.c: to which kinds' "$work/out"
check "a new file has to say to which kinds it belongs" $?
rm "$work/builder/stage/new.c" "$work/builder/stage/services.c"
python3 $tool "$work" >"$work/out"
[[ $? -eq 1 ]] && grep -q 'services: there is no builder/stage/services.c' "$work/out"
check "a file that is gone is told" $?
exit $rc
