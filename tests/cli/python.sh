#!/bin/bash
# Python environments of overlays: which wheels are locked and which stay, and what is said where pip finds no answer. What
# is made of them is in tests/e2e/18-python.sh.
set -u
source "$TOP/tests/fixtures/archive.bash"
source "$TOP/tests/fixtures/wheels.bash"
package python3 3.13.5-1 'Depends: python3.13'
package python3.13 3.13.5-2
publish_base
wheels_index "$SITE" "$URL"
export IMGBUILD_FETCH_STALL_SECONDS=60 # nothing here depends on how fast pip and its server are
wheel newer 1.0
wheel older 1.0
wheel tiny 1.0 --licence=MIT "--requires=newer; python_version >= '3.13'" "--requires=older; python_version < '3.13'"

python() { # NAME REQUIREMENTS [MEMBERS]
        overlay "$1" "{ \"description\": \"wheels\", \"packages\": { \"debian\": [\"python3\"] },
                \"python\": { \"environment\": \"/opt/ml/x\", \"requirements\": [$2]${3:+, $3} } }"
}
python one '"tiny>=1"'
recipe r '"overlays": ["one"]'
lock=$T/images/r.lock.json

run lock "$T/images/r.json"
check "wheels are locked for the image's Python, with what they depend on" \
        bash -c "test $rc -eq 0 && grep -q '\"target\": \"cpython-3.13.5-glibc-2.41-x86_64\"' '$lock' && test '$(version tiny)' = 1.0"
check "conditions are those of the image's Python, not of the host's" test "$(version newer) $(version older)" = "1.0 "
sum=$(sha256sum <"$INDEX/tiny/tiny-1.0-py3-none-any.whl" | cut -d' ' -f1)
check "each with file, licence, size and digest" grep -q "\"file\": \"tiny-1.0-py3-none-any.whl\", \"licence\": \"MIT\", \"size\": [0-9]*, \"sha256\": \"$sum\"" "$lock"
check "what installs them is locked too" grep -q '"name": "pip", .*"role": "installer"' "$lock"
check "no index is named in the lock" bash -c "! grep -q 127.0.0.1 '$lock'"
cp "$lock" "$T/first"
: >"$LOG"
run lock "$T/images/r.json" --offline
check "a whole lock needs no index" bash -c "test $rc -eq 0 && cmp '$lock' '$T/first' && test ! -s '$LOG'"
run plan "$T/images/r.json" --json
check "the environment is a stage of its own, behind the initramfs" python3 -c '
import json, sys
ids = [s["id"] for s in json.load(open(sys.argv[1]))["stages"]]
assert ids[ids.index("initramfs") + 1] == "python:/opt/ml/x", ids' "$T/out"

wheel tiny 1.1 --licence=MIT
wheel extra 2.0
python one '"tiny>=1", "extra"'
run build "$T/images/r.json" --locked
check "--locked refuses a requirement that is not locked" test $rc -eq 3
run lock "$T/images/r.json"
check "a new requirement moves nothing else" test "$rc $(version extra) $(version tiny)" = "0 2.0 1.0"
run lock "$T/images/r.json" --update tiny
check "--update NAME moves that wheel" bash -c "test '$rc $(version tiny)' = '0 1.1' && grep -q 'tiny *1.0 → 1.1 */opt/ml/x' '$T/out'"

# A wheel of hundreds of megabytes is fetched once: pip, which is asked what it needs, reads its end.
wheel big 1.0 --data=3 --requires=extra
python big '"big"'
recipe b '"overlays": ["big"]'
: >"$LOG"
run lock "$T/images/b.json"
cp "$LOG" "$T/big.log"
big_sum=$(sha256sum <"$INDEX/big/big-1.0-py3-none-any.whl" | cut -d' ' -f1)
big_locked() { grep -q "\"file\": \"big-1.0-py3-none-any.whl\", .*\"sha256\": \"$big_sum\"" "$T/images/b.lock.json" && grep -q extra-2.0 "$T/images/b.lock.json"; }
check "a big wheel is fetched once, into the store" bash -c "test $rc -eq 0 && test \$(grep -c 'GET .*/big-1.0.* 200' '$T/big.log') -eq 1"
check "… with digest and what it depends on" big_locked
rm "$T/images/b.lock.json"
python big '"big"' "\"index\": \"$URL/!norange/simple\""
run lock "$T/images/b.json"
check "an index that gives no parts of files is read whole" big_locked

python two '"tiny<1.1"'
python one '"tiny>=1.1"'
recipe c '"overlays": ["one", "two"]'
run lock "$T/images/c.json"
check "requirements that do not go together name both overlays and the ways out" bash -c "test $rc -eq 3 &&
        grep -q '/opt/ml/x: what overlays one and two ask for does not go together: .*tiny<1.1.*an environment of its own' '$T/out'"
python two '"tiny"' "\"index\": \"$URL/other\""
run lock "$T/images/c.json"
check "so do two indexes for one environment" bash -c "test $rc -eq 3 && grep -q 'overlay one takes its wheels from the host.s index, overlay two from $URL/other' '$T/out'"

wheel sources 1.0 --sdist
python two '"sources"'
run lock "$T/images/c.json"
check "sources alone: a compile stage is named as the way" bash -c "test $rc -eq 3 && grep -q '(overlay two): sources is there, but not as a wheel for cpython-3.13.5.*compile stage' '$T/out'"
python two '"nowhere"'
run lock "$T/images/c.json"
check "what the index does not have is named" bash -c "test $rc -eq 4 && grep -q '(overlay two): the index does not have nowhere' '$T/out'"
wheel changed 1.0 --wrong
python two '"changed"'
run lock "$T/images/c.json"
check "a wheel with another digest than its index names is refused" bash -c "test $rc -eq 4 && grep -q 'changed-1.0.*its sha256 is .*It was changed at its source or on the way' '$T/out' && test ! -e '$T/images/c.lock.json'"
python one '"tiny>=1.1"' "\"index\": \"$URL/!norange/simple\""
python two '"changed"' "\"index\": \"$URL/!norange/simple\""
run lock "$T/images/c.json"
check "… and where pip reads it whole, by pip" bash -c "test $rc -eq 4 && grep -q 'another digest than it names itself' '$T/out' && test ! -e '$T/images/c.lock.json'"
python one '"tiny>=1.1"'
python two '"tiny"'
IMGBUILD_FETCH_STALL_SECONDS=1 PIP_INDEX_URL=$URL/!hang/simple run lock "$T/images/c.json"
check "an index that does not answer is told, in time" bash -c "test $rc -eq 4 && grep -q 'the index of wheels does not answer' '$T/out'"

overlay one '{ "description": "wheels", "python": { "environment": "/opt/ml/x", "requirements": ["tiny"] } }'
run lock "$T/images/r.json"
check "an image without Python is told to have one" bash -c "test $rc -eq 3 && grep -q 'add .python3. to the overlay' '$T/out'"
