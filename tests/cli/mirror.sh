#!/bin/bash
# Which mirror is in force: --mirror, the recipe's, the host's own.
set -u
source "$TOP/tests/fixtures/archive.bash"
publish_base
for copy in option recipe listed; do
        mkdir "$SITE/$copy"
        cp -r "$SITE/debian" "$SITE/debian-security" "$SITE/$copy/"
done
host() { # the host's sources
        rm -rf "$T/hostlists"
        mkdir -p "$T/hostlists/partial"
        cat >"$APT_CONFIG" <<EOF
Dir::Etc::parts "/dev/null";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::sourcelist "$T/host.list";
Dir::State::lists "$T/hostlists";
Dir::Etc::trusted "$T/key/key.gpg";
Dir::Etc::trustedparts "/dev/null";
APT::Sandbox::User "root";
EOF
        cat >"$T/host.list"
}
# asked FOLDER [OPTION…]   locks and checks that only what is below FOLDER was asked for
asked() {
        local folder=$1
        shift
        rm -f "$T/images/r.lock.json"
        : >"$LOG"
        rc=0
        "$IMGBUILD" lock "$T/images/r.json" --cache="$T/cache" --progress=plain "$@" >"$T/out" 2>&1 || rc=$?
        [[ $rc -eq 0 ]] && grep -q " $folder/debian/dists" "$LOG" && grep -q " $folder/debian-security/dists" "$LOG" &&
                ! grep -v " $folder/debian" "$LOG"
}
recipe r
host <<EOF
deb $URL/debian bookworm main
deb $URL/debian-security bookworm-security main
EOF
check "the host's sources, before its first apt-get update" asked ""
host <<EOF
deb $URL/listed/debian trixie main
deb $URL/listed/debian-security trixie-security main
EOF
apt-get -qq update >"$T/out" 2>&1
check "the host's sources, known by what their Release files say" asked /listed
echo "$URL/listed/debian" >"$T/debian.list"
echo "$URL/listed/debian-security" >"$T/security.list"
host <<EOF
deb mirror+file:$T/debian.list trixie main
deb mirror+file:$T/security.list trixie-security main
EOF
check "a file with mirrors, as clouds have it" asked /listed
apt-get -qq update >"$T/out" 2>&1
check "… after apt-get update" asked /listed
recipe r
sed -i "s|\"base\": {|\"base\": { \"mirror\": \"$URL/recipe/debian\",|" "$T/images/r.json"
check "the recipe's mirror beats the host's" asked /recipe
check "--mirror beats the recipe's" asked /option --mirror="$URL/option/debian"
check "--mirror may be a folder" bash -c "rm -f '$T/images/r.lock.json'; '$IMGBUILD' lock '$T/images/r.json' --cache='$T/cache' --mirror='file://$SITE/debian'"
cmp -s <(cat "$T/images/r.lock.json") <("$IMGBUILD" lock "$T/images/r.json" --cache="$T/cache" --mirror="$URL/debian" --update >/dev/null 2>&1; cat "$T/images/r.lock.json")
check "the lock is the same whichever it was" test $? -eq 0
