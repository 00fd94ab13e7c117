#!/bin/bash
# base.signature: whose word counts for a vendor's image, before anything looks into it. What is signed here is a text: where the signature holds, that is what
# `lock` says of it next. Keys and signatures are gpg's; that a lock keeps whose it was is tests/e2e/19-import.sh's.
set -u
command -v gpg >/dev/null || { echo "gpg is missing"; exit 77; }
T=$(mktemp -d "${TMPDIR:-/tmp}/imgbuild-test.XXXXXX")
export GNUPGHOME=$T/gnupg
trap 'gpgconf --kill all; rm -rf "$T"' EXIT
mkdir "$T/images" && mkdir -m 0700 "$GNUPGHOME"
cd "$T" || exit 1
failed=0

gpg() { command gpg --batch --quiet --yes --no-tty --passphrase '' "$@" 2>>gpg.log; }
key() { # NAME [OPTION…]: NAME.asc, and its fingerprint in $NAME
        gpg "${@:2}" --quick-gen-key "$1 <$1@example.org>" ed25519 sign "${expires:-never}" && gpg --armor --export "$1@example.org" >"images/$1.asc"
        printf -v "$1" %s "$(gpg --list-keys --with-colons "$1@example.org" | sed -n 's/^fpr:::::::::\(.*\):$/\1/p' | head -n 1)"
}
key vendor && key other && expires=20200201T000000 key old --faked-system-time 20200101T000000 || { echo "not ok - keys are made"; exit 1; }
cat images/{other,vendor}.asc >images/both.asc
by() { local who=$1; shift; gpg --local-user "$who@example.org" "$@"; }

# lock [KEYS]: what lock says with this signature, its exit code in $rc. KEYS are base's besides the image.
lock() {
        echo "{ \"name\": \"x\", \"kind\": \"tree\", \"base\": { \"image\": \"${image:-vendor.img}\", $1 } }" >images/x.json
        "$IMGBUILD" lock images/x.json --cache "$T/cache" --progress none "${@:2}" >out 2>&1
        rc=$?
}
signature() { # FILE [CHECKSUMS [KEY FINGERPRINT]]
        echo "\"signature\": { \"file\": \"$1\", ${2:+\"checksums\": \"$2\",} \"key\": \"${3:-vendor.asc}\", \"fingerprint\": \"${4:-$vendor}\" }"
}
check() {
        if [[ $2 -eq 0 ]]; then echo "ok - $1"; else
                echo "not ok - $1"
                echo "# exit code $rc"
                sed 's/^/#   /' out
                failed=1
        fi
}
holds() { # WHAT KEYS
        lock "$2"
        [[ $rc -eq 3 && $(wc -l <out) -eq 1 ]] && grep -q 'vendor.img is not a disk image' out
        check "$1" $?
}
refused() { # WHAT CODE PATTERN KEYS: by one message, before it is opened, and nothing is left
        lock "$4"
        [[ $rc -eq $2 && $(wc -l <out) -le ${lines:-1} && ! -e images/x.lock.json ]] && grep -qE -- "$3" out && ! grep -q 'not a disk image' out && ! compgen -G "$T/cache/work/*" >/dev/null
        check "$1" $?
}

cd images || exit 1
echo "what the vendor hands out" >vendor.img
echo "another" >another.img
by vendor --detach-sign -o vendor.img.sig vendor.img
by vendor --armor --detach-sign -o vendor.img.asc vendor.img
sha256sum vendor.img another.img >SHA256SUMS
by vendor --detach-sign -o SHA256SUMS.gpg SHA256SUMS
sha512sum vendor.img >SHA512SUMS
by vendor --armor --detach-sign -o SHA512SUMS.sign SHA512SUMS
{ printf '# vendor.img: 26 bytes\n'; sha256sum --tag vendor.img; } >list
by vendor --clearsign -o CHECKSUM list
cd "$T" || exit 1

holds "a signature of the image itself" "$(signature vendor.img.sig)"
holds "… in ASCII armour" "$(signature vendor.img.asc)"
holds "a signature of the checksums, as Ubuntu has them" "$(signature SHA256SUMS.gpg SHA256SUMS)"
holds "… of SHA512 alone" "$(signature SHA512SUMS.sign SHA512SUMS)"
holds "checksums that are signed themselves, as Fedora has them" "$(signature CHECKSUM)"
holds "by URL" "$(signature "file://$T/images/SHA256SUMS.gpg" "file://$T/images/SHA256SUMS" "file://$T/images/vendor.asc")"
holds "a key of several in one file, spelled with spaces" "$(signature CHECKSUM '' both.asc "$(sed 's/..../& /g' <<<"${vendor,,}")")"
lock "$(signature CHECKSUM), \"sha256\": \"$(sha256sum <images/another.img | cut -d' ' -f1)\""
[[ $rc -eq 4 ]] && grep -q 'the recipe says' out
check "base.sha256 counts besides" $?
mkdir site
printf '{ "name": "y",   "extends": "../images/x.json", "kind": "tree" }' >site/y.json
lock "$(signature CHECKSUM)"
"$IMGBUILD" lock site/y.json --cache "$T/cache" --progress none >out 2>&1
rc=$?
[[ $rc -eq 3 ]] && grep -q 'images/vendor.img is not a disk image' out
check "its paths are relative to the recipe that has them" $?

refused "a signature by another key" 4 "x.json: .*signature: .*other.sig is no valid signature of .*vendor.img by key $vendor" \
        "$(by other --detach-sign -o images/other.sig images/vendor.img; signature other.sig)"
refused "… though that key is in the same file" 4 'is no valid signature of' "$(signature other.sig '' both.asc)"
refused "a key file without the pinned key" 4 "the key of the base image is not the pinned one: .*other.asc has $other, the recipe pins $vendor" "$(signature vendor.img.sig '' other.asc)"
refused "a signature of another file" 4 'is no valid signature of .*SHA256SUMS by key' "$(signature vendor.img.sig SHA256SUMS)"
refused "a key that has expired" 4 "the key is not valid today \($(date -u +%F) by this host's clock\)" \
        "$(by old --faked-system-time 20200115T000000 --detach-sign -o images/old.sig images/vendor.img; signature old.sig '' old.asc "$old")"
refused "a message that the vendor signed is no signature of the image" 4 'is no valid signature of .*vendor.img' "$(by vendor --sign -o images/message.gpg images/another.img; signature message.gpg)"
refused "… nor are checksums of other files of the checksums here" 4 'is no valid signature of .*SHA256SUMS' "$(by vendor --clearsign -o images/message.asc images/another.img; signature message.asc SHA256SUMS)"
refused "a file that is no signature" 4 'is no valid signature of' "$(signature list)"
refused "a signature that is not there" 3 'signature.file: cannot read .*/nowhere.sig' "$(signature nowhere.sig)"
refused "checksums that are not there" 3 'signature.checksums: cannot read .*/nowhere' "$(signature SHA256SUMS.gpg nowhere)"
lines=2 refused "a URL that is not there" 4 'the signature of the base image is not at file://' "$(signature "file://$T/nowhere.sig")"

{ sed '/BEGIN PGP SIGNATURE/,$d' images/CHECKSUM | sed 's/vendor.img/other.img/g'; sed -n '/BEGIN PGP SIGNATURE/,$p' images/CHECKSUM; } >images/changed
refused "signed checksums that somebody changed" 4 'is no valid signature of its own text' "$(signature changed)"
{ by vendor --clearsign -o - images/another.img; sha256sum images/vendor.img; } >images/behind
refused "a checksum behind what is signed does not count" 3 'behind has neither SHA256 nor SHA512 of vendor.img, but of 0 other files' "$(signature behind)"
{ sha256sum images/vendor.img; cat images/message.asc; } >images/before
refused "… nor one before it" 4 'is no valid signature of' "$(signature before)"
cat images/message.asc images/CHECKSUM >images/twice
refused "two signed texts in one file are none" 4 'is no valid signature of' "$(signature twice)"
{ cat images/CHECKSUM; gpg --armor --store -o - images/list; } >images/mixed
refused "… nor is a signed one with another beside it" 4 'is no valid signature of' "$(signature mixed)"
image=another.img refused "an image that the list has under its own name alone" 3 'has neither SHA256 nor SHA512 of another.img, but of 1 other files: name the image in base.image as the list does' "$(signature CHECKSUM)"
sha256sum images/vendor.img images/another.img | sed 's/another.img/vendor.img/' >images/two
by vendor --detach-sign -o images/two.sig images/two
refused "two checksums of one name" 4 'two has two different checksums of vendor.img' "$(signature two.sig two)"
echo more >>images/vendor.img
refused "an image that was changed" 4 "vendor.img has sha256 $(sha256sum <images/vendor.img | cut -d' ' -f1), and what the vendor signed says $(cut -c1-64 images/SHA256SUMS | head -n 1)" "$(signature SHA256SUMS.gpg SHA256SUMS)"
refused "… by its SHA512" 4 'vendor.img has sha512 .*, and what the vendor signed says' "$(signature SHA512SUMS.sign SHA512SUMS)"
refused "… by its own signature" 4 'is no valid signature of .*vendor.img' "$(signature vendor.img.sig)"

refused "a signature that is no object" 3 'signature: must be an object' '"signature": "SHA256SUMS.gpg"'
lines=2
refused "a signature without a key" 3 'signature.key: missing: the key that signs it' "\"signature\": { \"file\": \"CHECKSUM\", \"fingerprint\": \"$vendor\" }"
refused "… without a fingerprint" 3 'signature.fingerprint: missing: that of its key in full' '"signature": { "file": "CHECKSUM", "key": "vendor.asc" }'
refused "… with a short one" 3 'fingerprint' "$(signature CHECKSUM '' vendor.asc "${vendor: -16}")"
image=http://images.invalid/vendor.img
lock "$(signature CHECKSUM)" --offline
[[ $rc -eq 4 ]] && ! grep -q 'plain http' out
check "over plain http a signature does what base.sha256 does" $?
unset image
echo "{ \"name\": \"x\", \"kind\": \"tree\", \"base\": { \"distro\": \"debian\", \"release\": \"trixie\", $(signature CHECKSUM) } }" >images/x.json
"$IMGBUILD" lock images/x.json --cache "$T/cache" --progress none >out 2>&1
rc=$?
[[ $rc -eq 3 ]] && grep -q '"signature" and "root" go with "image"' out
check "a base without an image has nothing to sign" $?
exit $failed
