#!/bin/bash
# A Python environment made in a tree: wheels installed without a network by a pip that does not stay, the same bytes twice,
# and trouble: a wheel with another digest, one that the index no longer has. The wheels come from an index on loopback, as
# the overlay says; that pip comes from where the host's own gets its own, for it has to know the tree's Python.
#
# lane: compute
# after: e2e/15-stages
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/fixtures/wheels.bash"
W=$E2E/python
rm -rf "$W"
mkdir -p "$W/site" "$W/overlays/wheels"
base_tools "$W/images"
python3 "$TOP/tests/fixtures/httpd" "$W/site" "$W/port" &
server=$!
trap 'kill $server 2>/dev/null' EXIT
for _ in $(seq 2400); do [[ -s $W/port ]] && break; sleep 0.05; done
INDEX=$W/site/simple
export no_proxy=127.0.0.1 IMGBUILD_FETCH_STALL_SECONDS=120
wheel tiny 1.0 --licence=MIT --requires=extra
wheel extra 2.0

cat >"$W/images/py.json" <<'E'
{ "name": "py", "kind": "tree", "overlays": ["wheels"],
  "base": { "distro": "debian", "release": "trixie", "arch": "amd64", "components": ["main"] } }
E
cat >"$W/overlays/wheels/overlay.json" <<E
{ "description": "wheels", "packages": { "debian": ["python3"] },
  "python": { "environment": "/opt/ml/x", "requirements": ["tiny"], "index": "http://127.0.0.1:$(cat "$W/port")/simple" } }
E
py() { "$IMGBUILD" "$1" "$W/images/py.json" --cache "$CACHE" --progress plain "${@:2}"; }
in_tree() { py shell -- /bin/sh -c "$1" 2>>"$W/log"; }

py build >"$W/log" 2>&1
s=$?
check "a tree with a Python environment builds" $s
[[ $s -eq 0 ]] || { tail -n 40 "$W/log"; exit 1; }
[[ $(in_tree '/opt/ml/x/bin/tiny && /opt/ml/x/bin/python -c "import extra; print(extra.version)"' | tr '\n' ' ') == "tiny 1.0 2.0 " ]]
check "its programs run, its modules are found" $?
in_tree 'test ! -e /opt/ml/x/bin/pip && ! /opt/ml/x/bin/python -c "import pip" 2>/dev/null && ! python3 -c "import pip" 2>/dev/null && ! python3 -c "import tiny" 2>/dev/null'
check "nothing of pip stays, and the system's Python knows nothing of it" $?
in_tree 'cd /opt/ml/x/lib/python3*/site-packages && test -e tiny/__pycache__/__init__.*.pyc && test ! -e "$(echo tiny/__pycache__/template.*)" && ! grep -q pyc tiny-1.0.dist-info/RECORD &&
        python3 -c "import glob, struct, sys; sys.exit(struct.unpack(\"<I\", open(glob.glob(\"tiny/__pycache__/__init__*.pyc\")[0], \"rb\").read()[4:8])[0] != 1)"'
check "it is byte-compiled by hash; what is no Python is left alone" $?

digest=$(py plan --offline --json | python3 -c 'import json,sys; print([s["digest"] for s in json.load(sys.stdin)["stages"] if s["kind"] == "python"][0])')
layer=$CACHE/layers/${digest:0:32}
bytes() { (cd "$layer/tree" && find . -printf '%P %y %m %U %T@ %l\n' | sort && find . -type f -print0 | sort -z | xargs -0 sha256sum); }
bytes >"$W/first"
rm -rf "$layer"
unshare -n "$IMGBUILD" build "$W/images/py.json" --cache "$CACHE" --progress plain >"$W/out" 2>&1 && bytes >"$W/second"
[[ -s $W/first ]] && cmp "$W/first" "$W/second"
check "made again, without a network, it has the same bytes" $?

# Once more without the wheels, in a network with nothing but the locked ones and the pages of the index that say where they lie.
python3 - "$W" "$CACHE/blobs/sha256" <<'E'
import json, os, shutil, sys
w, blobs = sys.argv[1:]
site = w + "/locked/site"
with open(w + "/images/py.lock.json", encoding="utf-8") as f:
    wheels = json.load(f)["python"][0]["wheels"]
for x in wheels:
    blob = f"{blobs}/{x['sha256'][:2]}/{x['sha256']}"
    folder = f"{site}/host/{x['name']}" if x.get("role") else f"{site}/simple/{x['name']}"
    if x.get("role"):
        os.makedirs(folder)
        shutil.copy(blob, f"{folder}/{x['file']}")
        with open(folder + "/index.html", "w", encoding="utf-8") as f:
            f.write(f"<a href=\"{x['file']}#sha256={x['sha256']}\">{x['file']}</a>\n")
    else:
        shutil.copytree(f"{w}/site/simple/{x['name']}", folder)
    os.remove(blob)
E
rm -rf "$layer"
PIP_INDEX_URL=http://127.0.0.1:$(<"$W/port")/host PIP_CONFIG_FILE=/dev/null PORT=$(<"$W/port") locked_network "$W/locked" \
        "$IMGBUILD" build "$W/images/py.json" --cache "$CACHE" --locked --progress plain >"$W/out" 2>&1 && bytes | cmp "$W/first" -
s=$?
check "without the wheels, a build needs the locked ones alone" $s
[[ $s -eq 0 ]] || tail -n 5 "$W/out"
asks_for_locked "$W/locked"
check "it asks for each of them and for its page, and for nothing else" $?

# Code that a wheel has run when a Python of its environment starts, which one does while it is made.
cp "$W/images/py.lock.json" "$W/lock"
cp -r "$INDEX/extra" "$W/extra"
wheel extra 2.1 "--at-start=open('/etc/extra', 'w')"
py lock --update extra >"$W/out" 2>&1 && py build >"$W/out" 2>&1
[[ $? -eq 1 ]] && grep -q 'Stage python:/opt/ml/x: one of its wheels changed /etc/extra, and none may change anything but /opt/ml/x' "$W/out"
s=$?
check "a wheel that writes outside of its environment when it is installed is refused" $s
[[ $s -eq 0 ]] || tail -n 5 "$W/out"
# hostile NAME WHAT EXIT-CODE PATTERN OPTION…: a wheel of that name that means harm does not get in: the build ends so, and nothing that it wanted is there.
hostile() {
        local name=$1 what=$2 code=$3 pattern=$4 s
        wheel "$name" 6.6 "${@:5}"
        cp "$W/lock" "$W/images/py.lock.json"
        sed "s/\"tiny\"/\"tiny\", \"$name\"/" "$W/overlay" >"$W/overlays/wheels/overlay.json"
        py build >"$W/out" 2>&1
        s=$?
        [[ $s -eq $code && $(grep -c 'error: ' "$W/out") -eq 1 ]] && grep -qE -- "$pattern" "$W/out" && [[ ! -e /etc/evil && ! -e /tmp/evil ]]
        code=$?
        check "a wheel $what is refused" $code
        [[ $code -eq 0 ]] || { echo "# exit code $s"; tail -n 8 "$W/out" | sed 's/^/# /'; }
}
cp "$W/overlays/wheels/overlay.json" "$W/overlay"
hostile climber "with a file above its environment" 1 'outside' --entry=../../../../../../../../etc/evil
hostile absolute "with an absolute name" 1 'outside' --entry=/etc/evil
hostile data "that climbs by its data folder" 1 'Unknown scheme key' --entry=data-6.6.data/data/../../../../etc/evil
hostile scripts "that climbs by its scripts" 1 'outside|/etc/evil' --entry=scripts-6.6.data/scripts/../../../../../etc/evil
hostile program "with a program above its environment" 1 'changed /etc/evil|/etc/evil' --program=../../../../etc/evil
hostile modes "that opens a folder above its environment to all" 1 'changed owner, mode or attributes of /opt/ml, and none may' \
        "--at-start=import os; os.chmod('/opt/ml', 0o777)"
hostile root "that opens the tree's root to all" 1 'changed owner, mode or attributes of /, and none may' "--at-start=import os; os.chmod('/', 0o777)"
hostile python "whose program is called as the environment's Python" 1 "a program called python3, which is the name of the environment's own" --program=python3
hostile activate "whose program is called as what people source" 1 "a program called activate, which is" --program=activate
hostile bomb "that is a bomb" 1 'bomb-6.6-py3-none-any.whl is a decompression bomb' --zeros=300
hostile named "whose metadata have another name" 4 'The index has named-6.6-py3-none-any.whl, which calls itself tiny' --named=tiny
hostile noise "that is none" 4 "Wheel 'noise' .*is invalid" --noise
wheel linker 6.6 --link=linker/passwd:/etc/passwd
sed 's/"tiny"/"tiny", "linker"/' "$W/overlay" >"$W/overlays/wheels/overlay.json"
cp "$W/lock" "$W/images/py.lock.json"
py build >"$W/out" 2>&1 && in_tree 'cd /opt/ml/x/lib/python3*/site-packages/linker && test -f passwd -a ! -L passwd && test "$(cat passwd)" = /etc/passwd'
check "a link in a wheel becomes a file with its text" $?
wheel bits 6.6 --mode=bits/setuid:4755 --mode=bits/all:0666 --mode=bits-6.6.data/scripts/bits-set:6777
sed 's/"tiny"/"tiny", "bits"/' "$W/overlay" >"$W/overlays/wheels/overlay.json"
cp "$W/lock" "$W/images/py.lock.json"
py build >"$W/out" 2>&1 && in_tree 'cd /opt/ml/x && ls -l lib/python3*/site-packages/bits bin && test -e lib/python3*/site-packages/bits/setuid -a -e bin/bits-set && test -z "$(find . -perm /7022 ! -type l)"' >"$W/bits"
s=$?
check "no set-uid bit of a wheel gets in, and nothing that all may write" $s
[[ $s -eq 0 ]] || tail -n 12 "$W/out" "$W/bits"
cp "$W/overlay" "$W/overlays/wheels/overlay.json"

# A module that is compiled against what the wheels bring, by another overlay; what its script sees besides.
mkdir "$W/overlays/on-python"
cat >"$W/overlays/on-python/overlay.json" <<'E'
{ "description": "compiled on an environment", "requires": ["wheels"], "compile": [ { "script": "compile.sh", "on": "python" } ] }
E
cat >"$W/overlays/on-python/compile.sh" <<'E'
#!/bin/sh
set -eu
to=$DESTDIR$(/opt/ml/x/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
mkdir -p "$to"
echo "seen = '$(/opt/ml/x/bin/tiny)'" >"$to/compiled.py"
E
chmod +x "$W/overlays/on-python/compile.sh"
sed 's/\["wheels"\]/["on-python"]/; s/"py"/"on"/' "$W/images/py.json" >"$W/images/on.json"
sed 's/"py"/"on"/' "$W/lock" >"$W/images/on.lock.json"
"$IMGBUILD" build "$W/images/on.json" --cache "$CACHE" --progress plain >"$W/out" 2>&1 &&
        [[ $("$IMGBUILD" shell "$W/images/on.json" --cache "$CACHE" --progress plain -- /opt/ml/x/bin/python -c 'import compiled, extra; print(compiled.seen, extra.version)' 2>/dev/null) == 'tiny 1.0 2.0' ]]
s=$?
check "a compile stage on python sees the environment, and adds a module to it" $s
[[ $s -eq 0 ]] || tail -n 12 "$W/out"

# A full disk while wheels are installed: a store in memory with what comes before the stage, and little more.
wheel big 1.0 --data=48
sed 's/"tiny"/"tiny", "big"/' "$W/overlay" >"$W/overlays/wheels/overlay.json"
cp "$W/lock" "$W/images/py.lock.json"
py lock >"$W/out" 2>&1
mkdir "$W/full" && mount -t tmpfs -o size=2G full "$W/full" && mkdir -m 0700 "$W/full/store" && mkdir "$W/full/store/layers"
cp -p "$CACHE/format" "$W/full/store/"
for digest in $(py plan --offline --json | python3 -c 'import json, sys; [print(s["digest"][:32]) for s in json.load(sys.stdin)["stages"] if s["kind"] in ("base", "packages")]'); do
        cp -a "$CACHE/layers/$digest" "$W/full/store/layers/"
done
blobs_of "$W/images/py.lock.json" "$W/full/store" copied
full() { "$IMGBUILD" build "$W/images/py.json" --cache "$W/full/store" --progress plain >"$W/out" 2>&1; }
fallocate -l $(($(df --output=avail -B1 "$W/full" | tail -n 1) - (24 << 20))) "$W/full/filler"
full
[[ $? -eq 5 ]] && grep -q 'Stage python:/opt/ml/x: .*full; imgbuild cache prune makes room' "$W/out" &&
        [[ -z $(ls "$W/full/store/work") && $(df --output=avail -B1 "$W/full" | tail -n 1) -gt $((20 << 20)) ]]
s=$?
check "a disk that is full while wheels are installed is told, exit code 5, and nothing half-made stays" $s
[[ $s -eq 0 ]] || { tail -n 12 "$W/out"; ls -la "$W/full/store/work"; }
rm "$W/full/filler"
full
s=$?
check "… and with room the build goes on" $s
[[ $s -eq 0 ]] || tail -n 12 "$W/out"
umount "$W/full"
cp "$W/overlay" "$W/overlays/wheels/overlay.json"

rm -rf "$INDEX/extra" && mv "$W/extra" "$INDEX/extra" && cp "$W/lock" "$W/images/py.lock.json"

# The wheel's blob goes, and the index serves something else under its name; then it has it no more.
sum=$(sha256sum <"$INDEX/tiny/tiny-1.0-py3-none-any.whl" | cut -d' ' -f1)
rm -rf "$layer" "$CACHE/blobs/sha256/${sum:0:2}/$sum"
cp -r "$INDEX/tiny" "$W/tiny"
wheel tiny 1.0 --licence=other --requires=extra
py build >"$W/out" 2>&1
[[ $? -eq 4 ]] && grep -q 'tiny-1.0-py3-none-any.whl' "$W/out" && [[ ! -e $CACHE/blobs/sha256/${sum:0:2}/$sum ]]
s=$?
check "a wheel whose digest is not the locked one is refused and named" $s
[[ $s -eq 0 ]] || tail -n 5 "$W/out"
rm "$INDEX"/tiny/*.whl
wheel tiny 1.1 --requires=extra
py build >"$W/out" 2>&1
[[ $? -eq 3 ]] && grep -q 'no wheel for cpython-3.* answers tiny==1.0. There are: 1.1' "$W/out"
s=$?
check "a wheel that the index has no more is named, with what there is" $s
[[ $s -eq 0 ]] || tail -n 5 "$W/out"
rm -rf "$INDEX/tiny" && mv "$W/tiny" "$INDEX/tiny"
py build >"$W/out" 2>&1 && cmp "$W/lock" "$W/images/py.lock.json" && bytes | cmp - "$W/first"
check "once it is there again, the build goes on where it was" $?
exit "$rc"
