#!/bin/bash
# imgbuild sign and verify against minisign and GPG themselves: what one side signs, the other verifies; the exit codes; and no secret in sight.
set -u
for program in minisign gpg gpgv; do
        command -v $program >/dev/null || { echo "$program is missing: apt install minisign gpg gpgv"; exit 77; }
done
rc=0
work=$(mktemp -d) || exit 1
trap 'gpgconf --homedir "$work/gpg" --kill all 2>/dev/null; rm -rf "${work:?}"' EXIT
cd "$work" || exit 1
check() { if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; rc=1; sed 's/^/# /' out 2>/dev/null; fi; }

# ends CODE ARGUMENT…: as it should.
ends() {
        local want=$1 status
        shift
        timeout 300 "$IMGBUILD" "$@" >out 2>&1 </dev/null
        status=$?
        [[ $status -eq $want ]] || { echo "# imgbuild $*: exit code $status, expected $want" >>out; return 1; }
}

mkdir x
head -c 100000 /dev/urandom >x/x.raw
sum=$(sha256sum <x/x.raw | cut -d' ' -f1)
printf '%s  x.raw\n' "$sum" >x/SHA256SUMS
printf '{"name": "x", "identity": "aa", "files": [{"name": "x.raw", "size": 100000, "sha256": "%s"}]}' "$sum" >x/manifest.json
minisign -G -W -p key.pub -s key >/dev/null
minisign -G -W -p other.pub -s other >/dev/null

ends 0 sign x --key key && minisign -V -q -p key.pub -m x/release.sha256 && (cd x && sha256sum --quiet -c release.sha256)
check "minisign and sha256sum verify what imgbuild signed" $?
ends 0 verify x --key key.pub && grep -q 'x: every check passed' out
check "imgbuild verifies what imgbuild signed" $?
ends 1 verify x --key other.pub && grep -q 'is by the key' out
check "another key ends with 1" $?
minisign -S -s key -m x/release.sha256 >/dev/null && ends 0 verify x/x.raw --key key.pub
check "imgbuild verifies what minisign signed" $?
minisign -S -l -s key -m x/release.sha256 >/dev/null && ends 1 verify x --key key.pub && grep -q 'no prehashed signature' out
check "a signature that is not prehashed is refused" $?

mkdir credentials
cp key credentials/imgbuild.minisign-key
chmod 600 key credentials/imgbuild.minisign-key
CREDENTIALS_DIRECTORY=$work/credentials ends 0 sign x && ends 0 verify x --key key.pub
check "the key may be a credential" $?
ends 2 sign x && grep -q 'With which key' out
check "no key ends with 2" $?
ends 3 sign x --key key.pub && ends 3 sign x --key missing && ends 3 verify x --key key && ends 3 verify x --lock missing &&
        ends 3 verify missing && ends 3 verify credentials && ends 3 sign credentials --key key
check "what is no key, lock or build ends with 3" $?

mkdir -m 700 gpg
export GNUPGHOME=$work/gpg
gpg --batch --quiet --passphrase '' --quick-generate-key site@example.org ed25519 sign never 2>out && gpg --export site@example.org >site.gpg &&
        ends 0 sign x --key key --gpg site@example.org && ends 0 verify x --key key.pub --keyring site.gpg
check "GPG signs beside minisign, and gpgv verifies" $?
cp x/release.sha256 before
echo "  " >>x/release.sha256
ends 1 verify x --keyring site.gpg && grep -q 'BAD signature' out
check "a list that was changed is a bad signature" $?
cp before x/release.sha256
mv x/release.sha256.asc real.asc && ln -s ../real.asc x/release.sha256.asc && ends 1 verify x --keyring site.gpg && grep -q 'release.sha256.asc: is a link' out
check "a signature that is a link is not followed" $?
rm x/release.sha256.asc && mkfifo x/release.sha256.asc && ends 1 verify x --keyring site.gpg && grep -q 'is no regular file' out
check "a signature that is a pipe is not waited for" $?
rm x/release.sha256.asc && gpg --batch --quiet --armor --local-user site@example.org -o x/release.sha256.asc --sign before && ends 1 verify x --keyring site.gpg
check "a signed message is no signature of the list" $?
mv real.asc x/release.sha256.asc
ends 3 sign x --gpg nobody@example.org && cmp -s before x/release.sha256
check "a key that GPG does not have ends with 3" $?

secret=$(sed -n 2p key)
mkdir bin
cat >bin/gpg <<'GPG'
#!/bin/bash
{ printf '%s\n' "$@"; env; tr '\0' '\n' <"/proc/$PPID/cmdline"; cat "/proc/$PPID/limits"; } >>seen
exec "$(PATH=${PATH#*:} command -v gpg)" "$@"
GPG
chmod +x bin/gpg
PATH=$work/bin:$PATH ends 0 sign x --key key --gpg site@example.org -v && grep -q 'local-user' seen && grep -qx sign seen &&
        ! grep -qF -e "$secret" -e "${secret:40:60}" seen out x/*
check "the secret key is in no argument, no environment, no message and no file" $?
grep -qE '^Max core file size +0 +0 ' seen
check "… and would be in no core" $?

# A key that stays in a token. SoftHSM is one in software, with PKCS#11's own interface; minisign knows nothing of it.
if command -v softhsm2-util pkcs11-tool >/dev/null && module=$(ls /usr/lib/softhsm/libsofthsm2.so /usr/lib/*/softhsm/libsofthsm2.so 2>/dev/null | head -n 1) && [[ -n $module ]]; then
        mkdir tokens
        printf 'directories.tokendir = %s\nobjectstore.backend = file\nlog.level = ERROR\n' "$work/tokens" >softhsm.conf
        export SOFTHSM2_CONF=$work/softhsm.conf
        echo 4711 >pin && echo 4712 >wrong-pin
        openssl genpkey -algorithm ed25519 -out imported.pem 2>out && { openssl pkey -in imported.pem -pubout -outform DER | tail -c 32 | base64; } >imported.raw
        softhsm2-util --init-token --free --label ci --pin 4711 --so-pin 0815 >out 2>&1 &&
                pkcs11-tool --module "$module" --token-label ci --login --pin 4711 --keypairgen --key-type EC:edwards25519 --label release --id 01 >out 2>&1 &&
                softhsm2-util --import imported.pem --token ci --label imported --id 02 --pin 4711 >out 2>&1
        check "a token with two keys" $?
        token() { ends "$1" sign x --key "pkcs11:$2" "${@:3}"; }
        token 0 "token=ci;object=release?module-path=$module" --passphrase pin --public token.pub && minisign -V -q -p token.pub -m x/release.sha256 &&
                ends 0 verify x --key token.pub && ends 1 verify x --key key.pub
        check "a key in a token signs, and minisign verifies by what --public wrote" $?
        token 0 "token=ci;id=%02?module-path=$module" --passphrase pin --public imported.pub && minisign -V -q -p imported.pub -m x/release.sha256 &&
                tail -n 1 imported.pub | base64 -d | tail -c 32 | base64 | cmp - imported.raw
        check "one that is named by its id is the one that was imported" $?
        cp x/release.sha256.minisig before.minisig
        cp key key.before
        ends 3 sign x --key key --public key && grep -q 'key: there is another file' out && cmp -s key key.before && cmp -s before.minisig x/release.sha256.minisig
        check "--public over another file, the secret key itself, is refused" $?
        token 0 "token=ci;id=%02?module-path=$module" --passphrase pin --public imported.pub
        check "… and over what it wrote before is none" $?
        cp x/release.sha256.minisig before.minisig
        token 3 "token=ci;object=release?module-path=$module" --passphrase wrong-pin && grep -q 'the PIN is wrong; it was tried once' out
        check "a wrong PIN ends with 3, after one try" $?
        token 3 "token=ci;object=release?module-path=$module" && grep -q 'passphrase=FILE' out
        check "no PIN: what is missing is said" $?
        token 3 "token=ci?module-path=$module" --passphrase pin && grep -q 'more than one key is like that' out
        check "a URI that two keys fit is refused" $?
        token 3 "token=other;object=release?module-path=$module" --passphrase pin && grep -q 'there is no such token' out &&
                token 3 "token=ci;object=other?module-path=$module" --passphrase pin && grep -q 'has no such Ed25519 key' out &&
                token 3 "token=ci;object=release?module-path=$work/none.so" --passphrase pin && grep -q 'module cannot be loaded' out && token 3 nonsense
        check "no such token, key, module or URI: each says so" $?
        for i in one two; do softhsm2-util --init-token --free --label twin --pin 4711 --so-pin 0815; done >out 2>&1
        token 3 "token=twin;object=release?module-path=$module" --passphrase pin && grep -q 'more than one token is like that' out
        check "two tokens of one name are refused" $?
        # A public half that another pair's private one was given the id of: nobody could verify what is signed.
        openssl genpkey -algorithm ed25519 -out other.pem && softhsm2-util --import other.pem --token ci --label other --id 03 --pin 4711 >out 2>&1 &&
                for do in '--delete-object --type pubkey --label imported' '--type pubkey --id 03 --set-id 02'; do
                        # shellcheck disable=SC2086 # words
                        pkcs11-tool --module "$module" --token-label ci --login --pin 4711 $do >>out 2>&1
                done
        token 3 "token=ci;id=%02?module-path=$module" --passphrase pin && grep -q 'does not belong to its public half' out
        check "a key whose public half is another one's signs nothing" $?
        token 3 "token=ci;object=release?module-path=$module&pin-value=4711" && grep -q 'does not belong into the URI' out && ! grep -q 4711 out
        check "a PIN in the URI is refused, and not shown" $?
        cmp -s before.minisig x/release.sha256.minisig && ends 0 verify x --key imported.pub
        check "what went wrong left the signature as it was" $?
        ends 2 sign x --gpg site@example.org --public gpg.pub && [[ ! -e gpg.pub ]]
        check "--public without --key ends with 2" $?
else
        echo "skip - a key in a token: apt install softhsm2 opensc"
fi

printf x | dd of=x/x.raw bs=1 seek=5000 conv=notrunc status=none
ends 1 verify x && grep -q 'x.raw is not what the build wrote' out && ends 1 sign x --key key && grep -q 'is not signed' out
check "a changed image ends with 1, and is not signed" $?
exit $rc
