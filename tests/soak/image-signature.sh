#!/bin/bash
# base.signature of the image itself, where reading the image takes gpg longer than a minute: 1 GiB on a slow disk, which a double of gpg is that waits before it
# verifies.
set -u
T=$(mktemp -d "${TMPDIR:-/tmp}/imgbuild-test.XXXXXX")
export GNUPGHOME=$T/gnupg
trap 'gpgconf --kill all; rm -rf "$T"' EXIT
mkdir "$T"/{images,bin} && mkdir -m 0700 "$GNUPGHOME"
cd "$T" || exit 1
gpg() { command gpg --batch --quiet --yes --no-tty --passphrase '' "$@" 2>>gpg.log; }
truncate -s 1G images/vendor.img
gpg --quick-gen-key 'Vendor <vendor@example.org>' ed25519 sign never && gpg --armor --export >images/vendor.asc && gpg --detach-sign -o images/vendor.sig images/vendor.img || exit 1
fingerprint=$(gpg --list-keys --with-colons | sed -n 's/^fpr:::::::::\(.*\):$/\1/p' | head -n 1)
printf '#!/bin/sh\ncase " $* " in *" --verify "*) sleep 65 ;; esac\nexec %s "$@"\n' "$(type -P gpg)" >bin/gpg
chmod 0755 bin/gpg
echo '{ "name": "x", "kind": "tree", "base": { "image": "vendor.img", "signature": { "file": "vendor.sig", "key": "vendor.asc", "fingerprint": "'"$fingerprint"'" } } }' >images/x.json
PATH=$T/bin:$PATH "$IMGBUILD" lock images/x.json --cache "$T/cache" --progress none >out 2>&1
grep -q 'vendor.img is not a disk image' out && echo "ok - a signature is waited for as long as the image is large" && exit 0
echo "not ok - a signature is waited for as long as the image is large"
sed 's/^/# /' out
exit 1
