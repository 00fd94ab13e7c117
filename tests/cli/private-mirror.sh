#!/bin/bash
# Private mirrors, on a real TLS server: the host's logins (apt_auth.conf(5)) and certificates are honoured, a login goes over
# TLS alone and is nowhere to be read, and no redirect leads out of TLS.
set -u
source "$TOP/tests/fixtures/archive.bash"
publish_base
head -c 300000 /dev/urandom >"$SITE/file"
sha=$(sha256sum "$SITE/file" | cut -d' ' -f1)
blob=$T/cache/blobs/sha256/${sha:0:2}/$sha

tls_serve

mkdir "$T/auth.conf.d"
cat >>"$APT_CONFIG" <<E
Dir::Etc::netrc "/dev/null";
Dir::Etc::netrcparts "$T/auth.conf.d";
Acquire::https::CAInfo "$T/tls.crt";
E
login() { # login [SCHEME]: for both servers, TLS and not
        printf 'machine %s127.0.0.1\n  login user\n  password secret\n' "${1:-}" >"$T/auth.conf.d/mirror.conf"
        chmod 600 "$T/auth.conf.d/mirror.conf"
}
# fetch URL: locks an artifact from there.
fetch() {
        overlay thing "{ \"description\": \"x\", \"artifacts\": [ { \"name\": \"thing\", \"version\": \"1\", \"url\": \"$1\", \"sha256\": \"$sha\",
                \"install\": { \"path\": \"/opt/thing\", \"mode\": \"0755\" } } ] }"
        recipe a '"overlays": ["thing"]'
        rm -f "$T/images/a.lock.json" "$blob"
        : >"$LOG"
        : >"$T/tls-requests"
        run lock "$T/images/a.json"
}
stored() { [[ $rc -eq 0 ]] && cmp "$SITE/file" "$blob"; }
no_login_in() { ! grep -q ' login$' "$1"; }

fetch "$TLS/file"
check "a server with a certificate that apt trusts is one for us" stored
fetch "$TLS/!auth/file"
check "without a login: exit code 4, told where one belongs" bash -c "test $rc -eq 4 && grep -q 'answered 401 .*auth.conf.d' '$T/out'"
login
fetch "$TLS/!auth/file"
check "the login of auth.conf.d is used" stored
check "… and sent over TLS" grep -q 'auth/file - 200 login' "$T/tls-requests"
check "no message and no lock has it" bash -c "! grep -rq secret '$T/out' '$T/images'"
check "nothing of it stays in the store" bash -c "! grep -rqa 'secret' '$T/cache' --include=* --exclude-dir=sha256"

fetch "$URL/!auth/file"
check "over plain http the same login is not sent: exit code 4, told why" bash -c "test $rc -eq 4 && grep -q 'goes over https alone' '$T/out'"
check "… and not seen by the server" no_login_in "$LOG"
login http://
fetch "$URL/!auth/file"
check "nor is one that is written for http" bash -c "test $rc -eq 4 && grep -q 'auth/file - 401' '$LOG' && ! grep -q ' login$' '$LOG'"
login

fetch "$TLS/!redirect/file"
check "a redirect inside of TLS is followed" stored
fetch "$TLS/!away/file"
check "a redirect out of TLS is refused: exit code 4" test $rc -eq 4
check "… and not followed" bash -c "grep -q '!away' '$T/tls-requests' && ! grep -q /file '$LOG'"

# apt's own way to indexes and packages.
recipe b ''
: >"$LOG"
: >"$T/tls-requests"
mirror() { rc=0; "$IMGBUILD" lock "$T/images/b.json" --cache="$T/cache" --mirror="$1" >"$T/out" 2>&1 || rc=$?; }
# What the programs that are called are given.
mkdir "$T/bin"
for program in apt-get apt-config; do
        printf '#!/bin/sh\n{ echo "$0 $*"; env; } >>%s\nexec %s "$@"\n' "$T/called" "$(command -v $program)" >"$T/bin/$program"
        chmod +x "$T/bin/$program"
done
PATH=$T/bin:$PATH mirror "$TLS/!auth/debian"
check "indexes come from a private mirror" bash -c "test $rc -eq 0 && grep -q 'trixie/InRelease - 200 login' '$T/tls-requests'"
check "no program's command line or environment has the login" bash -c "grep -q 'apt-get .*update' '$T/called' && ! grep -q secret '$T/called'"
check "no message and no lock has the login" bash -c "! grep -rq secret '$T/out' '$T/images'"
rm -f "$T/images/b.lock.json"
login http://
mirror "$URL/!auth/debian"
check "apt sends none over plain http either" bash -c "test $rc -ne 0 && grep -q 'InRelease - 401' '$LOG' && ! grep -q ' login$' '$LOG'"
mirror "https://user:secret@127.0.0.1/debian"
check "a mirror's URL with a password is refused, and not shown" bash -c "test $rc -eq 2 && grep -q 'holds a user or password' '$T/out' && ! grep -q secret '$T/out'"

sed -i /CAInfo/d "$APT_CONFIG"
fetch "$TLS/file"
check "a certificate that nobody trusts is refused" bash -c "test $rc -eq 4 && grep -qi 'certificate' '$T/out'"
