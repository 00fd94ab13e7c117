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
{ printf '%s\n' "$@"; env; tr '\0' '\n' <"/proc/$PPID/cmdline"; } >>seen
exec "$(PATH=${PATH#*:} command -v gpg)" "$@"
GPG
chmod +x bin/gpg
PATH=$work/bin:$PATH ends 0 sign x --key key --gpg site@example.org -v && grep -q 'local-user' seen && grep -qx sign seen &&
        ! grep -qF -e "$secret" -e "${secret:40:60}" seen out x/*
check "the secret key is in no argument, no environment, no message and no file" $?

printf x | dd of=x/x.raw bs=1 seek=5000 conv=notrunc status=none
ends 1 verify x && grep -q 'x.raw is not what the build wrote' out && ends 1 sign x --key key && grep -q 'is not signed' out
check "a changed image ends with 1, and is not signed" $?
exit $rc
