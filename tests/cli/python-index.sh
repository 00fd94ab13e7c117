#!/bin/bash
# The way to an index of wheels: TLS that a redirect leads out of, proxies of the environment and their logins, and an index that answers, but
# slowly. What is locked of a good one is in cli/python.
set -u
source "$TOP/tests/fixtures/archive.bash"
source "$TOP/tests/fixtures/wheels.bash"
package python3 3.13.5-1 'Depends: python3.13'
package python3.13 3.13.5-2
publish_base
wheels_index "$SITE" "$URL"
export IMGBUILD_FETCH_STALL_SECONDS=60
wheel extra 1.0
wheel tiny 1.0 --requires=extra

# python NAME INDEX: an overlay that wants tiny from there; locked anew.
python() {
        overlay "$1" "{ \"description\": \"wheels\", \"packages\": { \"debian\": [\"python3\"] },
                \"python\": { \"environment\": \"/opt/ml/x\", \"requirements\": [\"tiny\"], \"index\": \"$2\" } }"
        recipe "$1" "\"overlays\": [\"$1\"]"
        rm -rf "$T/images/$1.lock.json" "$T/cache/blobs/sha256"
        : >"$LOG"
        run lock "$T/images/$1.json" "${@:3}"
}

# --- TLS ------------------------------------------------------------------------------------------------
tls_serve
echo "Acquire::https::CAInfo \"$T/tls.crt\";" >>"$APT_CONFIG"
unset REQUESTS_CA_BUNDLE CURL_CA_BUNDLE SSL_CERT_FILE SSL_CERT_DIR
export PIP_CERT=$T/tls.crt

python tls "$TLS/simple"
check "an index over TLS" bash -c "test $rc -eq 0 && grep -q 'simple/tiny/tiny-1.0' '$T/tls-requests' && ! grep -q tiny '$LOG'"
python tls "$TLS/!redirect/simple"
check "a redirect inside of TLS is followed" test $rc -eq 0
python tls "$TLS/!away/simple"
check "an index that leads out of TLS is refused and said, exit code 4" bash -c "test $rc -eq 4 && grep -q 'leads out of TLS, from https://127.0.0.1:[0-9]* to http://127.0.0.1' '$T/out' && test ! -e '$T/images/tls.lock.json'"
check "… and nothing is asked for there" bash -c "! grep -q tiny '$LOG'"
# A page over TLS that names a wheel elsewhere: with a digest it may lie anywhere.
mkdir -p "$SITE/far/tiny" "$SITE/bare/tiny"
ln -s ../simple/extra "$SITE/far/extra"
ln -s ../simple/extra "$SITE/bare/extra"
sed "s|href=\"|href=\"$URL/simple/tiny/|" "$INDEX/tiny/index.html" >"$SITE/far/tiny/index.html"
sed 's/#sha256=[0-9a-f]*//' "$SITE/far/tiny/index.html" >"$SITE/bare/tiny/index.html"
python tls "$TLS/far"
check "a page over TLS may name a wheel without it, by its digest" test $rc -eq 0
python tls "$TLS/bare"
check "… and not without a digest" bash -c "test $rc -eq 4 && grep -q 'out of TLS, from https://127.0.0.1:[0-9]* to tiny-1.0-py3-none-any.whl of http://127.0.0.1' '$T/out' && test ! -e '$T/images/tls.lock.json'"

# --- proxies --------------------------------------------------------------------------------------------
# The server is a proxy too: a request of one names the whole URL.
python proxy http://wheels.invalid/simple
check "an index without TLS is told to be none that pip asks, with the ways out" bash -c "test $rc -eq 4 && grep -q 'on wheels.invalid is not over TLS.*PIP_TRUSTED_HOST=wheels.invalid' '$T/out'"
export PIP_TRUSTED_HOST=wheels.invalid
proxy=http://user:secret@${URL#http://}
http_proxy=$proxy python proxy http://wheels.invalid/simple -v
check "the environment's proxy is used for the index and the wheels" bash -c "test $rc -eq 0 && grep -q 'GET http://wheels.invalid/simple/tiny/ ' '$LOG' && grep -q 'GET http://wheels.invalid/simple/tiny/tiny-1.0.* 200' '$LOG'"
check "… and said (-v)" grep -q "^imgbuild: by the proxy $URL\$" "$T/out"
check "its login is nowhere to be read" bash -c "! grep -rqa secret '$T/out' '$T/images' '$T/cache' --exclude-dir=sha256"
http_proxy=http://user:secret@127.0.0.1:1 python proxy http://wheels.invalid/simple -v
check "a proxy that does not answer is named, without its login" bash -c "test $rc -eq 4 && grep -q 'does not answer by the proxy http://127.0.0.1:1: ' '$T/out' && ! grep -qa secret '$T/out'"
http_proxy=http://user:secret@127.0.0.1:1 python proxy "$URL/simple"
check "no_proxy: what it names is asked directly" test $rc -eq 0

# --- slow -----------------------------------------------------------------------------------------------
# A few bytes a second: no time-out of pip's would end it.
for n in $(seq 3000); do echo "<a href=\"tiny-0.$n-py3-none-any.whl\">tiny-0.$n</a>"; done >>"$INDEX/tiny/index.html"
begun=$SECONDS
IMGBUILD_FETCH_STALL_SECONDS=1 python slow "$URL/!drip/simple"
check "an index that answers slowly is given up in time, exit code 4" bash -c "test $rc -eq 4 && test $((SECONDS - begun)) -lt 30"
check "… and named" grep -q "answers too slowly to go on: $URL. See the overlay's python.index" "$T/out"

# A page that is a bomb: pip would have it in memory.
mkdir -p "$SITE/endless/tiny"
truncate -s 270M "$SITE/endless/tiny/index.html"
python endless "$URL/endless"
check "a page without end is given up, exit code 4, and named" bash -c "test $rc -eq 4 && grep -q 'sends more than 256 MiB for one page: $URL' '$T/out'"
