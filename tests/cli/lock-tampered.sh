#!/bin/bash
# A lock is checked, not believed: what it repeats from recipe and overlays is computed again and compared, and what it
# names must be what it says.
set -u
source "$TOP/tests/fixtures/archive.bash"
publish_base
package vendor-tool 1.0 'Depends: libc6'
repository vendor --flat
package stranger 6.6
repository stranger --flat
fpr=$(cat "$T/key-vendor/fingerprint")
overlay vendor "{ \"description\": \"a vendor\", \"repositories\": { \"debian\": [ { \"name\": \"vendor\",
        \"uri\": \"$URL/vendor\", \"suite\": \"./\", \"key\": \"$URL/vendor.asc\", \"fingerprint\": \"$fpr\" } ] },
        \"packages\": { \"debian\": [\"vendor-tool\"] } }"
recipe v '"overlays": ["vendor"]'
lock=$T/images/v.lock.json
run lock "$T/images/v.json"
check "the lock as it is made is good" bash -c "test $rc -eq 0 && cp '$lock' '$T/good'"
: >"$LOG"
run lock "$T/images/v.json" --offline
check "… and reads well, without the network" test "$rc $(wc -l <"$LOG")" = "0 0"

# tampered NAME PATTERN PYTHON   changes lock `l` by a line of Python (o: vendor's origin; p: its package), and expects plan
# and lock to refuse it with one line that has PATTERN and says the way out
tampered() {
        cp "$T/good" "$lock"
        python3 - "$lock" "$T" "$3" <<'PYTHON'
import base64, json, subprocess, sys
path, T, code = sys.argv[1:]
l = json.load(open(path))
o = next(o for o in l["origins"] if o["name"] == "vendor")
d = next(o for o in l["origins"] if o["name"] == "debian")
p = next(s for s in l["stages"] if s["id"] == "packages:vendor")["packages"][0]
key = lambda name: open(f"{T}/key-{name}/key.gpg", "rb").read()
text = lambda data: base64.b64encode(data).decode()
exec(code)
json.dump(l, open(path, "w"))
PYTHON
        cp "$lock" "$T/tampered"
        for verb in plan lock; do
                run "$verb" "$T/images/v.json"
                check "$1: $verb refuses it" bash -c "test $rc -eq 3 && grep -qE -- '$2' '$T/out' && grep -q 'v.lock.json.*imgbuild lock' '$T/out'"
        done
        check "$1: it is left as it was" cmp "$lock" "$T/tampered"
}
tampered "another's key under the vendor's fingerprint" "vendor.*key" 'o["key"] = text(key("stranger"))'
tampered "another's key behind the vendor's" "vendor.*key" 'o["key"] = text(key("vendor") + key("stranger"))'
tampered "a key cut short" "vendor.*key" 'o["key"] = text(key("vendor")[:-7])'
tampered "another's fingerprint with its key" "vendor.*fingerprint" 'o["key"] = text(key("stranger")); o["fingerprint"] = open(T + "/key-stranger/fingerprint").read().strip()'
tampered "another URI" "vendor.*uri" 'o["uri"] = o["uri"].replace("vendor", "stranger")'
tampered "another suite" "vendor.*suite" 'o["suite"] = "stable"'
tampered "the distribution from another place" "debian.*uri" 'd.update(uri=o["uri"], fingerprint=o["fingerprint"], key=o["key"])'
tampered "another suite of the distribution" "debian.*suite" 'd["suite"] = "sid"'
tampered "an origin that nobody asked for" "stranger" 'l["origins"].append(dict(o, name="stranger")); p["origin"] = "stranger"'
tampered "another architecture" "arm64" 'p["arch"] = "arm64"'
tampered "a repository left out" "vendor" 'l["origins"].remove(o); p["origin"] = "debian"'

# What moves in the overlay is resolved anew, and not taken for tampering.
cp "$T/good" "$lock"
cp -r "$SITE/vendor" "$SITE/moved"
sed -i "s|$URL/vendor\"|$URL/moved\"|" "$T/overlays/vendor/overlay.json"
run lock "$T/images/v.json"
check "a repository that moves in its overlay is locked anew" bash -c "test $rc -eq 0 && grep -q '\"uri\": \"$URL/moved\"' '$lock'"

# A .deb must be the package that it is locked as.
swap() {
        python3 - "$lock" "$1" "$2" <<'PYTHON'
import json, sys
path, of, by = sys.argv[1:]
l = json.load(open(path))
found = {p["name"]: p for s in l["stages"] for p in s["packages"]}
for k in "sha256", "size", "path", "origin":
    found[of][k] = found[by][k]
json.dump(l, open(path, "w"))
PYTHON
}
echo '{ "name": "d", "kind": "tree", "base": { "distro": "debian", "release": "trixie", "arch": "amd64", "components": ["main"] } }' >"$T/images/d.json"
run lock "$T/images/d.json"
lock=$T/images/d.lock.json
swap libc6 apt
host_tools
run build "$T/images/d.json" --output="$T/out.d"
check "a .deb under another package's name is not installed" bash -c "test $rc -eq 3 && grep -q 'libc6 2.41-1 amd64.*apt 3.0 amd64' '$T/out' && grep -q 'imgbuild lock' '$T/out'"

# An artifact whose overlay says something else than the lock.
echo one >"$SITE/one"; echo two >"$SITE/two"
artifact() { overlay art "{ \"description\": \"an artifact\", \"artifacts\": [ { \"name\": \"thing\", \"version\": \"1\", \"url\": \"$URL/$1\"${2:+, \"sha256\": \"$2\"},
        \"install\": { \"path\": \"/usr/bin/thing\", \"mode\": \"0755\" } } ] }"; }
recipe a '"overlays": ["art"]'
artifact one
run lock "$T/images/a.json"
cp "$T/images/a.lock.json" "$T/one.lock"
artifact two
run plan "$T/images/a.json" --offline
check "an artifact's changed URL is not built from the old lock" bash -c "test $rc -eq 4 && grep -q 'a.lock.json does not lock all' '$T/out'"
run plan "$T/images/a.json" --lock
check "… but locked anew, and said" bash -c "test $rc -eq 0 && grep -q 'artifact thing 1 .overlay art. is locked anew, from $URL/two' '$T/out' && grep -q $(sha256sum <"$SITE/two" | cut -d' ' -f1) '$T/images/a.lock.json'"
cp "$T/one.lock" "$T/images/a.lock.json"
artifact one "$(sha256sum </dev/null | cut -d' ' -f1)"
run plan "$T/images/a.json"
check "an artifact's changed sha256 is held against what comes" bash -c "test $rc -eq 4 && grep -q 'thing' '$T/out'"
