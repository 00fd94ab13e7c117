#!/bin/bash
# A vendor's disk that keeps its layout: the finished image of debian-13-cpu stands for it. What a recipe adds, changes and removes is written to
# it, all else stays; it is grown, read back, and boots until its node is ready.
#
# lane: machine
# after: e2e/10 cli unit
set -u
source "$TOP/tests/e2e/lib.bash"
cpu_image
own_project
vendor=$OUT/debian-13-cpu/debian-13-cpu.qcow2
W=$E2E/keep
rm -rf "$W"
mkdir -p "$W" "$PROJECT/overlays/site/files/srv/site" "$PROJECT/overlays/site/files/etc"
O=$PROJECT/overlays/site
cat >"$O/overlay.json" <<'R'
{ "description": "what a site does to a vendor's image", "run": ["site.sh"], "services": { "disable": ["chrony.service"] } }
R
cat >"$O/site.sh" <<'R'
#!/bin/sh
set -e
echo appended >>/etc/issue
rm -r /usr/share/bash-completion /etc/cloud/templates
mkdir /usr/share/bash-completion && echo ours >/usr/share/bash-completion/ours
rm /etc/motd && mkdir /etc/motd && echo inside >/etc/motd/file
setfattr -n user.comment -v 'a comment' /srv/site/one 2>/dev/null || true
ln /srv/site/one /srv/site/two
truncate -s 50M /srv/site/hole
chmod 2750 /srv/site && chown 0:4 /srv/site
R
chmod +x "$O/site.sh"
echo one >"$O/files/srv/site/one"
echo "$(printf 'ours %.0s' {1..40})" >"$O/files/etc/motd.site"
cat >"$RECIPES/keep.json" <<R
{
        "name": "keep",
        "base": { "image": "$vendor" },
        "overlays": ["site"],
        "disk": { "layout": "keep", "size": "3G", "formats": ["raw"] }
}
R
build keep >"$W/log" 2>&1
s=$?
check "a vendor's disk is written to, checked and read back" $s
[[ $s -eq 0 ]] || { tail -n 30 "$W/log"; exit 1; }
disk=$OUT/keep/keep.raw
[[ $(manifest keep disk.layout) == keep && $(manifest keep reproducible) == False && $(manifest keep disk.size) -eq $((3 << 30)) ]]
check "its manifest says what kind of disk it is" $?

# The table: all as it was, but for the last partition's end.
qemu-img convert -O raw "$vendor" "$W/vendor.raw"
table() { sfdisk -J "$1" | python3 -c 'import json,sys
t = json.load(sys.stdin)["partitiontable"]
print(t["label"], t["id"], *[(p["start"], p["type"], p["uuid"], p.get("name")) for p in t["partitions"]], sep="\n")'; }
diff <(table "$W/vendor.raw") <(table "$disk") >"$W/diff"
s=$?
check "its partitions are where they were, with their ids" $s
[[ $s -eq 0 ]] || sed 's/^/# /' "$W/diff"
read -r start size < <(sfdisk -J "$W/vendor.raw" | python3 -c 'import json,sys; p = json.load(sys.stdin)["partitiontable"]["partitions"][0]; print(p["start"], p["size"])')
esp() { dd if="$1" bs=512 skip="$start" count="$size" status=none | sha256sum; }
[[ $(esp "$W/vendor.raw") == "$(esp "$disk")" ]]
check "its ESP is the vendor's, byte for byte" $?
read -r last end < <(sfdisk -J "$disk" | python3 -c 'import json,sys; p = json.load(sys.stdin)["partitiontable"]["partitions"][-1]; print(p["start"], p["start"] + p["size"])')
[[ $end -gt $(((3 << 30) / 512 - 2100)) ]]
check "its last partition ends at the disk's end" $?
uuid() { debugfs -R 'show_super_stats -h' "$1?offset=$((last * 512))" 2>/dev/null | sed -n "s/^$2: *//p"; }
[[ $(uuid "$W/vendor.raw" 'Filesystem UUID') == "$(uuid "$disk" 'Filesystem UUID')" && $(uuid "$disk" 'Block count') -gt 700000 && $(uuid "$disk" 'Filesystem state') == clean ]]
check "its file system is the vendor's, grown and clean" $?
rm "$W/vendor.raw"

on_disk() { debugfs -R "$*" "$disk?offset=$((last * 512))" 2>/dev/null; }
[[ $(on_disk cat /etc/issue | tail -n 1) == appended && $(on_disk cat /srv/site/two) == one && $(on_disk cat /etc/motd/file) == inside ]]
check "what was changed and added is there, a folder where a file was too" $?
[[ -z $(on_disk stat /etc/cloud/templates) && $(on_disk ls -p /usr/share/bash-completion | cut -d/ -f6 | grep . | sort | paste -sd' ') == '. .. ours' ]]
check "what was removed is gone, and nothing shows through a folder that was made anew" $?
[[ $(on_disk stat /srv/site/one | grep -o 'Links: [0-9]*') == 'Links: 2' && $(on_disk stat /srv/site/hole | grep -o 'Blockcount: [0-9]*') == 'Blockcount: 0' &&
        $(on_disk stat /srv/site | grep -oE 'Mode: +[0-9]+') =~ 2750 && $(on_disk stat /srv/site | grep -oE 'Group: +[0-9]+') =~ 4$ ]]
s=$?
check "hard links, holes, owners and modes are as in the tree" $s
[[ $s -eq 0 ]] || { on_disk stat /srv/site/one; on_disk stat /srv/site/hole; on_disk stat /srv/site; } | grep . | sed 's/^/# /'

sed -i 's/"3G"/"500M"/' "$RECIPES/keep.json"
build keep --no-proof >"$W/small" 2>&1
[[ $? -ne 0 ]] && grep -q "keep.json: \$.disk.size: the vendor's disk has .*, and 500.*MiB is less" "$W/small" && [[ $(stat -c %s "$disk") -eq $((3 << 30)) ]]
s=$?
check "a disk that would be smaller is refused, and the last image stays" $s
[[ $s -eq 0 ]] || tail -n 5 "$W/small"
sed -i 's/, "size": "500M"//' "$RECIPES/keep.json"
# shellcheck disable=SC2016 # the tree's own
sed -i '$a head -c 1500M /dev/urandom >/srv/site/large' "$O/site.sh"
build keep --no-proof >"$W/full" 2>&1
[[ $? -ne 0 ]] && grep -q "keep.json: \$.disk.size: the vendor's file systems have no room for what the recipe adds: say a larger size" "$W/full"
s=$?
check "what does not fit is one message" $s
[[ $s -eq 0 ]] || tail -n 5 "$W/full"

(cd "$PROJECT" && exec "$IMGBUILD" boot "$disk" --cache "$CACHE" --offline --progress plain --until ready --save "$W/save" -- \
        'cat /srv/site/one; systemctl is-enabled chrony.service; df -B1 --output=size / | tail -n 1; test -s /etc/machine-id && echo id') >"$W/said" 2>"$W/boot.log"
s=$?
[[ $s -eq 0 && $(paste -sd' ' "$W/said") =~ ^one\ disabled\ [0-9]{10}\ id$ ]]
s=$?
check "it boots by the vendor's boot loader until its node is ready" $s
[[ $s -eq 0 ]] || { tail -n 30 "$W/boot.log"; cat "$W/said"; }
rm -rf "$W" "$OUT/keep"
exit $rc
