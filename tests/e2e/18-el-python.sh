#!/bin/bash
# A Python environment in a tree of family el, where the system's python3 is an old one and the overlay names another: Debian's packages as RPMs, of which
# Python looks for compiled modules in lib64, as EL's do; the system's Python is a double that says 3.9, and makes nothing. The same bytes in two stores.
#
# lane: compute
# after: e2e/15-stages
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/el.bash"
source "$TOP/tests/fixtures/wheels.bash"
el_programs
W=$E2E/el-python
rm -rf "$W"
mkdir -p "$W/wheels" "$W/overlays/wheels" "$W/overlays/on-python" "$W/system/python3/files/usr/bin"
base_tools "$W/images"
cp "$TOP/images/tools-el.json" "$W/images/"
el_distribution el-python-parts "$W" "$W/images/tools.json"
fingerprint=$(<"$W/key/fingerprint")
cp "$W/key/key.asc" "$W/images/os.asc"

printf '#!/bin/sh\necho "Python 3.9.21, a double" >&2\nexit 1\n' >"$W/system/python3/files/usr/bin/python3"
chmod 0755 "$W/system/python3/files/usr/bin/python3"
printf 'Package: python3\nVersion: 3.9.21-2.el9\n' >"$W/system/python3/control"
"$TOP/tests/fixtures/make-dnf-repo" --gnupg "$W/key" "$W/system" "$W/site/system" >>"$W/log" 2>&1
check "the system's Python is a double" $?

python3 "$TOP/tests/fixtures/httpd" "$W/wheels" "$W/port" &
server=$!
trap 'kill $server 2>/dev/null' EXIT
for _ in $(seq 2400); do [[ -s $W/port ]] && break; sleep 0.05; done
INDEX=$W/wheels/simple # not for pip itself, which has to know the tree's Python
export no_proxy=127.0.0.1 IMGBUILD_FETCH_STALL_SECONDS=120
# For the system's own Python there would have to be one more, and there is none.
wheel tiny 1.0 --requires=extra --requires="old; python_version<'3.12'"
wheel extra 2.0 --platlib

cat >"$W/images/py.json" <<E
{ "name": "py", "kind": "tree", "overlays": ["on-python"],
  "base": { "distro": "rocky", "release": "9", "packages": ["base-files", "bash", "dash", "coreutils", "rpm", "sed", "grep", "findutils"],
            "repositories": { "os": { "uri": "file://$W/site/os/", "key": "os.asc", "fingerprint": "$fingerprint" },
                              "system": { "uri": "file://$W/site/system/", "key": "os.asc", "fingerprint": "$fingerprint" } } } }
E
overlay() { # INTERPRETER
        cat >"$W/overlays/wheels/overlay.json" <<E
{ "description": "wheels", "packages": { "debian": ["python3"], "el": ["python3", "python3.13"] },
  "python": { "environment": "/opt/ml/x", "requirements": { "debian": ["nothing"], "el": ["tiny"] }, "interpreter": { "el": "$1" },
              "index": "http://127.0.0.1:$(<"$W/port")/simple" } }
E
}
overlay python3.13
# On Debian it would be compiled on the base.
cat >"$W/overlays/on-python/overlay.json" <<'E'
{ "description": "compiled on an environment", "requires": ["wheels"],
  "compile": [ { "packages": { "el": ["jq"] }, "script": "compile.sh", "on": { "debian": "base", "el": "python" } } ], "checks": ["check.sh"] }
E
cat >"$W/overlays/on-python/compile.sh" <<'E'
#!/bin/sh
set -eu
jq --version
to=$DESTDIR$(/opt/ml/x/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
mkdir -p "$to"
echo "seen = '$(/opt/ml/x/bin/tiny)'" >"$to/compiled.py"
E
cat >"$W/overlays/on-python/check.sh" <<'E'
#!/bin/sh
set -eu
test "$(/opt/ml/x/bin/python -c 'import compiled, extra; print(compiled.seen, extra.version)')" = 'tiny 1.0 2.0'
E
chmod +x "$W"/overlays/on-python/*.sh
py() { "$IMGBUILD" "$1" "$W/images/py.json" --cache "${cache:-$CACHE}" --progress plain "${@:2}"; }
in_tree() { py shell -- /bin/sh -c "$1" 2>>"$W/log"; }

py lock --fetch >"$W/out" 2>&1
s=$?
check "it is locked" $s
[[ $s -eq 0 ]] || { tail -n 20 "$W/out"; exit 1; }
python3 - "$W/images/py.lock.json" <<'P'
import json, sys
e, = json.load(open(sys.argv[1]))["python"]
assert e["target"].startswith("cpython-3.13.") and "-glibc-2.41-x86_64" in e["target"], e
assert [w["name"] for w in e["wheels"] if "role" not in w] == ["extra", "tiny"], e
P
check "… for the Python that the overlay names, and glibc's version" $?
py check >"$W/out" 2>&1
s=$?
check "it builds, a module is compiled against it, and the overlay's check passes" $s
[[ $s -eq 0 ]] || { tail -n 20 "$W/out"; exit 1; }
[[ $(in_tree 'python3; cd /opt/ml/x && readlink -f bin/python && bin/python -c "import sysconfig; print(sysconfig.get_path(\"platlib\"))" && readlink lib64 && ls lib/python3.13/site-packages') == \
        $'/usr/bin/python3.13\n/opt/ml/x/lib64/python3.13/site-packages\nlib\ncompiled.py\nextra\nextra-2.0.dist-info\ntiny\ntiny-1.0.dist-info' ]]
s=$?
check "it is of that Python, and compiled modules lie beside the others" $s
[[ $s -eq 0 ]] || in_tree 'cd /opt/ml/x; ls -l . bin lib lib/python3.13/site-packages; cat pyvenv.cfg' | sed 's/^/# /'
in_tree 'cd /opt/ml/x && test -e lib/python3.13/site-packages/extra/__pycache__/__init__.cpython-313.pyc && test ! -e bin/pip && ! rpm -qf /opt/ml/x/bin/python 2>/dev/null'
check "it is byte-compiled, and nothing of pip stays" $?
py lock --check >"$W/out" 2>&1 && py build --locked --offline >>"$W/out" 2>&1
check "nothing moves afterwards" $?

bytes() { RECIPES=$W/images layer_sums py "$1"; } # STORE
bytes "$CACHE" >"$W/bytes"
mkdir "$W/second"
cp -al "$CACHE/blobs" "$W/second/"
cache=$W/second unshare -n "$IMGBUILD" build "$W/images/py.json" --cache "$W/second" --locked --offline --jobs 1 --progress plain >"$W/out" 2>&1
s=$?
[[ $s -eq 0 && $(wc -l <"$W/bytes") -ge 6 ]] && bytes "$W/second" | diff "$W/bytes" - >"$W/differ"
s=$?
check "another store makes the same layers, without a network" $s
[[ $s -eq 0 ]] || { tail -n 5 "$W/out"; sed 's/^/# /' "$W/differ"; }
rm -rf "$W/second"

# What is asked of a base image's database: what rpm wrote into the last layer with packages.
layers=$(py plan --offline --json | python3 -c 'import json,sys; print(*[s["digest"][:32] for s in json.load(sys.stdin)["stages"]][::-1])')
mkdir "$W/ask"
cp "$(for digest in $layers; do find "$CACHE/layers/$digest/tree" -name rpmdb.sqlite; done | head -n 1)" "$TOP/builder/lock/dnf-ask.py" "$W/ask/"
cat >"$W/ask/question" <<'E'
{ "release": "9", "platform": "platform:el9", "database": "/tmp/ask/rpmdb.sqlite", "folder": "/tmp/ask", "cache": "/tmp/cache", "repositories": [],
  "modules": [], "before": [], "pinned": [], "offered": {}, "packages": ["glibc", "python3", "python3.12", "python3.13"] }
E
tar -C "$W" -cf - ask | "$IMGBUILD" shell "$W/images/tools-el.json" --cache "$CACHE" --progress none -- \
        sh -c 'cd /tmp && tar xf - && python3 ask/dnf-ask.py installed ask/question answer && cat answer' >"$W/out" 2>>"$W/log"
python3 - "$W/out" <<'P'
import json, sys
found = {p["name"]: p["version"] for p in json.load(open(sys.argv[1]))["packages"]}
assert set(found) == {"glibc", "python3", "python3.13"} and found["python3"] == "3.9.21-2.el9" and found["python3.13"].startswith("3.13."), found
P
check "rpm's database says which Pythons and which C library a system has" $?

overlay python3
py lock >"$W/out" 2>&1
[[ $? -ne 0 ]] && grep -q 'Environment /opt/ml/x (overlay wheels): the index does not have old' "$W/out"
s=$?
check "the system's own Python is asked for by its own version, which other conditions hold for" $s
[[ $s -eq 0 ]] || tail -n 5 "$W/out"
overlay python3.12
py lock >"$W/out" 2>&1
[[ $? -ne 0 ]] && grep -q 'Overlay wheels fills the Python environment /opt/ml/x, and the image has no python3.12: add "python3.12" to the overlay' "$W/out"
s=$?
check "a Python that the image does not have is named" $s
[[ $s -eq 0 ]] || tail -n 5 "$W/out"
sed -i 's/"el": \["tiny"\]/"el": []/' "$W/overlays/wheels/overlay.json"
py lock >"$W/out" 2>&1
[[ $? -ne 0 ]] && grep -q 'overlay "on-python" compiles on a Python environment, and neither it' "$W/out"
s=$?
check "where this family has no requirements there is no environment" $s
[[ $s -eq 0 ]] || tail -n 5 "$W/out"
exit "$rc"
