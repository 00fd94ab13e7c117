#!/bin/bash
# imgbuild lock: what is locked, what moves, what stays, and what is refused.
set -u
source "$TOP/tests/fixtures/archive.bash"
publish_base

overlay tools '{ "description": "a tool", "packages": { "debian": ["tool"] } }'
overlay driver '{ "description": "compiled", "compile": [ { "packages": { "debian": ["linux-headers-${kernel}"] }, "script": "make.sh" } ] }'
printf '#!/bin/sh\n' >"$T/overlays/driver/make.sh"; chmod +x "$T/overlays/driver/make.sh"
recipe r '"overlays": ["tools", "driver"]'
lock=$T/images/r.lock.json

run lock "$T/images/r.json" --check
check "--check of a recipe without lock exits 1" test $rc -eq 1
check "--check writes nothing" test ! -e "$lock"

run plan "$T/images/r.json"
check "plan without lock shows the stages" bash -c "test $rc -eq 0 && grep -q '^packages:tools ' '$T/out' && grep -q 'r.lock.json is not there yet' '$T/out'"
check "and writes none" test ! -e "$lock"

run lock "$T/images/r.json"
check "a lock is written" test $rc -eq 0 -a -e "$lock"
check "the base has the essential packages and apt" test "$(version base-files) $(version libc6) $(version apt)" = "13 2.41-1 3.0"
check "dependencies are locked with the stage that brings them" test "$(version libtool)" = 1.0
check "\${kernel} is the release of the locked kernel" grep -q '"linux-headers-6.12.57+fixture-amd64"' "$lock"
check "the epoch is the newest Release file's date" grep -q "\"epoch\": $(date -d 'Mon, 03 Nov 2025 10:00:00 +0000' +%s)" "$lock"
check "no mirror is named in the lock" bash -c "test -e '$lock' && ! grep -q 127.0.0.1 '$lock'"
check "nothing is downloaded but indexes" test "$(requests '\.deb')" -eq 0
cp "$lock" "$T/first"

: >"$LOG"
run lock "$T/images/r.json" --offline
check "a whole lock needs no network" test $rc -eq 0 -a "$(wc -l <"$LOG")" -eq 0
check "a whole lock is not touched" cmp "$lock" "$T/first"
rm "$lock"
run plan "$T/images/r.json" --lock
check "plan --lock writes it" cmp "$lock" "$T/first"
rm "$lock"
run lock "$T/images/r.json"
check "the same indexes give the same bytes" cmp "$lock" "$T/first"

# A build that needs less than others depend on.
overlay lean '{ "description": "compiled with less", "compile": [ { "packages": { "debian": ["tool"] }, "without": { "debian": ["libtool"] }, "script": "make.sh" } ] }'
cp "$T/overlays/driver/make.sh" "$T/overlays/lean/"
recipe w '"overlays": ["lean"]'
run lock "$T/images/w.json"
check "what a compile stage does without is not locked" bash -c "test $rc -eq 0 && grep -q '\"name\": \"tool\"' '$T/images/w.lock.json' && ! grep -q libtool '$T/images/w.lock.json'"
overlay lean '{ "description": "compiled with less", "compile": [ { "packages": { "debian": ["tool"] }, "script": "make.sh" } ] }'
run lock "$T/images/w.json"
check "and is, once it is no longer done without" grep -q libtool "$T/images/w.lock.json"
overlay lean '{ "description": "compiled with less", "compile": [ { "packages": { "debian": ["exact"] }, "without": { "debian": ["exact-data"] }, "script": "make.sh" } ] }'
run lock "$T/images/w.json"
check "where one exact version is wanted, apt's complaint names it" bash -c "test $rc -eq 3 && grep -q 'exact.*Depends: exact-data (= 1.0)' '$T/out'"

# The archive moves on: new versions, the old ones are gone.
package tool 1.1 'Depends: libtool (>= 1)'
package libtool 1.1
package libc6 2.41-2 'Essential: yes' 'Depends: base-files'
rm "$SITE"/debian/pool/trixie/main/{tool,libtool,libc6}/*
publish trixie --date='Tue, 04 Nov 2025 10:00:00 +0000'

run lock "$T/images/r.json"
check "a new version in the archive moves nothing" cmp "$lock" "$T/first"

run lock "$T/images/r.json" --update --check
check "--update --check says what would move" bash -c "test $rc -eq 1 && grep -q '^ *tool  *1.0  *→ 1.1' '$T/out'"
check "--update --check writes nothing" cmp "$lock" "$T/first"

run lock "$T/images/r.json" --update tool
check "the rest of a stage that moves needs the old .debs: their absence is told" bash -c "test $rc -eq 4 && grep -q 'libc6 2.41-1 is gone from its source' '$T/out' && grep -q -- '--update libc6; .*--mirror https://snapshot.debian.org/archive/debian/20251104T100000Z' '$T/out'"

run lock "$T/images/r.json" --update
check "--update moves everything" test "$rc $(version tool) $(version libtool) $(version libc6)" = "0 1.1 1.1 2.41-2"
check "what moved is shown" says 'libc6    2.41-1 → 2.41-2  base'
check "what did not move is not shown" bash -c "test $rc -eq 0 && ! grep -q base-files '$T/out'"
check "the epoch moves with the base" grep -q "\"epoch\": $(date -d 'Tue, 04 Nov 2025 10:00:00 +0000' +%s)" "$lock"

# Old versions stay in the archive from here on.
package tool 1.2 'Depends: libtool (>= 1)'
package libtool 1.2
package base-files 14 'Essential: yes'
publish trixie --date='Wed, 05 Nov 2025 10:00:00 +0000'

run lock --update tool "$T/images/r.json" # the recipe may come last
check "--update NAME moves that package" test "$rc $(version tool)" = "0 1.2"
check "--update NAME leaves the others" test "$(version libtool) $(version base-files)" = "1.1 13"
check "the epoch stays while the base does" grep -q "\"epoch\": $(date -d 'Tue, 04 Nov 2025 10:00:00 +0000' +%s)" "$lock"

recipe r '"overlays": ["tools", "driver"], "packages": ["extra"]'
run lock "$T/images/r.json" --json
check "a package added to the recipe is locked" test "$(version extra)" = 1.0
check "adding a package moves no other" test "$(version libtool) $(version base-files)" = "1.1 13"
check "--json is JSON that names what was added" python3 -c '
import json, sys
text = open(sys.argv[1]).read()
change, = json.loads(text[text.index("{"):])["changes"]
assert change["name"] == "extra" and change["after"] == "1.0" and "before" not in change' "$T/out"

recipe r '"packages": ["extra"]'
run lock "$T/images/r.json"
check "what the recipe asks for no more leaves the lock" test "$rc $(version tool)" = "0 "

run lock "$T/images/r.json" --update nosuch
check "--update of an unknown name is refused" bash -c "test $rc -eq 3 && grep -q 'neither a package nor an artifact' '$T/out'"
run lock "$T/images/r.json" extra
check "names without --update are refused" test $rc -eq 2

# A store that has the locked .debs, and an archive that has them no more.
overlay tools '{ "description": "a tool", "packages": { "debian": ["tool"] } }'
recipe k '"overlays": ["tools"], "packages": ["extra"]'
run lock "$T/images/k.json"
keep() {
        find "$SITE" -name '*.deb' | while read -r deb; do
                sha=$(sha256sum "$deb" | cut -d' ' -f1)
                mkdir -p "$T/cache/blobs/sha256/${sha:0:2}"
                cp "$deb" "$T/cache/blobs/sha256/${sha:0:2}/$sha"
        done
}
keep
cp "$T/images/k.lock.json" "$T/first"
rm "$SITE"/debian/pool/trixie/main/{tool,libtool,libc6,extra}/*
package tool 2.0 'Depends: libtool (>= 1)'
package libtool 2.0
package libc6 2.42-1 'Essential: yes' 'Depends: base-files'
package extra 2.0
package more 2.0 'Depends: libtool'
publish trixie --date='Thu, 06 Nov 2025 10:00:00 +0000'
overlay tools '{ "description": "a tool", "packages": { "debian": ["tool", "more"] } }'
: >"$LOG"
run lock "$T/images/k.json"
check "what is gone from the archive stays locked while the store has it" test "$rc $(version libc6 k) $(version tool k) $(version libtool k) $(version extra k) $(version more k)" = "0 2.41-2 1.2 1.2 1.0 2.0"
check "… with the origin and path it had" bash -c "diff <(grep -E '\"(libc6|tool|libtool|extra)\"' '$T/first') <(grep -E '\"(libc6|tool|libtool|extra)\"' '$T/images/k.lock.json')"
check "… and nothing is downloaded for it" test "$(requests '\.deb')" -eq 0
run lock "$T/images/k.json" --update extra
check "--update NAME moves one of them" test "$rc $(version extra k) $(version tool k)" = "0 2.0 1.2"

# A package that comes as an artifact.
package artifact 1.0 'Depends: libtool, needed'
package needed 1.0
"$TOP/tests/fixtures/make-apt-repo" --flat --gnupg="$T/key" "$T/new" "$SITE/files"
rm -rf "$T/new"
package needed 1.0
publish trixie
deb() { overlay deb "{ \"description\": \"a package by URL\", \"packages\": { \"debian\": $1 }, \"artifacts\": [ { \"name\": \"artifact\",
        \"version\": \"1.0\", \"url\": \"$URL/files/artifact_1.0_amd64.deb\", \"install\": \"package\" } ] }"; }
recipe d '"overlays": ["deb"]'
deb '["libtool"]'
run lock "$T/images/d.json"
check "a .deb's dependency that nothing installs is told" bash -c "test $rc -eq 3 && grep -q 'depend on what nothing in the recipe installs: needed. Add' '$T/out'"
deb '["libtool", "needed"]'
run lock "$T/images/d.json"
check "a .deb whose dependencies are locked is locked" bash -c "test $rc -eq 0 && grep -q artifact_1.0 '$T/images/d.lock.json'"

# What cannot be resolved.
recipe bad '"packages": ["no-such-package"]'
run lock "$T/images/bad.json"
check "an unknown package: the recipe that asks for it" grep -q "Correct the names in .*images/bad.json" "$T/out"
check "an unknown package is named with its stage" bash -c "test $rc -eq 3 && grep -q 'Stage packages ' '$T/out' && grep -q 'locate package no-such-package' '$T/out'"
check "no lock is left behind" test ! -e "$T/images/bad.lock.json"
recipe bad '"packages": ["exra"]'
run lock "$T/images/bad.json"
check "a misspelt package has a suggestion" grep -q 'exra: did you mean "extra"?' "$T/out"
package broken 1.0 'Depends: nowhere'
package enemy 1.0 'Conflicts: libc6'
publish trixie
recipe bad '"packages": ["broken"]'
run lock "$T/images/bad.json"
check "an unmet dependency is told in apt's words" bash -c "test $rc -eq 3 && grep -q 'broken : Depends: nowhere' '$T/out'"
recipe bad '"packages": ["enemy"]'
run lock "$T/images/bad.json"
check "a package that would remove another is refused" bash -c "test $rc -eq 3 && grep -q libc6 '$T/out'"
run lock "$T/images/missing.json"
check "a missing recipe" test $rc -eq 3

recipe off
run lock "$T/images/off.json" --offline
check "--offline without a lock is refused" bash -c "test $rc -eq 4 && grep -q 'with --offline nothing is looked up' '$T/out'"
