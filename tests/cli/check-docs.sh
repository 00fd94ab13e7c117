#!/bin/bash
# Every rule has its heading in docs/checks.md, and every heading is a rule.
set -u
cd "$TOP"
rc=0
rules=$("$IMGBUILD" check --rules | sort)
headings=$(sed -n 's/^### //p' docs/checks.md | sort)

if [[ -n $rules && $rules == "$headings" ]]; then
        echo "ok - docs/checks.md has every rule and no other"
else
        echo "not ok - docs/checks.md has every rule and no other"
        diff <(echo "$rules") <(echo "$headings") | sed 's/^/# /'
        rc=1
fi

# What a rule is for is worth a sentence.
short=
for rule in $rules; do
        text=$(awk -v h="### $rule" '$0 == h { on = 1; next } /^#/ { on = 0 } on' docs/checks.md | tr -d '\n')
        [[ ${#text} -ge 40 ]] || short+=" $rule"
done
if [[ -z $short ]]; then
        echo "ok - every rule is explained"
else
        echo "not ok - every rule is explained:$short"
        rc=1
fi
exit $rc
