#!/bin/bash
# An EL-like distribution, made here of Debian's packages as RPMs in a signed repository: a base and an overlay of it are
# locked by dnf and built by rpm, the same bytes twice; and trouble: another key, packages that are not signed by it, a
# package that the mirror changed.
#
# lane: compute
# after: e2e/15-stages
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/el.bash"
el_programs
W=$E2E/el
rm -rf "$W"
mkdir -p "$W/overlays/query"
base_tools "$W/images"
cp "$TOP/images/tools-el.json" "$W/images/"
make_repository() { el_repository el-parts "$W" "$@"; }

el_distribution el-parts "$W" "$W/images/tools.json"
fingerprint=$(cat "$W/key/fingerprint")
cp "$W/key/key.asc" "$W/images/os.asc"

# recipe [FINGERPRINT]
recipe() {
        cat >"$W/images/el.json" <<E
{ "name": "el", "kind": "tree", "overlays": ["query"],
  "base": { "distro": "rocky", "release": "9", "packages": ["base-files", "bash", "dash", "coreutils", "rpm", "sed", "grep"],
            "repositories": { "os": { "uri": "file://$W/site/os/", "key": "os.asc", "fingerprint": "${1-$fingerprint}", "keep": true } } } }
E
}
recipe
echo '{ "description": "queries", "packages": { "debian": ["jq"], "el": ["jq"] } }' >"$W/overlays/query/overlay.json"
el() { "$IMGBUILD" "$1" "$W/images/el.json" --cache "${cache:-$CACHE}" --progress plain "${@:2}"; }
in_tree() { el shell -- /bin/sh -c "$1" 2>>"$W/log"; }
lock=$W/images/el.lock.json
# refused NAME WORDS: the lock is not made, for this reason
refused() {
        rm -f "$lock"
        el lock >"$W/out" 2>&1
        [[ $? -ne 0 && ! -e $lock ]] && grep -qE "$2" "$W/out" && return 0
        sed 's/^/# /' "$W/out"
        return 1
}

el lock >>"$W/log" 2>&1
s=$?
check "dnf's solver locks it" $s
[[ $s -eq 0 ]] || { tail -n 40 "$W/log"; exit 1; }
python3 - "$lock" "$W/site/os/Packages" <<'P'
import hashlib, json, os, subprocess, sys
lock, folder = json.load(open(sys.argv[1])), sys.argv[2]
stages = {s["id"]: s["packages"] for s in lock["stages"]}
assert {"jq", "libjq1", "libonig5"} == {p["name"] for p in stages["packages:query"]}, stages["packages:query"]
assert len(stages["base"]) > 40
for p in stages["base"] + stages["packages:query"]:
    path = os.path.join(folder, os.path.basename(p["path"]))
    nevra = subprocess.run(["rpm", "-qp", "--nosignature", "--qf", "%{NAME} %|EPOCH?{%{EPOCH}:}|%{VERSION}-%{RELEASE} %{ARCH}", path], check=True, stdout=subprocess.PIPE, text=True).stdout
    assert nevra == f"{p['name']} {p['version']} {p['arch']}", (nevra, p)
    assert hashlib.sha256(open(path, "rb").read()).hexdigest() == p["sha256"] and os.path.getsize(path) == p["size"] and p["origin"] == "os", p
P
check "with name, epoch, version, architecture, digest and origin of each package, by stage" $?
el lock --check >>"$W/log" 2>&1
check "a second time nothing moves" $?
sha=$(python3 -c 'import json,sys
print(*[p["sha256"] for s in json.load(open(sys.argv[1]))["stages"] for p in s["packages"] if p["name"] == "python3-dnf"])' "$W/images/tools-el.lock.json")
rm "$CACHE/blobs/sha256/${sha:0:2}/$sha"
el lock --fetch >>"$W/log" 2>&1 && [[ -e $CACHE/blobs/sha256/${sha:0:2}/$sha ]]
check "lock --fetch brings what the tools of this family are made from, too" $?

el build >>"$W/log" 2>&1
s=$?
check "the tree builds" $s
[[ $s -eq 0 ]] || { tail -n 40 "$W/log"; exit 1; }
grep -qs '^+ rpm' "$CACHE"/log/*packages_query.log && ! grep -s 'cannot be preloaded' "$CACHE"/log/*packages_query.log
check "what rpm is started with is for it alone" $?
[[ $(in_tree 'echo "[1]" | jq .[0]; rpm -q jq bash >/dev/null && echo known; . /etc/os-release; echo $ID') == $'1\nknown\nrocky' ]]
check "its programs run, and its own rpm knows its packages" $?
[[ $(in_tree 'rpm -Va --nomtime | grep -v " /\(proc\|dev\|sys\|run\|tmp\)$"; echo end') == end ]]
check "rpm finds every file as it was packaged" $?
[[ $(in_tree 'cat /etc/yum.repos.d/os.repo') == *"baseurl=file://$W/site/os/"*"gpgkey=file:///etc/pki/rpm-gpg/os.asc"* ]] &&
        [[ $(in_tree 'cat /etc/pki/rpm-gpg/os.asc' | gpg --show-keys --with-colons 2>/dev/null | sed -n 's/^fpr:::::::::\([^:]*\):/\1/p') == "$fingerprint" ]]
check "the repository stays, with its key" $?

mkdir -p "$W/remote/store"
HTTPD_WRITABLE=1 python3 "$TOP/tests/fixtures/httpd" "$W/remote" "$W/port" "$W/requests" &
server=$!
for _ in $(seq 2400); do [[ -s $W/port ]] && break; sleep 0.05; done
"$IMGBUILD" cache push "$W/images/el.json" --cache "$CACHE" --remote-store "http://127.0.0.1:$(<"$W/port")/store" >>"$W/log" 2>&1
s=$?
kill "$server"
for digest in $("$IMGBUILD" plan "$W/images/tools-el.json" --offline --json --cache "$CACHE" 2>>"$W/log" | python3 -c 'import json,sys; print(*[s["digest"] for s in json.load(sys.stdin)["stages"]])'); do
        [[ -s $W/remote/store/layers/$digest ]] || { echo "# $digest"; s=1; }
done
check "cache push brings the tools of this family, too" $s
rm -rf "$W/remote"

# Another store, no network: nothing but the lock and its packages. What overlayfs notes for itself is another thing in each.
mkdir "$W/second"
cp -al "$CACHE/blobs" "$W/second/"
cache=$W/second el build --locked --offline --jobs 1 >>"$W/log" 2>&1
s=$?
check "another store builds it without a network" $s
bytes() { # STORE: of the layers of this tree
        local digest
        for digest in $(el plan --offline --json | python3 -c 'import json,sys; print(*[s["digest"][:32] for s in json.load(sys.stdin)["stages"]])'); do
                (cd "$1/layers/$digest/tree" && echo "$digest" && find . -printf '%P %y %m %U %G %T@ %l\n' | sort && find . -type f -print0 | sort -z | xargs -0r sha256sum && getfattr -R -d -m '^security' . 2>/dev/null)
        done
}
bytes "$CACHE" >"$W/bytes"
[[ $s -eq 0 && $(grep -c rpmdb.sqlite "$W/bytes") -ge 2 ]] && bytes "$W/second" | diff "$W/bytes" - >"$W/out"
s=$?
check "its layers are the same bytes" $s
[[ $s -eq 0 ]] || head -n 20 "$W/out" | sed 's/^/# /'
rm -rf "$W/second"

recipe "${fingerprint/[0-9A-F]/0}"
[[ ${fingerprint:0:1} != 0 ]] || recipe "${fingerprint/[0-9A-F]/1}"
refused "another key" "the key of repository os is not the pinned one: .* has $fingerprint, the recipe pins"
check "a key with another fingerprint is refused" $?
recipe

cp "$W/site/os/repodata/repomd.xml" "$W/repomd.xml"
echo >>"$W/site/os/repodata/repomd.xml"
refused "a changed index" "its index is not signed by the pinned key $fingerprint"
check "an index that its signature does not cover is refused" $?
mv "$W/repomd.xml" "$W/site/os/repodata/repomd.xml"

# A key that was good for three seconds, and signed in them.
gpg_old() { gpg --homedir "$W/old" --batch --quiet "$@" 2>>"$W/log"; }
mkdir -m 0700 "$W/old"
gpg_old --passphrase '' --pinentry-mode loopback --quick-generate-key 'Old <old@example.org>' ed25519 sign seconds=3
gpg_old --yes --armor --output "$W/site/os/repodata/repomd.xml.asc" --detach-sign "$W/site/os/repodata/repomd.xml"
s=$?
check "a key signs before it expires" $s
gpg_old --armor --export >"$W/images/os.asc"
sleep 4
recipe "$(gpg_old --list-keys --with-colons | sed -n 's/^fpr:::::::::\([^:]*\):/\1/p')"
refused "an expired key" 'its index is not signed by the pinned key .*, or the signature is not valid any more'
check "an index signed by a key that has expired is refused" $?
recipe
cp "$W/key/key.asc" "$W/images/os.asc"

rm "$W/site/os/repodata/repomd.xml.asc"
rm -f "$lock"
el lock >>"$W/log" 2>&1
check "without a signature of the index, the packages' own count" $?
make_repository --gnupg "$W/key" --unsigned-index --unsigned-packages
refused "packages that nobody signed" "Repository os: .* is not signed by the pinned key $fingerprint, nor is the repository's index"
check "packages that nobody signed are refused" $?
make_repository --gnupg "$W/other" --unsigned-index
refused "packages by another key" "Repository os: .* is not signed by the pinned key $fingerprint"
check "… and those that another key signed" $?

make_repository --gnupg "$W/key"
rm -f "$lock"
el lock >>"$W/log" 2>&1
jq=$(ls "$W/site/os/Packages/"jq-*.rpm)
sha=$(sha256sum <"$jq" | cut -c1-64)
rm -f "$CACHE/blobs/sha256/${sha:0:2}/$sha"
printf x | dd of="$jq" bs=1 seek=20000 conv=notrunc status=none
el build >"$W/out" 2>&1
[[ $? -eq 4 ]] && grep -q 'jq ' "$W/out"
s=$?
check "a package that the mirror changed is refused" $s
[[ $s -eq 0 ]] || sed 's/^/# /' "$W/out"

# --- strangers -----------------------------------------------------------------------------------------------------------
# publish: an index of what is in the folder, signed. lie PYTHON: its list of packages, `text`, or the index itself, `index`, says something
# else, signed as well.
sign_index() { gpg --homedir "$W/key" --batch --yes --quiet --armor --detach-sign "$W/site/os/repodata/repomd.xml" 2>>"$W/log"; }
publish() { rm -rf "$W/site/os/repodata" && createrepo_c --quiet "$W/site/os" >>"$W/log" 2>&1 && sign_index; }
lie() {
        rm -rf "$W/site/os/repodata"
        cp -r "$W/repodata" "$W/site/os/repodata"
        python3 - "$W/site/os/repodata" "$1" <<'P' && sign_index
import glob, gzip, hashlib, re, subprocess, sys
folder = sys.argv[1]
path = glob.glob(folder + "/*-primary.xml*")[0]
raw = subprocess.run(["zstd", "-dcq", path], stdout=subprocess.PIPE, check=True).stdout if path.endswith(".zst") else gzip.open(path).read()
text, index = raw.decode(), open(folder + "/repomd.xml").read()
def package(name): return re.search(r'<package type="rpm">\s*<name>' + name + r'</name>.*?</package>', text, re.S)[0]
def instead(pattern, new, where): return re.sub(pattern, lambda m: new, where, count=1, flags=re.S)
exec(sys.argv[2])
data = gzip.compress(text.encode())
open(folder + "/primary.xml.gz", "wb").write(data)
mine = (f'<data type="primary"><checksum type="sha256">{hashlib.sha256(data).hexdigest()}</checksum><location href="repodata/primary.xml.gz"/>'
        f'<timestamp>1700000000</timestamp><size>{len(data)}</size></data>')
open(folder + "/repomd.xml", "w").write(index if "x:primary" in index else instead(r'<data type="primary">.*?</data>', mine, index))
P
}
make_repository --gnupg "$W/key"
cp -r "$W/site/os/repodata" "$W/repodata"
for href in ../../../../etc/passwd /etc/passwd a/../../b.rpm; do
        lie "p = package('jq'); text = text.replace(p, instead('href=\"[^\"]*\"', 'href=\"$href\"', p))"
        refused "a package at $href" 'names a package that cannot be locked'
        check "a package that lies at $href is refused" $?
done
lie "p = package('jq'); text = text.replace(p, instead(' ver=\"[^\"]*\"', ' ver=\"1/../../x\"', p))"
refused "a version that is a path" 'names a package that cannot be locked|dnf says'
check "… and one whose version is a path" $?
lie "p, q = package('jq'), package('libjq1')
for part in ('<checksum.*?</checksum>', '<size [^>]*>', '<location [^>]*>'): p = instead(part, re.search(part, q, re.S)[0], p)
text = text.replace(package('jq'), p)"
rm -f "$lock"
el lock >>"$W/log" 2>&1 && el build >"$W/out" 2>&1
[[ $? -eq 3 ]] && grep -q 'what is locked as jq .* is libjq1 ' "$W/out"
s=$?
check "a package that is another one is refused" $s
[[ $s -eq 0 ]] || sed 's/^/# /' "$W/out"
# index WHAT WORDS PYTHON
index() {
        lie "$3"
        refused "an index $1" "$2"
        check "an index $1 is refused" $?
}
entities=$(for i in 1 2 3 4 5 6 7 8 9; do printf '<!ENTITY e%s "%s">' "$i" "$(printf "&e$((i - 1));%.0s" 1 2 3 4 5 6 7 8 9 10)"; done)
index "that is a bomb of entities" 'its repodata/repomd.xml is no index' \
        "index = index.replace('<repomd', '<!DOCTYPE x [<!ENTITY e0 \"lol\">$entities]><repomd', 1).replace('<revision>', '<revision>&e9;')"
index "that names a file of the host" 'its repodata/repomd.xml is no index' \
        "index = index.replace('<repomd', '<!DOCTYPE x [<!ENTITY e SYSTEM \"file:///etc/passwd\">]><repomd', 1).replace('<revision>', '<revision>&e;')"
for href in ../../../etc/passwd /etc/passwd; do
        index "whose parts lie at $href" 'its repodata/repomd.xml is no index' "index = instead('href=\"repodata/[^\"]*filelists.xml[^\"]*\"', 'href=\"$href\"', index)"
done
index "with parts by the thousand" 'its repodata/repomd.xml is no index' "p = re.search('<data type=\"filelists\">.*?</data>', index, re.S)[0]; index = index.replace(p, p * 1000)"
index "whose parts have digests of another kind" 'digests of type md5, not sha256' "index = index.replace('type=\"sha256\"', 'type=\"md5\"')"
index "of a day that has not come" 'its index is of 2255-03-14 .*is the clock of this machine right' "index = re.sub('<timestamp>[0-9]*', '<timestamp>9000000000', index)"
index "whose time is endless" 'its repodata/repomd.xml is no index' "index = re.sub('<timestamp>[0-9]*', '<timestamp>inf', index)"
index "with a part that is longer than it says" 'longer than the 100 bytes' "p = re.search('<data type=\"filelists\">.*?</data>', index, re.S)[0]; index = index.replace(p, instead('<size>[0-9]*', '<size>100', instead('<checksum type=\"sha256\">[0-9a-f]*', '<checksum type=\"sha256\">' + 64 * 'a', p)))"
# Packages by the hundred thousand: seconds of work.
lie "p = package('jq'); text = text.replace(p, p + ''.join(p.replace('<name>jq', f'<name>jq{i}') for i in range(150000)))"
sed -i 's/"base": /"limits": { "time": "1s" }, &/' "$W/images/el.json"
refused "what asks too much of the machine" 'it ran for 1 s, which is all that limits.time allows'
check "dnf has the recipe's limits, whatever an index asks of it" $?
recipe

# [version=N] rpm_of NAME, the lines of its spec behind the first on stdin: in the repository.
D=$W/hostile
mkdir -p "$D"
echo outside >"$W/canary"
rpm_of() {
        { printf 'Name: %s\nVersion: %s\nRelease: 1\nSummary: means harm\nLicense: none\nAutoReqProv: no\nBuildArch: x86_64\n' "$1" "${version:-1}" && cat; } >"$D/$1.spec"
        rpmbuild -bb --quiet --target x86_64 --define "_topdir $D/top" --define "_rpmdir $D/out" --define "_build_id_links none" --define "debug_package %{nil}" \
                --define "__os_install_post %{nil}" --define "_binary_payload w1.gzdio" --define "__check_files %{nil}" "$D/$1.spec" >>"$W/log" 2>&1 &&
                cp "$D/out/x86_64/$1-${version:-1}-1.x86_64.rpm" "$W/site/os/Packages/"
}
overlay_of() { echo "{ \"description\": \"queries\", \"packages\": { \"debian\": [\"jq\"], \"el\": [\"$1\"] } }" >"$W/overlays/query/overlay.json"; }
cc -static -O1 -o "$D/climber" "$TOP/tests/fixtures/el/climber.c"
rpm_of climber <<E
Requires: bash coreutils
%description
x
%install
mkdir -p %{buildroot}/usr/bin
for n in climber root-me raw-me; do install -m 0755 $D/climber %{buildroot}/usr/bin/\$n; done
ln -s $W %{buildroot}/usr/way
%pretrans -p <lua>
local f = io.open("$W/canary", "r+")
if f then f:write("lua was here") f:close() end
posix.symlink("$W/canary", "/usr/lib/os-release")
%post
/usr/bin/climber $W/canary >/usr/share/climber
%files
/usr/bin/climber
%attr(4755,root,root) /usr/bin/root-me
%caps(cap_net_raw,cap_sys_admin=ep) /usr/bin/raw-me
/usr/way
E
for where in base overlay; do
        recipe
        overlay_of climber
        [[ $where == overlay ]] || { sed -i 's/"base-files", /&"climber", /' "$W/images/el.json" && overlay_of jq; }
        publish
        rm -f "$lock"
        el lock >"$W/out" 2>&1 && el build >"$W/out" 2>&1
        s=$?
        check "a package of the $where whose scripts try what they can is installed" $s
        [[ $s -eq 0 ]] || tail -n 20 "$W/out" | sed 's/^/# /'
        in_tree 'cat /usr/share/climber' >"$W/report"
        [[ $(wc -l <"$W/report") -eq 13 ]] && ! grep -qv ' refused$' "$W/report" && [[ $(cat "$W/canary") == outside ]]
        s=$?
        check "… and gets nowhere" $s
        [[ $s -eq 0 ]] || sed 's/^/# /' "$W/report"
        el check --json >"$W/checked" 2>>"$W/log"
        python3 - "$W/checked" <<'P'
import json, sys
p = {x["path"]: x for x in json.load(open(sys.argv[1]))["privileged"]}
assert p["/usr/bin/root-me"]["mode"] == "4755" and p["/usr/bin/raw-me"]["capabilities"] == "cap_net_raw,cap_sys_admin", p
P
        check "… its set-uid program and its capabilities are listed" $?
done
# versions NAME: what the checks read of it in the tree with a package that is called so
versions() {
        recipe
        overlay_of "$1"
        publish
        rm -f "$lock"
        { el lock && el build; } >"$W/out" 2>&1 || tail -n 8 "$W/out"
        el check --json >"$W/checked" 2>>"$W/out"
        python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["versions"].get(sys.argv[2]))' "$W/checked" "$1" 2>>"$W/out"
}
rpm_of munge <<'E'
Epoch: 3
%description
x
%files
E
[[ $(versions munge) == 3:1-1 ]]
s=$?
check "the checks know what rpm has installed, and its versions" $s
[[ $s -eq 0 ]] || tail -n 8 "$W/out" | sed 's/^/# /'
rpm_of runc <<'E'
%description
x
%post
printf '#!/bin/sh\nyes | head -c 2000000\n' >/usr/bin/rpm.new
chmod 0755 /usr/bin/rpm.new
mv /usr/bin/rpm.new /usr/bin/rpm
%files
E
versions runc >/dev/null
grep -q 'its rpm lists them not (it said more than a megabyte)' "$W/out"
s=$?
check "… and an rpm that says megabytes ends them, with the reason" $s
[[ $s -eq 0 ]] || tail -n 8 "$W/out" | sed 's/^/# /'
# breaks NAME WHAT, with a spec as above: its stage fails, and that is all.
breaks() {
        rpm_of "$1"
        recipe
        overlay_of "$1"
        publish
        rm -f "$lock"
        el lock >"$W/out" 2>&1 && el build >"$W/out" 2>&1
        [[ $? -eq 1 && $(cat "$W/canary") == outside ]] && grep -q 'error: .*packages:query' "$W/out"
        s=$?
        check "$2 ends its own stage" $s
        [[ $s -eq 0 ]] || tail -n 8 "$W/out" | sed 's/^/# /'
}
breaks killer "a script that kills all that it sees" <<'E'
%description
x
%pre
kill -9 -1
exit 1
%files
E
breaks device "a package with a device node" <<'E'
%description
x
%files
%dev(b, 8, 0) /var/disk
E

# An RPM that an overlay brings for itself: nothing but its digest vouches for it, and what it depends on is locked.
mkdir -p "$W/elsewhere"
brought() { # NAME WANTED: in no repository
        rpm_of "$1" <<<"Requires: $2"$'\n%description\nx\n%post\necho its script ran >/usr/share/'"$1"$'\n%files' && mv "$W/site/os/Packages/$1-1-1.x86_64.rpm" "$W/elsewhere/"
}
with_artifact() { # NAME PACKAGE…
        local packages
        packages=$(printf ', "%s"' "${@:2}" | cut -c3-)
        cat >"$W/overlays/query/overlay.json" <<O
{ "description": "queries", "packages": { "debian": [], "el": [${2:+$packages}] },
  "artifacts": [ { "name": "$1", "version": "1", "install": "package",
                   "url": { "debian": "https://x.example/$1.deb", "el": "file://$W/elsewhere/$1-\${version}-1.x86_64.rpm" } } ] }
O
}
brought wants-jq jq && brought wants-nobody nobody-has-it && publish
recipe
with_artifact wants-jq jq
rm -f "$lock"
{ el lock && el build; } >"$W/out" 2>&1 && [[ $(in_tree 'rpm -q wants-jq jq | sed "s/-[0-9].*//"; cat /usr/share/wants-jq') == $'wants-jq\njq\nits script ran' ]]
s=$?
check "an overlay's own RPM is installed by rpm, its script too, on what is locked" $s
[[ $s -eq 0 ]] || tail -n 20 "$W/out" | sed 's/^/# /'
el lock --check >"$W/out" 2>&1 && el build --locked --offline >>"$W/out" 2>&1
s=$?
check "… and nothing moves afterwards" $s
[[ $s -eq 0 ]] || tail -n 20 "$W/out" | sed 's/^/# /'
with_artifact wants-jq
refused "an RPM of which something is missing" 'bring as artifacts \(query\) depend on what nothing in the recipe installs: jq, libjq1, libonig5\. Add these'
check "one that wants what no stage brings is refused, and what it wants is named" $?
with_artifact wants-nobody
refused "an RPM that wants what nobody has" 'bring as artifacts \(query\): dnf says'
check "… and one that wants what nobody has: nothing provides it" "$(grep -q 'nobody-has-it' "$W/out"; echo $?)"
echo 'no package' >"$W/elsewhere/text-1-1.x86_64.rpm"
with_artifact text
refused "a text" 'Artifact text of overlay query is no RPM package'
check "… and what is no RPM" $?
overlay_of jq

# By what a package provides, whatever it is called: a vendor's kernel-devel, say.
rpm_of of-a-vendor <<<$'Provides: kernel-devel-uname-r = 5.14.0-1.x86_64\n%description\nx\n%files' && publish
overlay_of 'kernel-devel-uname-r = 5.14.0-1.x86_64'
rm -f "$lock"
el lock >"$W/out" 2>&1 && grep -q '"name": "of-a-vendor"' "$lock"
s=$?
check "a package is found by what it provides, of one version" $s
[[ $s -eq 0 ]] || tail -n 8 "$W/out" | sed 's/^/# /'
overlay_of 'kernel-devel-uname-r = 5.14.0-2.x86_64'
refused "what nothing provides in that version" 'no repository of the recipe has a package kernel-devel-uname-r = 5.14.0-2.x86_64'
check "… and another version of it is named as missing" $?
overlay_of jq

# Streams of a module: its packages are there where their stream is.
for version in 1 2 3; do rpm_of tool <<<$'%description\nx\n%files'; done
unset version
publish
python3 - >"$W/modules.yaml" <<'P'
profiles = {1: "{}", 2: "{alone: {rpms: [tool]}, more: {rpms: [tool, jq]}, all: {rpms: [tool, \"*\"]}}", 3: "{alone: {rpms: [tool, not-there]}}", 5: "{alone: {rpms: [tool]}}"}
needs = {5: "dependencies: [{requires: {platform: [el8]}}]"}
for stream in profiles:
    print(f"""---
document: modulemd
version: 2
data:
  name: tool
  stream: "{stream}"
  version: 1
  context: c0ffee
  arch: x86_64
  summary: x
  description: x
  license: {{module: [none]}}
  {needs.get(stream, "")}
  profiles: {profiles[stream]}
  artifacts: {{rpms: [tool-0:{stream}-1.x86_64]}}""")
print('---\ndocument: modulemd-defaults\nversion: 1\ndata: {module: tool, stream: "1", profiles: {}}')
P
modifyrepo_c --mdtype=modules "$W/modules.yaml" "$W/site/os/repodata" >>"$W/log" 2>&1 && sign_index
overlay_of tool
modules() { # STREAM…: the version of tool that is locked with these
        recipe
        [[ $# -eq 0 ]] || sed -i "s|\"keep\"|\"modules\": [$(printf ', "%s"' "$@" | cut -c3-)], &|" "$W/images/el.json"
        el lock >"$W/out" 2>&1 || return
        python3 -c 'import json,sys; print(*[p["version"] for s in json.load(open(sys.argv[1]))["stages"] for p in s["packages"] if p["name"] == "tool"])' "$lock"
}

# The locked version is in the store alone, for the repository has a newer one: adding a package moves no other.
rm -f "$lock"
publish
overlay_of tool
recipe
el lock --fetch >"$W/out" 2>&1
cp "$lock" "$W/before.json"
rm "$W/site/os/Packages/tool-3-1.x86_64.rpm"
version=4 rpm_of tool <<<$'%description\nx\n%files'
publish
sed -i 's/"grep"/"grep", "jq"/' "$W/images/el.json"
el lock >"$W/out" 2>&1 && python3 - "$W/before.json" "$lock" <<'P'
import json, sys
before, after = ({(s["id"], json.dumps(p, sort_keys=True)) for s in json.load(open(f))["stages"] for p in s["packages"]} for f in sys.argv[1:])
assert before < after, before - after
assert {json.loads(p)["name"] for _, p in after - before} == {"jq", "libjq1", "libonig5"}, after - before
P
s=$?
check "a package more moves no other, though the repository has newer ones and the locked one no more" $s
[[ $s -eq 0 ]] || tail -n 8 "$W/out" | sed 's/^/# /'
el lock --update >"$W/out" 2>&1 && el lock --fetch >>"$W/out" 2>&1
version=4 rpm_of tool <<<$'%description\nmade anew\n%files'
publish
el lock --update >>"$W/out" 2>&1 && grep -q "\"$(sha256sum <"$W/site/os/Packages/tool-4-1.x86_64.rpm" | cut -c1-64)\"" "$lock"
s=$?
check "… and --update takes what the repository has, though the store has one of that version" $s
[[ $s -eq 0 ]] || tail -n 8 "$W/out" | sed 's/^/# /'
rm "$W/site/os/Packages/tool-4-1.x86_64.rpm"
version=3 rpm_of tool <<<$'%description\nx\n%files'
rpm_of oracle-cloud-agent <<'E'
%description
A double of a provider's agent, for the vendor's disk below.
%install
mkdir -p %{buildroot}/usr/lib/systemd/system
printf '[Service]\nExecStart=/bin/true\n' >%{buildroot}/usr/lib/systemd/system/oracle-cloud-agent.service
%preun
[ "$1" != 0 ] || systemctl --no-reload disable --now oracle-cloud-agent.service >/dev/null 2>&1 || :
%files
/usr/lib/systemd/system/oracle-cloud-agent.service
E
publish
modifyrepo_c --mdtype=modules "$W/modules.yaml" "$W/site/os/repodata" >>"$W/log" 2>&1 && sign_index
rm -f "$lock"
[[ $(modules) == 1-1 ]]
s=$?
check "a module without a stream of the recipe's is its default" $s
[[ $s -eq 0 ]] || tail -n 8 "$W/out" | sed 's/^/# /'
# Profiles: packages that the vendor names together.
of_stages() { python3 -c 'import json,sys; print(*[s["id"] + "=" + ",".join(p["name"] for p in s["packages"] if p["name"] in ("tool", "jq")) for s in json.load(open(sys.argv[1]))["stages"]])' "$lock"; }
overlay_of grep
[[ $(modules tool:2/more) == 2-1 && $(of_stages) == 'base=jq,tool packages:query=' ]]
s=$?
check "a profile of a base's module stands for its packages" $s
[[ $s -eq 0 ]] || { of_stages; tail -n 8 "$W/out"; } | sed 's/^/# /'
recipe
repository='{ "name": "again", "uri": "file://'$W'/site/os/", "key": "file://'$W'/key/key.asc", "fingerprint": "'$fingerprint'", "modules": [MODULES], "keep": false }'
echo "{ \"description\": \"profile\", \"repositories\": { \"debian\": [], \"el\": [${repository/MODULES/\"tool:2/alone\"}] } }" >"$W/overlays/query/overlay.json"
mkdir -p "$W/overlays/other"
echo "{ \"description\": \"another\", \"packages\": { \"debian\": [], \"el\": [\"grep\"] }, \"repositories\": { \"debian\": [], \"el\": [${repository/MODULES/\"tool:2\", \"tool:2/more\"}] } }" >"$W/overlays/other/overlay.json"
sed -i 's/"overlays": \["query"/&, "other"/' "$W/images/el.json"
el lock >"$W/out" 2>&1 && [[ $(of_stages) == 'base= packages:query=tool packages:other=jq' ]]
s=$?
check "an overlay's are its stage's, and of another's profile of that module what is not there yet" $s
[[ $s -eq 0 ]] || { of_stages; tail -n 8 "$W/out"; } | sed 's/^/# /'
el build >"$W/out" 2>&1 && [[ $(in_tree 'rpm -q tool; jq --version; cat /etc/dnf/modules.d/*; ls /etc/yum.repos.d') == $'tool-2-1.x86_64\njq-1'*$'\n[tool]\nname=tool\nstream=2\nprofiles=alone, more\nstate=enabled\nos.repo' ]]
s=$?
check "… and dnf on the node knows both" $s
[[ $s -eq 0 ]] || { in_tree 'cat /etc/dnf/modules.d/*'; tail -n 8 "$W/out"; } | sed 's/^/# /'
overlay_of grep
not_profile() { # MODULE WORDS
        rm -f "$lock"
        modules "$1" >/dev/null
        [[ $? -ne 0 && ! -e $lock ]] && grep -qF "$2" "$W/out"
}
not_profile tool:2/less 'the module tool:2 has no profile less; it has all, alone, more'
check "a profile that there is not: those that there are are named" $?
not_profile tool:1/more 'the module tool:1 has no profile more; it has none at all'
check "… or that there are none" $?
not_profile tool:2/all "a profile of tool:2/all has something that is no package's name: '*'"
check "a profile with a pattern, for which dnf would take all packages" $?
not_profile tool:3/alone 'no repository of the recipe has a package not-there'
check "a profile with a package that is in no repository" $?
not_profile tool:4/more 'no repository of the recipe has a module tool:4'
check "a profile of a stream that there is not" $?
not_profile tool:5/alone 'platform:el8'
check "a profile of a stream that is for another release" $? || sed 's/^/# /' "$W/out"
overlay_of 'tool", "oracle-cloud-agent'
[[ $(modules tool:2) == 2-1 ]] && el build >"$W/out" 2>&1 && [[ $(in_tree 'rpm -q tool; cat /etc/dnf/modules.d/*') == $'tool-2-1.x86_64\n[tool]\nname=tool\nstream=2\nprofiles=\nstate=enabled' ]]
s=$?
check "another stream is locked where the recipe names it, newer ones or not, and the image's dnf goes on with it" $s
[[ $s -eq 0 ]] || tail -n 8 "$W/out" | sed 's/^/# /'
# A vendor's disk of this family: that tree, with a tool that is not the newest and without jq.
V=$W/vendor
mkdir -p "$V"/{merged,tree}
layers=$(el plan --offline --json 2>>"$W/log" | python3 -c 'import json,sys; print(*reversed([sys.argv[1] + "/layers/" + s["digest"][:32] + "/tree" for s in json.load(sys.stdin)["stages"]]), sep=":")' "$CACHE")
mount -t overlay overlay -o "ro,lowerdir=$layers" "$V/merged" && cp -a "$V/merged/." "$V/tree/"
s=$?
umount "$V/merged"
rm -rf "$V"/tree/usr/share/{doc,locale,man,zoneinfo} "$V/tree/etc/dnf" "$V"/tree/etc/yum.repos.d/*
mkdir -p "$V/tree/boot/loader/entries"
echo 'title the vendor' >"$V/tree/boot/loader/entries/vendor.conf"
echo '/dev/sda1 / ext4 defaults 0 1' >"$V/tree/etc/fstab"
truncate -s 701M "$V/vendor.raw"
[[ $s -eq 0 ]] && printf '1M,700M\n' | sfdisk -q "$V/vendor.raw" && mke2fs -q -F -t ext4 -E offset=$((1 << 20)) -d "$V/tree" "$V/vendor.raw" 700M 2>>"$W/log" && rm -rf "$V/tree"
s=$?
check "a vendor's disk is made of it" $s
publish
overlay_of tool
sed -i 's/"tool"/"tool-3", "jq"/' "$W/overlays/query/overlay.json"
recipe
python3 - "$W/images/el.json" <<'P'
import json, sys
o = json.load(open(sys.argv[1]))
o["base"] = {"image": "../vendor/vendor.raw", "repositories": o["base"]["repositories"]}
json.dump(o, open(sys.argv[1], "w"))
P
rm -f "$lock"
el lock >"$W/out" 2>&1 && python3 - "$lock" <<'P'
import json, sys
l = json.load(open(sys.argv[1]))
got = [(s["id"], p["name"], p["version"]) for s in l["stages"] for p in s["packages"]]
assert {(i, n) for i, n, v in got} == {("packages:query", n) for n in ("tool", "jq", "libjq1", "libonig5")} and ("packages:query", "tool", "3-1") in got, got
assert l["image"]["distro"] == "rocky" and l["image"]["release"][0] == "9", l["image"]
P
s=$?
check "what a vendor's disk of the family has counts as installed: what is missing or older than what is wanted is locked" $s
[[ $s -eq 0 ]] || tail -n 8 "$W/out" | sed 's/^/# /'
el build >"$W/out" 2>&1
s=$?
check "it is the base of a tree" $s
[[ $s -eq 0 ]] || tail -n 20 "$W/out" | sed 's/^/# /'
[[ $(in_tree 'echo "[1]" | jq .[0]; rpm -q tool bash jq | sed "s/-.*//"; rpm -q tool; ls /etc/yum.repos.d; ls -A /boot/loader/entries') == $'1\ntool\nbash\njq\ntool-3-1.x86_64\nos.repo' ]]
s=$?
check "… in which its own rpm has put the new ones in the old one's place, and nothing names the vendor's disk" $s
[[ $s -eq 0 ]] || in_tree 'rpm -qa; ls /etc/yum.repos.d; ls -A /boot/loader/entries' | tail -n 20 | sed 's/^/# /'
el build --locked --offline >"$W/out" 2>&1 && el lock --check >>"$W/out" 2>&1
s=$?
check "… and nothing moves afterwards" $s
[[ $s -eq 0 ]] || tail -n 8 "$W/out" | sed 's/^/# /'
el check --json >"$W/checked" 2>>"$W/log"
python3 - "$W/checked" <<'P'
import json, sys
there = {p["name"]: (p["version"], p["arch"]) for p in json.load(open(sys.argv[1]))["installed"]}
assert there["tool"] == ("3-1", "x86_64") and {"bash", "jq", "rpm", "oracle-cloud-agent"} < set(there), there
P
check "… and the checks tell all that is installed, the vendor's too, for the manifest" $?
cp "$W/images/el.json" "$W/el9.json"
sed -i 's/"overlays": \["query"/&, "no-cloud-agents"/' "$W/images/el.json"
cp -r "$TOP/overlays/no-cloud-agents" "$W/overlays/"
el check >"$W/out" 2>&1 && [[ $(in_tree 'rpm -q oracle-cloud-agent; ls /usr/lib/systemd/system/oracle-cloud-agent.service 2>&1 | grep -c cannot; rpm -q bash | sed "s/-.*//"; rpm -Va --nomtime bash rpm') == $'package oracle-cloud-agent is not installed\n1\nbash' ]]
s=$?
check "no-cloud-agents takes the vendor's agent out of it" $s
[[ $s -eq 0 ]] || tail -n 8 "$W/out" | sed 's/^/# /'
bytes "$CACHE" >"$W/bytes"
mkdir "$W/second"
cp -al "$CACHE/blobs" "$W/second/"
cache=$W/second el build --locked --offline --jobs 1 >>"$W/log" 2>&1 && bytes "$W/second" | diff "$W/bytes" - >"$W/out"
s=$?
check "… and leaves the same bytes in another store" $s
[[ $s -eq 0 ]] || head -n 5 "$W/out" | sed 's/^/# /'
rm -rf "$W/second"
cp "$W/el9.json" "$W/images/el.json"
# The same disk as release 8 has it: what rpm knows is in Berkeley DB. vendor_8 BYTES: so many of its file.
offset="?offset=$((1 << 20))"
debugfs -R "dump /var/lib/rpm/rpmdb.sqlite $V/rpmdb" "$V/vendor.raw$offset" 2>>"$W/log"
python3 - "$V/rpmdb" >"$V/dump" <<'P'
import sqlite3, struct, sys
rows = dict(sqlite3.connect(sys.argv[1]).execute("select hnum, blob from Packages"))
print("VERSION=3", "format=bytevalue", "type=hash", "db_pagesize=4096", "HEADER=END", sep="\n")
for number, blob in {0: struct.pack("<I", max(rows)), **rows}.items():
    print("", struct.pack("<I", number).hex(), "\n", blob.hex())
print("DATA=END")
P
sed -i 's/ *$//' "$V/dump" && db5.3_load -f "$V/dump" "$V/Packages"
s=$?
echo 'ID="rocky"
VERSION_ID="8.10"' >"$V/os-release"
vendor_8() {
        cp --reflink=auto "$V/vendor.raw" "$V/vendor8.raw"
        head -c "$1" "$V/Packages" >"$V/some"
        printf '%s\n' 'rm /var/lib/rpm/rpmdb.sqlite' "write $V/some /var/lib/rpm/Packages" 'rm /usr/lib/os-release' "write $V/os-release /usr/lib/os-release" |
                debugfs -w -f - "$V/vendor8.raw$offset" >>"$W/log" 2>&1
        el lock "${@:2}" >"$W/out" 2>&1
}
cp "$lock" "$W/before.json"
sed -i 's|vendor/vendor.raw|vendor/vendor8.raw|' "$W/images/el.json"
rm -f "$lock"
[[ $s -eq 0 ]] && vendor_8 "$(stat -c %s "$V/Packages")" && python3 - "$W/before.json" "$lock" <<'P'
import json, sys
nine, eight = (json.load(open(f)) for f in sys.argv[1:])
assert eight["image"]["release"] == "8.10" and [s["packages"] for s in nine["stages"]] == [s["packages"] for s in eight["stages"]], eight
P
s=$?
check "of a vendor's disk of release 8 the packages are known as well" $s
[[ $s -eq 0 ]] || tail -n 8 "$W/out" | sed 's/^/# /'
vendor_8 20000 --update image # what is there now
grep -q 'its /var/lib/rpm/Packages is cut off' "$W/out"
s=$?
check "… and a database that is cut off is refused" $s
[[ $s -eq 0 ]] || tail -n 8 "$W/out" | sed 's/^/# /'
cp "$W/el9.json" "$W/images/el.json"
python3 - "$W/images/el.json" <<'P'
import json, sys
o = json.load(open(sys.argv[1]))
del o["base"]["repositories"]
json.dump(o, open(sys.argv[1], "w"))
P
el lock >"$W/out" 2>&1
[[ $? -eq 3 ]] && grep -q 'base.repositories: missing: .*vendor.raw is rocky 9' "$W/out"
s=$?
check "… without repositories the recipe is refused: nobody knows where such a system has its packages from" $s
[[ $s -eq 0 ]] || tail -n 8 "$W/out" | sed 's/^/# /'
rm -rf "$V"
recipe
overlay_of tool
publish
modifyrepo_c --mdtype=modules "$W/modules.yaml" "$W/site/os/repodata" >>"$W/log" 2>&1 && sign_index
rm -f "$lock"
modules tool:9 >/dev/null
grep -q 'no repository of the recipe has a module tool:9' "$W/out"
s=$?
check "a stream that there is not is named" $s
[[ $s -eq 0 ]] || tail -n 8 "$W/out" | sed 's/^/# /'
modules tool:2 tool:3 >/dev/null
grep -q 'the modules tool:2, tool:3 cannot be chosen together' "$W/out"
s=$?
check "two streams of one module are refused" $s
[[ $s -eq 0 ]] || tail -n 8 "$W/out" | sed 's/^/# /'
modules tool >/dev/null
check "a module without its stream is refused" "$(grep -q 'modules\[0\]: "tool" is not NAME:STREAM' "$W/out"; echo $?)"
recipe
overlay_of jq

sed -i 's/"jq"\] }/"nosuchpackage"] }/' "$W/overlays/query/overlay.json"
refused "no such package" 'Stage packages:query: dnf says'
check "a package that no repository has is named" "$(grep -q 'no repository of the recipe has a package nosuchpackage' "$W/out"; echo $?)"
sed -i 's/, "el": .*\] }/ }/' "$W/overlays/query/overlay.json"
refused "an overlay for Debian" 'query/overlay.json:[0-9]*: \$.packages: are for family debian alone'
check "an overlay that has packages for Debian alone is refused" $?
no_scratch
check "nothing is left behind" $?
exit $rc
