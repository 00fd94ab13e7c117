#!/bin/bash
# Repositories that overlays bring: their keys, their signatures, and from where on they count.
set -u
source "$TOP/tests/fixtures/archive.bash"
publish_base
package vendor-tool 1.0 'Depends: libc6, vendor-lib'
package vendor-lib 1:1.0+a
repository vendor --flat
package tool 9.9
repository suited --suite=stable
fpr=$(cat "$T/key-vendor/fingerprint")

# vendor KEY FINGERPRINT [URI]
vendor() {
        overlay vendor "{ \"description\": \"a vendor\", \"repositories\": { \"debian\": [ { \"name\": \"vendor\",
                \"uri\": \"${3:-$URL/vendor}\", \"suite\": \"./\", \"key\": \"$1\", \"fingerprint\": \"$2\" } ] },
                \"packages\": { \"debian\": [\"vendor-tool\"] } }"
        rm -f "$T/images/v.lock.json"
}
recipe v '"overlays": ["vendor"]'

vendor "$URL/vendor.asc" "$fpr"
run lock "$T/images/v.json"
check "packages of a flat repository are locked" test "$rc $(version vendor-tool v) $(version vendor-lib v)" = "0 1.0 1:1.0+a"
recipe plain '"packages": ["tool"]'
run lock "$T/images/plain.json"
epoch() { grep -o '"epoch": [0-9]*' "$T/images/$1.lock.json"; }
check "its Release file, newer than the distribution's, is not the epoch" test -n "$(epoch plain)" -a "$(epoch v)" = "$(epoch plain)"
check "its origin keeps its URI" grep -qF "{ \"name\": \"vendor\", \"uri\": \"$URL/vendor\", \"suite\": \"./\", \"fingerprint\": \"$fpr\", \"key\": " "$T/images/v.lock.json"
check "its key is locked" cmp <(grep -o '"key": "[^"]*"' "$T/images/v.lock.json" | cut -d'"' -f4 | base64 -d) "$T/key-vendor/key.gpg"
check "paths are below the URI" grep -qF '"path": "vendor-tool_1.0_amd64.deb"' "$T/images/v.lock.json"
: >"$LOG"
rm "$T/images/v.lock.json"
run lock "$T/images/v.json"
cp "$T/images/v.lock.json" "$T/first"
gpg --homedir "$T/key-vendor" --batch --quiet --passphrase '' --pinentry-mode loopback --quick-set-expire "$fpr" 2030-01-01
gpg --homedir "$T/key-vendor" --armor --export >"$SITE/vendor.asc"
recipe v '"overlays": ["vendor"], "packages": ["extra"]'
run lock "$T/images/v.json"
check "a key that the vendor signed anew moves nothing" test "$rc $(grep -o '"key".*' "$T/images/v.lock.json")" = "0 $(grep -o '"key".*' "$T/first")"
run lock "$T/images/v.json" --update
check "… but with --update" test "$rc $(grep -c "$(grep -o '"key".*' "$T/first")" "$T/images/v.lock.json")" = "0 0"
recipe v '"overlays": ["vendor"]'

cp "$T/key-vendor/key.gpg" "$T/overlays/vendor/vendor.gpg"
vendor vendor.gpg "$fpr"
run lock "$T/images/v.json"
check "a binary key inside the overlay works" test $rc -eq 0
vendor vendor.gpg "$(sed 's/..../& /g; s/ $//' <<<"$fpr")"
run lock "$T/images/v.json"
check "a fingerprint may be written with spaces" test $rc -eq 0

other=$(cat "$T/key-suited/fingerprint")

vendor "$URL/vendor.asc" "$other"
run lock "$T/images/v.json"
check "another key than the pinned one is refused, both are named" bash -c "test $rc -eq 4 && grep -q 'has $fpr, the overlay pins $other' '$T/out'"
check "no lock is left" test ! -e "$T/images/v.lock.json"

cat "$T/key-vendor/key.gpg" "$T/key-suited/key.gpg" >"$T/overlays/vendor/both.gpg"
vendor both.gpg "$other"
run lock "$T/images/v.json"
check "a file of two keys counts as the pinned one only" bash -c "test $rc -eq 4 && grep -q 'a signature does not match the pinned key' '$T/out'"
head -c 100 /dev/urandom >"$T/overlays/vendor/junk.gpg"
vendor junk.gpg "$fpr"
run lock "$T/images/v.json"
check "a file that is no key is refused" bash -c "test $rc -eq 4 && grep -q 'has no key, the overlay pins' '$T/out'"
truncate -s 20M "$SITE/endless.asc"
vendor "$URL/endless.asc" "$fpr"
run lock "$T/images/v.json"
check "a key that does not end is given up" bash -c "test $rc -eq 4 && grep -q 'signing key of repository vendor.*longer than' '$T/out'"
# Family el: what a repository has before anything is known of it by its digest.
mkdir -p "$SITE/el/repodata"
el() { # FILE SIZE: of the repository's index
        : >"$SITE/el/repodata/repomd.xml"
        rm -f "$SITE/el/repodata/repomd.xml.asc"
        truncate -s "$2" "$SITE/el/repodata/$1"
        cp "$T/key-vendor/key.gpg" "$T/images/el.gpg"
        echo "{ \"name\": \"el\", \"kind\": \"tree\", \"base\": { \"distro\": \"rocky\", \"release\": \"9\", \"packages\": [\"bash\"],
                \"repositories\": { \"os\": { \"uri\": \"$URL/el/\", \"key\": \"el.gpg\", \"fingerprint\": \"$fpr\" } } } }" >"$T/images/el.json"
        run lock "$T/images/el.json"
}
el repomd.xml 20M
check "an index that does not end is given up" bash -c "test $rc -eq 4 && grep -q 'the index of repository os.*longer than' '$T/out' && test -z \"\$(find '$T/cache/blobs' -size +17M)\""
el repomd.xml.asc 20M
check "… and a signature: it is not as if there were none" bash -c "test $rc -eq 4 && grep -q 'Repository os: .*repomd.xml.asc: it is longer than' '$T/out'"
vendor "$URL/nothing.asc" "$fpr"
run lock "$T/images/v.json"
check "a key that cannot be downloaded" bash -c "test $rc -eq 4 && grep -q 'signing key of repository vendor.*404' '$T/out'"

vendor "$URL/vendor.asc" "$fpr"
cp "$SITE/vendor/Packages" "$T/Packages"
echo >>"$SITE/vendor/Packages"
run lock "$T/images/v.json"
check "an index that its signature does not cover is refused" bash -c "test $rc -eq 4 -a ! -e '$T/images/v.lock.json'"
cp "$T/Packages" "$SITE/vendor/Packages"
cp "$SITE/vendor/InRelease" "$T/InRelease"
rm "$SITE/vendor/InRelease"
run lock "$T/images/v.json"
check "an unsigned repository is refused" bash -c "test $rc -eq 4 && grep -q 'is not signed\|signature' '$T/out'"
cp "$T/InRelease" "$SITE/vendor/InRelease"

keyring=$IMGBUILD_KEYRING
IMGBUILD_KEYRING=$T/key-vendor/key.gpg
run lock "$T/images/v.json"
check "a distribution signed by another key is refused" bash -c "test $rc -eq 4 && grep -q 'a signature does not match' '$T/out'"
IMGBUILD_KEYRING=$T/none.gpg
run lock "$T/images/v.json"
check "a missing keyring is told" bash -c "test $rc -eq 5 && grep -q 'none.gpg is missing' '$T/out'"
IMGBUILD_KEYRING=$keyring

# A repository counts from its overlay on, not for what comes before.
overlay first '{ "description": "before", "packages": { "debian": ["tool"] } }'
overlay suited "{ \"description\": \"brings a newer tool\", \"repositories\": { \"debian\": [ { \"name\": \"suited\",
        \"uri\": \"$URL/suited\", \"suite\": \"stable\", \"components\": [\"main\"], \"key\": \"$URL/suited.asc\",
        \"fingerprint\": \"$other\" } ] } }"
overlay last '{ "description": "after", "packages": { "debian": ["tool"] } }'
recipe s '"overlays": ["first", "suited"]'
run lock "$T/images/s.json"
check "an overlay before the repository does not see it" test "$rc $(version tool s)" = "0 1.0"
recipe s '"overlays": ["suited", "last"]'
run lock "$T/images/s.json" --update
check "an overlay after it does" test "$rc $(version tool s)" = "0 9.9"
run lock "$T/images/s.json" --offline
check "a whole lock with repositories needs no network" test $rc -eq 0

overlay twin "{ \"description\": \"the same name, another place\", \"repositories\": { \"debian\": [ { \"name\": \"suited\",
        \"uri\": \"$URL/vendor\", \"suite\": \"./\", \"key\": \"$URL/vendor.asc\", \"fingerprint\": \"$fpr\" } ] } }"
recipe t '"overlays": ["suited", "twin"]'
run lock "$T/images/t.json"
check "two repositories of one name are refused" bash -c "test $rc -eq 3 && grep -q suited '$T/out'"

# A repository without "uri" is a further suite of the distribution's archive, wherever the host has that.
package tool 2.0
publish trixie-backports --origin='Debian Backports'
cp "$T/key/key.asc" "$SITE/debian.asc"
# backports [FINGERPRINT] [MEMBERS]
backports() {
        overlay backports "{ \"description\": \"newer tools\", \"repositories\": { \"debian\": [ { \"name\": \"backports\",
                ${2-} \"suite\": \"trixie-backports\", \"components\": [\"main\"], \"key\": \"$URL/debian.asc\", \"keep\": false,
                \"fingerprint\": \"${1:-$(cat "$T/key/fingerprint")}\" } ] }, \"packages\": { \"debian\": [\"tool\"] } }"
}
backports
recipe b '"overlays": ["backports"]'
run lock "$T/images/b.json"
check "a repository without uri lies in the distribution's archive" test "$rc $(version tool b)" = "0 2.0"
check "… and the lock names no host for it" bash -c "grep -q '\"name\": \"backports\", \"suite\": \"trixie-backports\", \"fingerprint\"' '$T/images/b.lock.json' && ! grep -q 'http:\|file:' '$T/images/b.lock.json'"
origins() { # of the stage's packages, NAME=ORIGIN
        python3 -c 'import json, sys
for s in json.load(open(sys.argv[1]))["stages"]:
    for p in s["packages"]: print(p["name"] + "=" + p.get("origin", "debian"))' "$T/images/b.lock.json"
}
check "its packages are locked as its own, though they lie in the same pool; others are the archive's" \
        bash -c "grep -qx tool=backports <<<'$(origins)' && grep -qx base-files=debian <<<'$(origins)'"
cp "$T/images/b.lock.json" "$T/first"
rm "$T/images/b.lock.json"
"$IMGBUILD" lock "$T/images/b.json" --cache="$T/cache" --progress=plain --mirror="file://$SITE/debian" >"$T/out" 2>&1
check "the lock is the same by another mirror" cmp "$T/first" "$T/images/b.lock.json"
backports "$other"
run lock "$T/images/b.json"
check "its key is pinned like any other's" bash -c "test $rc -eq 4 && grep -q 'the overlay pins $other' '$T/out'"
backports
cp "$T/first" "$T/images/b.lock.json"
sed -i 's|"suite": "trixie-backports"|"uri": "http://elsewhere.example", &|' "$T/images/b.lock.json"
run lock "$T/images/b.json"
check "a lock that gives it a place is refused" bash -c "test $rc -ne 0 && grep -q 'repository backports: uri http://elsewhere.example is locked, the overlay says none' '$T/out'"
