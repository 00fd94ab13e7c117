#!/bin/bash
# A remote store, on a real TLS server: layers are written by one store and taken by another; a server that lies, stalls, is full,
# cut short or away, and whoever changes what it has, leads to layers made here, with one warning, never to a wrong one.
#
# The layers are made by hand: what is built of them is proved by e2e/15-stages.
set -u
source "$TOP/tests/fixtures/archive.bash"
publish_base
host_tools

tls_certificate
mkdir "$T/shared" "$T/shared/store"
HTTPD_WRITABLE=1 HTTPD_TLS=$T/tls.pem python3 "$FIXTURES/httpd" "$T/shared" "$T/tls-port" "$T/tls-requests" &
tls_server=$!
HTTPD_WRITABLE=1 python3 "$FIXTURES/httpd" "$T/shared" "$T/plain-port" "$T/plain-requests" &
plain_server=$!
trap 'kill $tls_server $plain_server 2>/dev/null; archive_cleanup' EXIT
for _ in $(seq 2400); do [[ -e $T/tls-port && -e $T/plain-port ]] && break; sleep 0.05; done
TLS=https://127.0.0.1:$(<"$T/tls-port") PLAIN=http://127.0.0.1:$(<"$T/plain-port")
echo "Acquire::https::CAInfo \"$T/tls.crt\";" >>"$APT_CONFIG"
mkdir "$T/auth.conf.d"
printf 'Dir::Etc::netrc "/dev/null";\nDir::Etc::netrcparts "%s";\n' "$T/auth.conf.d" >>"$APT_CONFIG"

overlay site '{ "description": "files" }'
mkdir -p "$T/overlays/site/files/etc" && echo site >"$T/overlays/site/files/etc/site"
echo '{ "name": "t", "kind": "tree", "overlays": ["site"], "base": { "distro": "debian", "release": "trixie", "arch": "amd64", "components": ["main"] } }' >"$T/images/t.json"
run lock "$T/images/t.json"
"$IMGBUILD" plan "$T/images/t.json" --cache="$T/cache" --offline --json >"$T/plan" 2>"$T/err"
mapfile -t digests < <(python3 -c 'import json,sys; print(*[s["digest"] for s in json.load(sys.stdin)["stages"]], sep="\n")' <"$T/plan")
n=${#digests[@]}
[[ $n -ge 3 ]] || { cat "$T/plan" "$T/err"; echo "not ok - a plan to try it with"; exit 1; }

# What a build would have left in the first store.
for d in "${digests[@]}"; do
        layer=$T/cache/layers/${d:0:32}
        mkdir -p "$layer/tree/etc" "$layer/tree/usr/bin"
        head -c 100000 /dev/urandom | base64 >"$layer/tree/usr/bin/${d:0:4}"
        chmod 4755 "$layer/tree/usr/bin/${d:0:4}"
        ln "$layer/tree/usr/bin/${d:0:4}" "$layer/tree/usr/bin/${d:0:4}-too"
        echo "{\"recipe\": \"t\", \"stage\": \"s\", \"digest\": \"$d\", \"bytes\": 102400, \"made_with\": {\"by\": \"host\"}}" >"$layer/meta.json"
done
if [[ $EUID -eq 0 ]]; then
        mknod "$T/cache/layers/${digests[1]:0:32}/tree/etc/gone" c 0 0
        setfattr -n trusted.overlay.opaque -v y "$T/cache/layers/${digests[1]:0:32}/tree/etc" 2>/dev/null
fi

find "$T/cache/layers" -path '*/tree*' -exec touch -h -d 2025-01-01 {} + # as a build does: nothing is newer than the lock's epoch

# push URL [OPTION…], from the store that has them; take URL [OPTION…], into one that has nothing.
push() { rc=0; "$IMGBUILD" cache push "$T/images/t.json" --cache="$T/cache" --remote-store "$1" "${@:2}" >"$T/out" 2>&1 || rc=$?; }
take() {
        rm -rf "$T/other"
        rc=0
        "$IMGBUILD" build "$T/images/t.json" --locked --cache="$T/other" --mirror="$URL/debian" --progress=plain --remote-store "$1" "${@:2}" >"$T/out" 2>&1 || rc=$?
}
trees() { (cd "$1/layers" && for d in "${digests[@]}"; do (cd "${d:0:32}/tree" && find . -printf '%P %y %m %U %n %T@ %l\n' | sort && find . -type f -exec sha256sum {} + | sort -k2); done); }
trees "$T/cache" >"$T/trees"
took() { grep -q "Took $1 layers from" "$T/out"; }
# The tools of these recipes are the host's, which is warned of where a base is made.
warned() { grep warning "$T/out" | grep -qv 'has no mmdebstrap'; }
all_taken() { took "$n" && ! grep -q warning "$T/out" && ! grep -qE '^> (base|files)' "$T/out" && trees "$T/other" | cmp - "$T/trees" && [[ -z $(find "$T/other/blobs" -type f) ]]; }
# made_here N PATTERN: N layers were taken, one warning says why no more, and what is missing begins to be made, which fails with these packages.
made_here() {
        [[ $(grep -c 'warning: .*remote store' "$T/out") -eq 1 ]] && grep -qE "warning: .*$2" "$T/out" && grep -qE '^> (base|download|files)' "$T/out" &&
                { [[ $1 -eq 0 ]] && ! grep -q 'Took' "$T/out" || took "$1"; } &&
                for d in "$T/other/layers"/*/; do [[ ! -e $d/meta.json ]] || grep -q "\"digest\"" "$d/meta.json" || return 1; done
}

push "$TLS/store"
check "layers are pushed to a server that has nothing, folders made" bash -c "test $rc -eq 0 && grep -q 'Pushed $n layers' '$T/out'"
check "… the record of each last" bash -c "grep ^PUT '$T/tls-requests' | grep ' 201$' | awk '{print (\$2 ~ /blobs/)}' | paste -sd '' | grep -qE '^(10)+$'"
push "$TLS/store"
check "… and once" bash -c "test $rc -eq 0 && grep -q 'Pushed 0 layers, 0 B, .*; [0-9]* were there already' '$T/out'"
"$IMGBUILD" plan "$T/images/t.json" --cache="$T/other" --remote-store "$TLS/store" >"$T/out" 2>&1
check "plan says what would come from there" bash -c "grep -q '$n stages, 0 cached, $n remote, 0 to run, .* KiB to download' '$T/out' && test \$(grep -c ' remote  ' '$T/out') -eq $n"
take "$TLS/store"
check "another store takes them all, and makes none" all_taken
IMGBUILD_REMOTE_STORE=$TLS/store IMGBUILD_REMOTE_STORE_KEY='' take ''
check "an empty option is none, whatever the environment says" bash -c "! grep -qi remote '$T/out'"
rm -rf "$T/other"
rc=0
IMGBUILD_REMOTE_STORE=$TLS/store "$IMGBUILD" build "$T/images/t.json" --locked --cache="$T/other" --progress=plain >"$T/out" 2>&1 || rc=$?
check "the environment names one as well" all_taken
take "$TLS/store" --offline
check "offline, nobody is asked" bash -c "! grep -q Took '$T/out'"
cp -r "$T/shared/store" "$T/whole"
restore() { rm -rf "$T/shared/store"; cp -r "$T/whole" "$T/shared/store"; }

# --- a server that lies
record=$T/shared/store/layers/${digests[1]}
blob_of() { echo "$T/shared/store/blobs/sha256/$(python3 -c 'import json,sys; s = json.loads(open(sys.argv[1]).readline())["archive"]["sha256"]; print(s[:2] + "/" + s)' "$1")"; }
blob=$(blob_of "$record")
python3 -c 'import sys; f = open(sys.argv[1], "r+b"); f.seek(1000); b = f.read(1)[0]; f.seek(1000); f.write(bytes([b ^ 1]))' "$blob"
take "$TLS/store"
check "an archive with another byte is not taken" made_here $((n - 1)) "stage .*: its sha256 is "
restore
truncate -s 2000 "$blob"
take "$TLS/store"
check "nor half of one" made_here $((n - 1)) "stage .*"
restore
echo more >>"$blob"
take "$TLS/store"
check "nor one that is longer" made_here $((n - 1)) "longer than"
restore
rm "$blob"
take "$TLS/store"
check "nor one that is gone" made_here $((n - 1)) "404"
restore
base=$(blob_of "$T/shared/store/layers/${digests[0]}")
truncate -s 2000 "$base"
: >"$T/tls-requests"
take "$TLS/store"
check "half of a base" made_here $((n - 1)) "stage base: "
check "… is asked for no more than twice, and gone on with in between" test "$(grep -c "${base##*/}" "$T/tls-requests")" -eq 2
restore
# An archive of its own, well described: of another tree than the record says.
forge() { # PYTHON: changes the record `r`, a dict
        python3 - "$record" "$1" <<'P'
import json, sys
with open(sys.argv[1]) as f: lines = f.read().split("\n", 1)
r = json.loads(lines[0])
exec(sys.argv[2])
with open(sys.argv[1], "w") as f: f.write(json.dumps(r) + "\n" + lines[1])
P
}
other=$(head -n 1 "$T/shared/store/layers/${digests[2]}")
forge "r['archive'] = json.loads('''$other''')['archive']"
take "$TLS/store"
check "the archive of another layer is not taken" made_here $((n - 1)) "what is in its archive is not what its record says"
restore
cp "$T/shared/store/layers/${digests[2]}" "$record"
take "$TLS/store"
check "nor the record of another" made_here $((n - 1)) "its record is of another layer"
restore
echo '<html>log in</html>' >"$record"
take "$TLS/store"
check "nor a page that says to log in" made_here $((n - 1)) "its record is no JSON"
restore
head -c 1000000 /dev/zero >"$record"
take "$TLS/store"
check "nor a record without end" made_here $((n - 1)) "longer than 262144 bytes"
restore
forge "r['archive']['size'] = 1 << 39"
take "$TLS/store"
check "an archive that no disk has room for is not begun" made_here 1 "there is no room for what it has"
restore
for size in -1 0 1.5 '"x"' 'None' '1 << 62'; do
        forge "r['archive']['size'] = $size"
        take "$TLS/store"
        check "a record with the size $size is none" made_here $((n - 1)) "its record is incomplete|its record is no JSON"
        restore
done
# hostile NAME PYTHON: an archive made by hand, with a record that is true.
hostile() {
        python3 - "$record" "$T/shared/store" "$2" <<'P'
import hashlib, io, json, os, subprocess, sys, tarfile
with open(sys.argv[1]) as f: lines = f.read().split("\n", 1)
out = io.BytesIO()
t = tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT)
def add(name, type=tarfile.REGTYPE, content=b"", link="", mode=0o644, device=(0, 0), **pax):
    m = tarfile.TarInfo(name); m.type = type; m.size = len(content); m.linkname = link; m.mode = mode
    m.devmajor, m.devminor = device
    m.pax_headers = {k.replace("__", "."): v for k, v in pax.items()}
    t.addfile(m, io.BytesIO(content))
DIR, LINK, HARD, CHR, BLK = tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE
exec(sys.argv[3])
t.close()
data = subprocess.run(["zstd", "-qc"], input=out.getvalue(), stdout=subprocess.PIPE, check=True).stdout
digest = hashlib.sha256(data).hexdigest()
os.makedirs(f"{sys.argv[2]}/blobs/sha256/{digest[:2]}", exist_ok=True)
with open(f"{sys.argv[2]}/blobs/sha256/{digest[:2]}/{digest}", "wb") as f: f.write(data)
r = json.loads(lines[0])
r["archive"] = {"sha256": digest, "size": len(data)}
with open(sys.argv[1], "w") as f: f.write(json.dumps(r) + "\n" + lines[1])
P
        take "$TLS/store"
        check "an archive with $1 is not taken" made_here $((n - 1)) "its archive cannot be unpacked"
        check "… and has left nothing" bash -c "test ! -e '$T/escaped' -a ! -e /tmp/escaped && test -z \"\$(ls -A '$T/other/work')\""
        restore
}
hostile "a name that leads out" 'add("../../../../escaped")'
hostile "an absolute name" 'add("/tmp/escaped")'
hostile "a link and a file through it" 'add("a", LINK, link="/tmp"); add("a/escaped")'
hostile "a hard link out" 'add("a", HARD, link="../../../../../etc/passwd")'
hostile "a disk of the host" 'add("sda", BLK, device=(8, 0))'
hostile "a redirect to other layers' files" 'add("d", DIR, SCHILY__xattr__trusted__overlay__redirect="/etc")'
hostile "a hole of 4 TiB" 'add("x", content=b"0\n".ljust(512, b"\0"), GNU__sparse__major="1", GNU__sparse__minor="0", GNU__sparse__name="x", GNU__sparse__realsize=str(1 << 42))'
hostile "a bomb" 'add("big", content=bytes(300 << 20))'

# --- a server in trouble
take "$TLS/!404/store"
check "a server that has nothing is no trouble, and told" eval "grep -q 'has none of the $n layers' '$T/out' && ! warned && grep -q '^> base' '$T/out'"
for words in '!500' '!403' '!hang' '!half' '!drip'; do
        start=$SECONDS
        take "$TLS/$words/store"
        check "a server that answers as $words is left alone, in $((SECONDS - start)) s" made_here 0 'is left alone from now on'
        check "… and that soon" test $((SECONDS - start)) -le 12
done
take "$TLS/!halfx1/store"
check "an answer that breaks off once" all_taken
start=$SECONDS
rm -rf "$T/other"
IMGBUILD_FETCH_STALL_SECONDS=60 timeout -s INT 2 "$IMGBUILD" build "$T/images/t.json" --locked --cache="$T/other" --progress=plain --remote-store "$TLS/!hang/store" >"$T/out" 2>&1
check "Ctrl-C ends the wait for one that hangs" test $((SECONDS - start)) -le 6 -a -z "$(ls -A "$T/other/work")" -a "$(grep -c Interrupted "$T/out")" -eq 1
rm -rf "$T/other"
: >"$T/tls-requests"
for i in 1 2; do
        "$IMGBUILD" build "$T/images/t.json" --locked --cache="$T/other" --progress=plain --remote-store "$TLS/store" >"$T/out.$i" 2>&1 &
        pids[i]=$!
done
wait "${pids[1]}"; first=$?
wait "${pids[2]}"; second=$?
check "two builds at once share what comes" test $first -eq 0 -a $second -eq 0 -a "$(grep -c '^GET /store/blobs' "$T/tls-requests")" -eq "$n"
check "… and have the same" bash -c "cmp <(cat '$T/trees') <($(declare -f trees); digests=(${digests[*]}); trees '$T/other')"
take "https://127.0.0.1:1/store"
check "one that is away" made_here 0 'is left alone from now on: .*onnect'
take "$TLS/!away/store"
check "a redirect out of TLS" made_here 0 'is left alone from now on'

# --- writing, in trouble
rm -rf "$T/shared/store"/*
push "$TLS/!full/store"
check "a full server: exit code 4, told" bash -c "test $rc -eq 4 && grep -q 'answered 507 (it is full)' '$T/out'"
push "$TLS/!cut/store"
check "a connection that breaks off: exit code 4, told, and nothing is half there" bash -c "test $rc -eq 4 && grep -q 'cannot be written' '$T/out' && test -z \"\$(find '$T/shared/store' -type f)\""
push "$TLS/!auth/store"
check "a server that wants a login: exit code 4, told where it belongs" bash -c "test $rc -eq 4 && grep -q 'IMGBUILD_AUTH_FILE' '$T/out'"
printf 'machine 127.0.0.1\n  login user\n  password secret\n' >"$T/login"
chmod 600 "$T/login"
mkdir "$T/bin"
printf '#!/bin/sh\n{ echo "$0 $*"; env; } >>%s\nexec %s "$@"\n' "$T/called" "$(command -v apt-config)" >"$T/bin/apt-config"
chmod +x "$T/bin/apt-config"
: >"$T/tls-requests"
IMGBUILD_AUTH_FILE=$T/login PATH=$T/bin:$PATH push "$TLS/!auth/store" -v
check "the login of a file is used" bash -c "test $rc -eq 0 && grep -q '^PUT .*201 login' '$T/tls-requests'"
IMGBUILD_AUTH_FILE=$T/login take "$TLS/!auth/store" -v
check "… for reading as well" all_taken
check "nothing says it: messages, stores, programs" bash -c "! grep -rq secret '$T/out' '$T/called' '$T/other' '$T/cache' '$T/shared'"
: >"$T/plain-requests"
IMGBUILD_AUTH_FILE=$T/login take "$PLAIN/!auth/store"
check "over plain http no login is sent" bash -c "grep -q ' 401$' '$T/plain-requests' && ! grep -q login '$T/plain-requests'"
take "$PLAIN/store"
check "plain http will do on this host" all_taken

# --- who is believed
wrong() { # NAME URL PATTERN [OPTION…]
        take "$2" "${@:4}"
        check "$1: exit code 2" bash -c "test $rc -eq 2 && grep -q '$3' '$T/out'"
}
wrong "plain http to another host, without a key" http://store.invalid/x "anybody on the way may change"
wrong "http to a host that only begins as this one" http://127.0.0.1.invalid/x "anybody on the way may change"
wrong "a URL with a password" "https://user:secret@127.0.0.1/x" "holds a user or password"
check "… which is not shown" bash -c "! grep -q secret '$T/out'"
wrong "a URL that is none" ftp://store/x "https://HOST/PATH"
wrong "a key that is not there" "$TLS/store" "cannot read the public key" --remote-store-key "$T/no.pub"

if ! command -v minisign >/dev/null; then
        echo "skip - signed records: minisign is missing"
else
        minisign -G -W -p "$T/ours.pub" -s "$T/ours.sec" >/dev/null && minisign -G -W -p "$T/theirs.pub" -s "$T/theirs.sec" >/dev/null
        chmod 600 "$T"/*.sec
        take "$TLS/store" --remote-store-key "$T/ours.pub"
        check "with a key, what is not signed is not taken" made_here 0 "$n layers .*its record is not signed"
        push "$TLS/store" --remote-store-key "$T/ours.pub"
        check "… nor written: exit code 2" bash -c "test $rc -eq 2 && grep -q 'key=FILE' '$T/out'"
        push "$TLS/store" --remote-store-key "$T/ours.pub" --key "$T/theirs.sec"
        check "… nor signed by another one: exit code 2" bash -c "test $rc -eq 2 && grep -q 'not the other half' '$T/out'"
        push "$TLS/store" --remote-store-key "$T/ours.pub" --key "$T/ours.sec"
        check "what was not signed is written anew, signed" bash -c "test $rc -eq 0 && grep -q 'Pushed $n layers' '$T/out'"
        take "$TLS/store" --remote-store-key "$T/ours.pub"
        check "and is taken" all_taken
        head -n 1 "$record" >"$T/line" && tail -n +2 "$record" >"$T/line.minisig"
        check "minisign itself says that it holds" minisign -V -q -p "$T/ours.pub" -m "$T/line"
        take "$TLS/store" --remote-store-key "$T/theirs.pub"
        check "by another key, nothing is" made_here 0 "signed by another key"
        cp -r "$T/shared/store/." "$T/whole" && restore
        forge "r['made_with'] = {'by': 'somebody'}"
        take "$TLS/store" --remote-store-key "$T/ours.pub"
        check "a record that was changed is not taken" made_here $((n - 1)) "the signature of its record does not hold"
        restore
        cp "$T/shared/store/layers/${digests[2]}" "$record"
        take "$TLS/store" --remote-store-key "$T/ours.pub"
        check "a signed record under another name neither" made_here $((n - 1)) "its record is of another layer"
        restore
        take "$PLAIN/store" --remote-store-key "$T/ours.pub"
        check "with a key plain http will do" all_taken
        push "$TLS/store" --key "$T/ours.sec"
        check "what is signed by the key is there already" bash -c "test $rc -eq 0 && grep -q 'Pushed 0 layers' '$T/out'"
        push "$TLS/store" --key "$T/theirs.sec"
        check "a key that was changed signs all of it anew" bash -c "test $rc -eq 0 && grep -q 'Pushed $n layers' '$T/out'"
        take "$TLS/store" --remote-store-key "$T/theirs.pub"
        check "… for those who have the new one" all_taken
fi

# The same on Amazon's storage and its like, by signed requests: a double of it that looks at each signature.
mkdir "$T/shared/images"
HTTPD_WRITABLE=1 HTTPD_AWAY=$TLS HTTPD_S3="AKIAEXAMPLE s3cr3t/key+x eu-central-1 t0ken==" HTTPD_TLS=$T/tls.pem python3 "$FIXTURES/httpd" "$T/shared" "$T/s3-port" "$T/s3-requests" &
s3_server=$!
trap 'kill $tls_server $plain_server $s3_server 2>/dev/null; archive_cleanup' EXIT
for _ in $(seq 2400); do [[ -e $T/s3-port ]] && break; sleep 0.05; done
export AWS_ENDPOINT_URL_S3=https://127.0.0.1:$(<"$T/s3-port")/ AWS_REGION=eu-central-1 AWS_ACCESS_KEY_ID=AKIAEXAMPLE AWS_SECRET_ACCESS_KEY=s3cr3t/key+x AWS_SESSION_TOKEN=t0ken==
push s3://images/ci/store/
check "s3: layers are pushed by signed requests, and no folder is asked for" bash -c "test $rc -eq 0 && grep -q 'Pushed $n layers' '$T/out' && ! grep -q MKCOL '$T/s3-requests'"
push s3://images/ci/store
check "s3: … and once" bash -c "test $rc -eq 0 && grep -q 'Pushed 0 layers, 0 B, ' '$T/out'"
take s3://images/ci/store
check "s3: another store takes them all, and makes none" all_taken
check "s3: neither secret nor token is in a message, lock or store" bash -c "! grep -rqF -e s3cr3t -e t0ken '$T/out' '$T/images' '$T/other'"
"$IMGBUILD" lock "$T/images/t.json" --fetch --cache="$T/cache" --mirror="$URL/debian" >"$T/out" 2>&1
push s3://images/ci/store --downloads
mv "$SITE/debian/pool" "$T/pool"
rm -rf "$T/other"
rc=0
"$IMGBUILD" lock "$T/images/t.json" --fetch --cache="$T/other" --mirror="$URL/debian" --remote-store s3://images/ci/store >"$T/out" 2>&1 || rc=$?
mv "$T/pool" "$SITE/debian/pool"
check "s3: downloads that are gone from their mirror come from there" bash -c "test $rc -eq 0 && grep -q ' downloads came from https://127.0.0.1:.*/images/ci/store' '$T/out'"
AWS_SECRET_ACCESS_KEY=other take s3://images/ci/store
check "s3: another secret: one warning that names what to look at, and layers made here" made_here 0 'the server answered 403 .the keys, this host.s clock'
AWS_SESSION_TOKEN= push s3://images/ci/store
check "s3: no token: a push fails, and says so" bash -c "test $rc -ne 0 && grep -q 'answered 403 (the keys' '$T/out'"
AWS_ENDPOINT_URL_S3=${AWS_ENDPOINT_URL_S3}!away take s3://images/ci/store
check "s3: a redirect is not followed, and takes no token to another server" bash -c "! grep -q token '$T/tls-requests' && grep -q 'warning: .*answered 302' '$T/out'"
push s3://nosuch/store
check "s3: a bucket that there is not" bash -c "test $rc -ne 0 && grep -q 'the server answered 404' '$T/out' && ! grep -q MKCOL '$T/s3-requests'"
AWS_ACCESS_KEY_ID= push s3://images/ci/store
check "s3: no key: exit code 2, with the way to one" bash -c "test $rc -eq 2 && grep -q 'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set; .*export-credentials' '$T/out'"
AWS_ENDPOINT_URL_S3= AWS_REGION= push s3://images/ci/store
check "s3: no region: exit code 2" bash -c "test $rc -eq 2 && grep -q 'AWS_REGION is not set' '$T/out'"
AWS_REGION='x.example.com/' push s3://images/ci/store
check "s3: a region that is none" bash -c "test $rc -eq 2 && grep -q 'AWS_REGION is no region' '$T/out'"
push s3:///store
check "s3: no bucket: exit code 2" bash -c "test $rc -eq 2 && grep -q 's3://BUCKET/PREFIX' '$T/out'"
AWS_ENDPOINT_URL_S3=http://198.51.100.1 push s3://images/store
check "s3: an endpoint without TLS is refused" bash -c "test $rc -eq 2 && grep -q 'over plain http' '$T/out'"
if command -v minisign >/dev/null; then
        AWS_ENDPOINT_URL_S3=http://198.51.100.1 push s3://images/store --remote-store-key "$T/ours.pub" --key "$T/ours.sec"
        check "s3: … with a key for the records, too: the token is everybody's who reads it" bash -c "test $rc -eq 2 && grep -q 'over plain http' '$T/out'"
fi
mkdir -p "$T/shared/others"
for prefix in ../others ./x a/../../others %2e%2e/others a+b 'ü' 'a?b' a%20b a//b; do
        : >"$T/s3-requests"
        push "s3://images/$prefix"
        check "s3: the prefix $prefix is refused: exit code 2, and nothing is asked" bash -c "test $rc -eq 2 && test ! -s '$T/s3-requests' && test -z \"\$(ls '$T/shared/others')\""
done
push "s3://images/CI_1/x-y.z~"
check "s3: … one of plain characters is taken" test $rc -eq 0
for answer in 301 400; do
        AWS_ENDPOINT_URL_S3=${AWS_ENDPOINT_URL_S3}!$answer push s3://images/store
        check "s3: a bucket of another region, $answer: AWS_REGION is named" bash -c "test $rc -eq 4 && grep -q 'answered $answer (the bucket may be of another region than AWS_REGION says)' '$T/out'"
done
printf '#!/bin/sh\ncat /proc/$PPID/limits >%s\nexec %s "$@"\n' "$T/process-limits" "$(command -v apt-config)" >"$T/bin/apt-config"
(ulimit -c unlimited && PATH=$T/bin:$PATH push s3://images/ci/store)
check "s3: a process that knows the secret leaves no core" grep -qE '^Max core file size +0 +0 ' "$T/process-limits"
unset AWS_ENDPOINT_URL_S3 AWS_REGION AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN

# Downloads whose source drops them.
"$IMGBUILD" lock "$T/images/t.json" --fetch --cache="$T/cache" --mirror="$URL/debian" >"$T/out" 2>&1
push "$TLS/store" --downloads
debs=$(grep -ho '"sha256": *"[0-9a-f]*"' "$T"/images/*.lock.json | sort -u | wc -l)
check "downloads are pushed where it is asked for" bash -c "test $rc -eq 0 && grep -q 'Pushed $debs downloads' '$T/out'"
push "$TLS/store" --downloads
check "… and once" bash -c "grep -qE 'Pushed 0 downloads, 0 B, .*; [0-9]+ were there' '$T/out'"
libc=$(find "$SITE/debian/pool" -name 'libc6_*.deb')
mv "$libc" "$T/libc.deb"
fetch() { rm -rf "$T/other"; rc=0; "$IMGBUILD" lock "$T/images/t.json" --fetch --cache="$T/other" --mirror="$URL/debian" "$@" >"$T/out" 2>&1 || rc=$?; }
fetch
check "a package that is gone from its mirror is gone" bash -c "test $rc -eq 4 && grep -q 'libc6 .*is gone from its source' '$T/out'"
fetch --remote-store "$TLS/store"
check "… but for who has the remote store" bash -c "test $rc -eq 0 && grep -q '1 downloads came from $TLS/store' '$T/out' && ! grep -q error '$T/out'"
sum=$(sha256sum "$T/libc.deb" | cut -d' ' -f1)
echo more >>"$T/shared/store/blobs/sha256/${sum:0:2}/$sum"
fetch --remote-store "$TLS/store"
check "… where it is what it was" bash -c "test $rc -eq 4 && grep -q 'libc6 .*is gone from its source' '$T/out' && test ! -e '$T/other/blobs/sha256/${sum:0:2}/$sum'"
mv "$T/libc.deb" "$libc"

# A layer that rotted, or was edited, since it was looked at last, would be everybody's.
cp -a "$T/cache/layers/${digests[1]:0:32}" "$T/rotten"
rm -rf "$T/shared/store"/*
echo more >>"$T/cache/layers/${digests[1]:0:32}/tree/usr/bin/${digests[1]:0:4}"
push "$TLS/store"
check "a layer that is not what it was is not pushed, and told" bash -c "test $rc -eq 1 && grep -q 'is not what it was when it was made' '$T/out' && test ! -e '$record' && grep -q 'Pushed $((n - 1)) layers' '$T/out'"
mv "$T/rotten" "$T/cache/layers/${digests[1]:0:32}"

# A layer that this store has not made is told; one that it lost is not pushed.
rm -rf "$T/cache/layers/${digests[0]:0:32}" "$T/shared/store"/*
push "$TLS/store"
check "what is not built is told: exit code 1" bash -c "test $rc -eq 1 && grep -q 'build it first' '$T/out' && grep -q 'Pushed $((n - 1)) layers' '$T/out'"
rc=0
"$IMGBUILD" cache push "$T/images/t.json" --cache="$T/cache" >"$T/out" 2>&1 || rc=$?
check "without a remote store: exit code 2" bash -c "test $rc -eq 2 && grep -q 'Where to' '$T/out'"
