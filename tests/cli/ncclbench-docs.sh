#!/bin/bash
# Options, operations, types, reason codes and JSON keys are all documented, and nothing else is.
set -u
. "$TOP/tests/cli/ncclbench.bash"
page=$(sed 's/\\-/-/g; s/\\f.//g; s/"//g' docs/man/ncclbench.1)

options=$("$bench" --help | grep -oE '^  (-., |    )--[a-z-]+' | grep -oE -e '--[a-z-]+')
[[ $(wc -l <<<"$options") -ge 25 ]]
check "--help lists the options" $?
missing=0
for o in $options; do grep -qE -e "$o([= ]|$|\.)" <<<"$page" || { echo "# $o is not in ncclbench.1"; missing=1; }; done
check "ncclbench.1 has every option" $missing
unknown=0
for o in $(grep -oE -e '--[a-z][a-z-]+' <<<"$page" | sort -u); do
        [[ $o == --ntasks-per-node ]] || grep -qxF -e "$o" <<<"$options" || { echo "# $o is no option"; unknown=1; }
done
check "ncclbench.1 has no option that is not there" $unknown

words=0
for w in all_reduce all_gather reduce_scatter broadcast reduce alltoall sendrecv int8 uint8 int32 uint32 int64 uint64 half float \
        double bfloat16 f8e4m3 f8e5m2 sum prod min max avg; do
        grep -qw "$w" <<<"$page" || { echo "# $w"; words=1; }
done
check "ncclbench.1 has every operation, type and reduction" $words

codes=$(sed -n '/reason_table\[_REASON_MAX\] = {/,/^};/p' firstboot/ncclbench/reason.c | sed -n 's/.*= { "\([a-z.-]*\)",.*/\1/p' | sort)
documented=$(sed -n '/^## Reason codes/,/^## The JSON/s/^| `\([a-z.-]*\)` .*/\1/p' docs/ncclbench.md | sort)
[[ -n $codes && $codes == "$documented" ]]
check "docs/ncclbench.md has every reason code and no other" $?
[[ $rc -eq 0 ]] || diff <(echo "$codes") <(echo "$documented")

timeout 120 "$bench" -b 1K -e 1K -n 1 --corrupt=0:0 -f 2 --json "${libraries[@]}" >"$work/json" 2>/dev/null
python3 - "$work/json" docs/ncclbench.md <<'PY'
import json, re, sys
text = open(sys.argv[2]).read()
text = set(re.findall(r'`([a-z_]+)(?:\[\])?`', text[text.index('## The JSON document'):]))
def keys(o):
    if isinstance(o, dict):
        for k, v in o.items():
            yield k
            yield from keys(v)
    elif isinstance(o, list):
        for v in o:
            yield from keys(v)
missing = set(keys(json.load(open(sys.argv[1])))) - text
for k in missing:
        print('#', k)
sys.exit(bool(missing))
PY
check "docs/ncclbench.md has every JSON key" $?
exit $rc
