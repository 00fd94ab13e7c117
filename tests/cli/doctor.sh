#!/bin/bash
# imgbuild doctor: the report, the exit code, the remedy for what is missing.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
rc=0
check() { if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; cat out 2>/dev/null; rc=1; fi; }

timeout 100 "$IMGBUILD" doctor --json >out 2>err
status=$?
python3 -c 'import json, sys
items = json.load(open("out"))["items"]
missing = [i for i in items if i["state"] == "missing"]
assert {i["state"] for i in items} <= {"ok", "slower", "missing"}
assert all(i.get("remedy") for i in items if i["state"] != "ok"), items
assert (int(sys.argv[1]) == 5) == bool(missing) and int(sys.argv[1]) in (0, 5), (sys.argv[1], missing)
assert any(i["what"] == "KVM" for i in items)' $status
check "JSON, states, remedies and exit code agree" $?

start=$SECONDS
timeout 100 "$IMGBUILD" doctor boot >out 2>&1
[[ $? -ne 124 && $((SECONDS - start)) -lt 60 ]]
check "the KVM probe does not hang" $?

if grep -q '^slower *KVM' out; then
        grep -A 2 '^slower *KVM' out | grep -q 'depends on the cores and what else they do: 30 to 40 s .* on two idle ones'
        check "without KVM a boot's time is said with what it depends on" $?
else
        echo "skip - without KVM a boot's time is said with what it depends on: this machine has KVM"
fi

# A host without any program: an empty PATH.
mkdir empty
PATH=$work/empty "$IMGBUILD" doctor build >out 2>&1
[[ $? -eq 5 ]] && grep -q '^missing *bwrap *not installed' out && grep -q 'apt install bubblewrap' out
check "a missing program and its remedy" $?

# A program that is too old.
mkdir old
printf '#!/bin/sh\necho bubblewrap 0.4.1\n' >old/bwrap
chmod +x old/bwrap
PATH=$work/old:$PATH "$IMGBUILD" doctor shell >out 2>&1
[[ $? -eq 5 ]] && grep -q 'bwrap *0.4.1, too old' out
check "a program that is too old" $?

"$IMGBUILD" doctor dance >out 2>&1
[[ $? -eq 2 ]] && grep -q "no verb 'dance'" out
check "unknown verb" $?
"$IMGBUILD" doctor --cache "$work/a/b/c" cache >out 2>&1
[[ $? -eq 0 && ! -e $work/a ]]
check "nothing is left behind" $?
exit $rc
