#!/bin/bash
# imgbuild inspect and diff: what is refused, what manifests say, and (with libguestfs) what an image without a system says.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
rc=0
check() { if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; cat out 2>/dev/null; rc=1; fi; }

refuse() {
        local name=$1 code=$2 text=$3 status
        shift 3
        timeout 180 "$IMGBUILD" "$@" >out 2>&1 </dev/null
        status=$?
        [[ $status -eq $code ]] && grep -qF -e "$text" out
        check "$name" $?
}

: >empty.raw
mkdir folder
echo 'no disk' >text.img
truncate -s 1M zeros.raw

refuse "inspect: no image" 2 "Which image?" inspect
refuse "inspect: two images" 2 "Which image?" inspect a b
refuse "inspect: missing" 3 "There is no image" inspect nowhere.raw
refuse "inspect: folder" 3 "is a folder" inspect folder
refuse "inspect: empty" 3 "is empty" inspect empty.raw
refuse "inspect: text" 3 "is not a disk image" inspect text.img
refuse "inspect: zeros" 3 "is not a disk image" inspect zeros.raw
refuse "inspect: bad --packages" 2 "a number" inspect --packages=many text.img
refuse "inspect: no file of vulnerabilities" 3 "Cannot read nowhere" inspect --vulnerabilities=nowhere zeros.raw
refuse "inspect: unknown option" 2 "--colour" inspect --colour text.img
if [[ $EUID -ne 0 ]]; then
        chmod 000 text.img
        refuse "inspect: unreadable" 5 "Permission denied" inspect text.img
        chmod 644 text.img
else
        echo "skip - inspect: unreadable file: root reads everything"
fi

cat >a.json <<'J'
{"packages": [{"name": "bash", "version": "5.2", "arch": "amd64"}, {"name": "old", "version": "1", "arch": "all"}],
 "kernel": "6.12.1", "versions": {"nvidia": "550.1"}, "artifacts": [], "stages": []}
J
sed 's/"5.2"/"5.3"/; s/"old"/"new"/; s/6.12.1/6.12.2/; s/550.1/550.2/' a.json >b.json
echo '{"packages": 3}' >wrong.json
echo '{"packages": [' >broken.json

refuse "diff: one side" 2 "Which two?" diff a.json
refuse "diff: missing" 3 "Cannot read nowhere" diff a.json nowhere
refuse "diff: manifest and image" 2 "two manifests, or two images" diff a.json zeros.raw
refuse "diff: no manifest" 3 "has no" diff a.json wrong.json
refuse "diff: broken manifest" 3 "broken.json:" diff a.json broken.json
refuse "diff: no image" 3 "is not a disk image" diff text.img zeros.raw
refuse "diff: equal manifests" 0 "No difference" diff a.json a.json
refuse "diff: manifests differ" 1 "~ bash:amd64  5.2 → 5.3" diff a.json b.json
printf '{"packages": [{"name": "evil\\u001b[2J\\n+ faked", "version": "1\\u0007"}]}' >evil.json
"$IMGBUILD" diff a.json evil.json >evil 2>&1
grep -qF 'evil?[2J?+ faked  1?' evil
check "diff: what an image holds does not command the terminal" $?
# Read by a parser of HTML: the tables hold what was compared, and whatever the names are, no element is of theirs.
printf '{"packages": [{"name": "<script>alert(1)</script>\\"", "version": "<img src=x onerror=y>"}]}' >markup.json
"$IMGBUILD" diff a.json markup.json --html page.html >out 2>&1
[[ $? -eq 1 ]] && python3 - <<'P' >>out 2>&1
import html.parser
class Page(html.parser.HTMLParser):
    names, cells, open = set(), [], []
    def handle_starttag(self, name, attributes):
        self.names.add(name)
        assert not any(a.startswith("on") or a in ("src", "href") for a, _ in attributes), attributes
        if name not in ("meta",):
            self.open.append(name)
    def handle_endtag(self, name):
        assert self.open.pop() == name, name
    def handle_data(self, text):
        if self.open and self.open[-1] == "td":
            self.cells.append(text)
page = Page()
page.feed(open("page.html", encoding="utf-8").read())
assert not page.open and page.names <= set("html head meta title style body h1 small ul li b h2 table tr th td p".split()), page.names
assert '<script>alert(1)</script>"' in page.cells and "<img src=x onerror=y>" in page.cells and "bash:amd64" in page.cells, page.cells
P
check "diff --html: a page of its own, in which a stranger's words are text" $?
grep -qF '+ <script>alert(1)</script>"  <img src=x onerror=y>' out
check "diff --html: what is printed stays" $?
refuse "diff --html: equal manifests have a page too" 0 "No difference" diff a.json a.json --html page.html
grep -q 'No difference' page.html && ! grep -q bash page.html
check "diff --html: which replaces the one before" $?
refuse "diff --html: over what is compared" 2 "written over what is compared" diff a.json b.json --html a.json
refuse "diff --html: a folder" 2 "is no regular file" diff a.json b.json --html folder
refuse "diff --html: in a folder that is not there" 1 "Cannot write nowhere/page.html" diff a.json b.json --html nowhere/page.html

"$IMGBUILD" diff a.json b.json >out 2>&1
for line in '- old:all' '+ new:all' '~ kernel  6.12.1 → 6.12.2' '~ version of nvidia  550.1 → 550.2'; do
        grep -qF -e "$line" out
        check "diff says '$line'" $?
done
truncate -s 64M one.raw
printf 'label: gpt\nsize=20M, type=uefi\n' | /sbin/sfdisk -q one.raw
cp one.raw two.raw
refuse "diff: two images of the same bytes need no look inside" 0 "No difference" diff one.raw two.raw
if command -v qemu-img >/dev/null; then
        mkdir left right
        for side in left right; do cp one.raw "$side/base.raw"; (cd "$side" && qemu-img create -q -f qcow2 -F raw -b base.raw layer.qcow2); done
        # That it begins to look inside is all that is asked: no appliance.
        LIBGUESTFS_PATH=$work/none timeout 300 "$IMGBUILD" diff left/layer.qcow2 right/layer.qcow2 >out 2>&1
        ! grep -q "No difference" out && grep -q "Opening left/layer.qcow2" out
        check "diff: layers over other files are not taken for equal by their own bytes" $?
else
        echo "skip - diff: layers over other files: qemu-img is not installed"
fi
"$IMGBUILD" diff --json one.raw two.raw >out 2>err
python3 -c 'import json
d = json.load(open("out"))
assert not d["facts"] and not d["packages"]["added"] and not d["files"]["changed"], d'
check "diff --json: with all its keys" $?
"$IMGBUILD" diff --json a.json b.json >out 2>err
python3 -c 'import json
d = json.load(open("out"))
assert [p["name"] for p in d["packages"]["added"]] == ["new:all"], d
assert d["packages"]["changed"][0]["from"] == "5.2"
assert len(d["facts"]) == 2'
check "diff --json" $?

# One launch of the appliance: a data disk, described without a system.
if "$IMGBUILD" doctor inspect >/dev/null 2>&1; then
        truncate -s 64M disk.raw
        printf 'label: gpt\nsize=20M, type=uefi, name=first\ntype=linux, name=second\n' | /sbin/sfdisk -q disk.raw
        timeout 400 "$IMGBUILD" inspect --json disk.raw >out 2>err
        check "inspect: disk without a system" $?
        python3 -c 'import json
d = json.load(open("out"))
assert "os" not in d and d["partition_table"] == "gpt", d
assert [p["name"] for p in d["partitions"]] == ["first", "second"], d
assert d["virtual_size"] == 64 << 20'
        check "inspect: its partitions" $?

        # A system of RPMs, whose list libguestfs cannot read: rpm's macros are not in it. What is known of it is known by its sources.
        printf '%s\n' 'Name: openssl' 'Version: 3.0.7' 'Release: 25.el9' 'Epoch: 1' 'Summary: x' 'License: x' 'BuildArch: noarch' %description x \
                '%package libs' 'Summary: x' 'ModularityLabel: ssl:3:904:rhel9' '%description libs' x %files '%files libs' >openssl.spec
        mkdir -p root/{bin,etc,usr/bin,var/lib/rpm,lib,boot,dev} rpms
        printf '%s\n' 'NAME="Rocky Linux"' ID=rocky VERSION_ID=9.4 >root/etc/os-release
        echo 'LABEL=root / ext4 defaults 0 1' >root/etc/fstab
        rpmbuild --quiet -bb --define "_topdir $work/rpms" openssl.spec >out 2>&1 &&
                rpm --root "$work/root" --dbpath /var/lib/rpm -i --justdb --nodeps --ignorearch rpms/RPMS/noarch/*.rpm >>out 2>&1 &&
                truncate -s 60M fs && mke2fs -q -t ext4 -L root -d root fs && truncate -s 62M system.raw && printf 'label: gpt\ntype=linux\n' | /sbin/sfdisk -q system.raw &&
                dd if=fs of=system.raw bs=1M seek=1 conv=notrunc status=none
        s=$?
        check "a system of RPMs is made" $s
        [[ $s -eq 0 ]] || cat out
        osv() { printf '[{"id": "RLSA-1", "summary": "%s", "affected": [{"package": {"ecosystem": "Rocky Linux:9", "name": "openssl"}, "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "%s"}]}]}]}]' "$1" "$2"; }
        osv "Important: openssl security update" 1:3.0.7-27.el9 >osv.json
        timeout 400 "$IMGBUILD" inspect --json --vulnerabilities=osv.json system.raw >out 2>err
        [[ $? -eq 1 ]] && python3 -c 'import json
d = json.load(open("out"))
assert [(p["name"], p["version"], p.get("source"), p.get("module")) for p in d["packages"]] == [
    ("openssl", "1:3.0.7-25.el9", None, None), ("openssl-libs", "1:3.0.7-25.el9", "openssl", "ssl:3")], d
assert [(v["id"], v["package"], v["fixed"], v["binaries"]) for v in d["vulnerabilities"]] == [
    ("RLSA-1", "openssl", "1:3.0.7-27.el9", ["openssl", "openssl-libs"])], d'
        check "inspect --vulnerabilities: records of sources, for what RPMs were made from them" $?
        # unreadable MESSAGE NAME: after the root has changed.
        unreadable() {
                mke2fs -q -F -t ext4 -L root -d root fs && dd if=fs of=system.raw bs=1M seek=1 conv=notrunc status=none
                timeout 400 "$IMGBUILD" inspect --vulnerabilities=osv.json system.raw >out 2>err
                [[ $? -eq 3 && ! -s out ]] && grep -q "$1" err
                check "inspect --vulnerabilities: $2: nothing is known, not: none is vulnerable" $?
                cp err out
        }
        rm root/var/lib/rpm/*
        head -c 8192 /dev/urandom >root/var/lib/rpm/rpmdb.sqlite
        unreadable "rpm cannot read the image's database: \|No packages could be read" "a damaged database"
        rm root/var/lib/rpm/*
        unreadable "rpm database is of a kind that cannot be read here" "no database that is known"
else
        echo "skip - inspect: disk without a system: libguestfs does not work here (imgbuild doctor inspect)"
fi
exit $rc
