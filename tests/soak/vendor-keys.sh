#!/bin/bash
# Whose keys the recipes pin: each fingerprint is of the key that Debian's package of vendors' keys has, and imgbuild finds it in that file, where
# a vendor has several.
set -u
source "$TOP/tests/e2e/lib.bash"
command -v createrepo_c >/dev/null || { echo "createrepo_c (sudo make deps)"; exit 77; }
own_project
W=$E2E/work
rm -rf "$W"
mkdir -p "$W/site/os" "$W/gnupg"
chmod 0700 "$W/gnupg"
cat >"$RECIPES/keys.json" <<'R'
{ "name": "keys", "kind": "tree", "base": { "distro": "debian", "release": "trixie", "packages": ["distribution-gpg-keys"] } }
R
"$IMGBUILD" lock "$RECIPES/keys.json" --fetch --cache "$CACHE" --progress plain >"$W/log" 2>&1
digest=$(python3 -c 'import json,sys; print(*[p["sha256"] for s in json.load(open(sys.argv[1]))["stages"] for p in s["packages"] if p["name"] == "distribution-gpg-keys"])' "$RECIPES/keys.lock.json")
dpkg-deb -x "$CACHE/blobs/sha256/${digest:0:2}/$digest" "$W/keys"
s=$?
check "Debian's package of vendors' keys is there" $s
[[ $s -eq 0 ]] || { tail -n 20 "$W/log"; exit 1; }

# A repository that somebody else signed: a key that was found is not the one, one that was not is told otherwise.
createrepo_c --quiet "$W/site/os"
gpg --homedir "$W/gnupg" --batch --quiet --passphrase '' --pinentry-mode loopback --quick-generate-key "Somebody <somebody@example.org>" ed25519 sign never 2>>"$W/log"
gpg --homedir "$W/gnupg" --batch --quiet --armor --detach-sign "$W/site/os/repodata/repomd.xml" 2>>"$W/log"
locked() { # KEY-FILE FINGERPRINT
        cat >"$RECIPES/el-keys.json" <<R
{ "name": "el-keys", "kind": "tree", "base": { "distro": "rocky", "release": "9", "packages": ["bash"],
  "repositories": { "os": { "uri": "file://$W/site/os/", "key": "$1", "fingerprint": "$2" } } } }
R
        "$IMGBUILD" lock "$RECIPES/el-keys.json" --cache "$CACHE" --progress plain 2>&1
}

n=0
while IFS='|' read -r recipe key fingerprint; do
        file=$(find "$W/keys/usr/share/distribution-gpg-keys" -name "${key##*/}")
        said=$(locked "$file" "$fingerprint")
        [[ -f $file && $said == *"its index is not signed by the pinned key"* ]]
        s=$?
        check "$recipe: ${key##*/} is ${fingerprint// /}" $s
        [[ $s -eq 0 ]] || echo "# $file: $said"
        n=$((n + 1))
done < <(python3 - "$TOP"/images/*.json <<'P'
import re, sys
seen = set()
for path in sys.argv[1:]:
    text = open(path, encoding="utf-8").read()
    for key, fingerprint in re.findall(r'"key": "([^"]*RPM-GPG-KEY[^"]*)",\s*"fingerprint": "([^"]*)"', text):
        if (key, fingerprint) not in seen:
            seen.add((key, fingerprint))
            print(path.rsplit("/", 1)[1], key, fingerprint, sep="|")
P
)
[[ $n -ge 3 ]]
check "… $n keys of vendors" $?
oracle=$(find "$W/keys" -name RPM-GPG-KEY-oracle-ol9)
said=$(locked "$oracle" 98223175 9C7467065D0CE9B2A7DD07088B4EFBE6) # cut in two by mistake: no fingerprint
[[ $said == *fingerprint* && $said != *"its index is not signed"* ]]
check "half a fingerprint is none" $?
said=$(locked "$oracle" 982231759C7467065D0CE9B2A7DD07088B4EFBE6)
[[ $said == *"its index is not signed by the pinned key"* ]]
check "a vendor's second key counts where it is the pinned one" $?
said=$(locked "$oracle" 21CB256AE16FC54C6E652949702D426D350D275D)
[[ $said == *"is not the pinned one"* && $said == *3E6D826D3FBAB389C2F38E34BC4D06A08D8B756F* && $said == *982231759C7467065D0CE9B2A7DD07088B4EFBE6* ]]
check "another vendor's fingerprint is refused, with those that are there" $?
exit $rc
