#!/bin/bash
# What is wrong with a recipe or overlay is told in one clear message each, all in one go, and the exit code says whose
# fault it is. The rules themselves are tested in tests/unit/builder; here it is what a person at the command line sees.
set -u
rc=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
mkdir images overlays

overlay() { mkdir -p "overlays/$1"; echo "{ \"description\": \"$1\"$2 }" >"overlays/$1/overlay.json"; }
recipe() {
        echo "{ \"name\": \"$1\", \"base\": { \"distro\": \"debian\", \"release\": \"trixie\" }," \
                "\"kernel\": { \"package\": \"linux-image-amd64\" }$2 }" >"images/$1.json"
}

# refused NAME RECIPE LINE…: planning the recipe ends with exit code 3 and exactly these lines on standard error.
refused() {
        local name=$1 file=$2 out status
        shift 2
        out=$(timeout 120 "$IMGBUILD" plan "$file" --offline --cache "$work/cache" 2>&1 >stdout)
        status=$?
        if [[ $status -eq 3 && $out == "$(printf '%s\n' "${@/#/imgbuild: error: }")" && ! -s stdout ]]; then
                echo "ok - $name"
        else
                echo "not ok - $name"
                echo "# exit code $status, standard error:"
                sed 's/^/#   /' <<<"$out"
                rc=1
        fi
}

printf '{\n  "name": "x",\n  "disk" {}\n}\n' >images/x.json
refused "a syntax error has line and column" images/x.json \
        "images/x.json:3:10: object property name separator ':' expected"

printf '{ "name": "x", "packages": ["a", ] }' >images/x.json
refused "a comma too many is pointed at" images/x.json "images/x.json:1:32: comma before the closing ]"

printf '{ "name": "x", "name": "y" }' >images/x.json
refused "a key given twice" images/x.json 'images/x.json:1:16: key "name" is given twice'

printf '{ "name": "\xff" }' >images/x.json
refused "bytes that are not UTF-8" images/x.json "images/x.json:1:12: byte 0xff is not UTF-8"

printf '{ "name": \0 }' >images/x.json
refused "NUL bytes" images/x.json "images/x.json:1:11: NUL byte; is this a JSON file?"

head -c 200000 /dev/zero | tr '\0' '[' >images/x.json
refused "200000 levels of nesting" images/x.json "images/x.json:1:65: nested deeper than 64 levels"

: >images/x.json
refused "an empty file" images/x.json "images/x.json:1:1: the file is empty"

truncate -s 100M images/x.json
refused "a file of 100 MB" images/x.json "images/x.json: larger than the 1024 KiB such a file may have"
rm images/x.json

refused "a folder" images "images: is a folder, not a file"

recipe debian-13-gpu ''
refused "a missing recipe suggests its neighbour" images/debian-13-gqu.json \
        'images/debian-13-gqu.json: there is no such recipe; did you mean "debian-13-gpu"?'

recipe x ', "disk": { "szie": "8G" }'
refused "an unknown key suggests the nearest" images/x.json \
        'images/x.json:1: $.disk.szie: unknown key; did you mean "size"?'

recipe x ', "overlays": "nvidia"'
refused "a wrong type says what is wanted" images/x.json \
        'images/x.json:1: $.overlays: must be a list, not a string; write ["nvidia"]'

recipe x ', "disk": { "size": "8 gigs" }'
refused "a wrong size" "$work/images/x.json" \
        "$work/images/x.json:1: \$.disk.size: \"8 gigs\" is not a disk size (from 256M to 64T, as \"8G\" or \"20480M\"; binary units)"

recipe x ', "limits": { "time": "soon" }'
refused "a wrong time limit" images/x.json \
        'images/x.json:1: $.limits.time: "soon" is not a time (from 1s to 100h, as "30min" or "4h")'

recipe x ', "limits": { "memory": "1K" }'
refused "a wrong memory limit" images/x.json \
        'images/x.json:1: $.limits.memory: "1K" is not a size of memory (from 16M, as "512M" or "8G")'

overlay nvidia-driver ''
recipe x ', "overlays": ["nvidia-drvier"]'
status=$("$IMGBUILD" plan images/x.json --offline --cache "$work/cache" 2>&1 >/dev/null)
if [[ $status == *'images/x.json:1: $.overlays[0]: there is no overlay "nvidia-drvier" in overlays or '*'; did you mean "nvidia-driver"?' ]]; then
        echo "ok - a missing overlay suggests the nearest"
else
        echo "not ok - a missing overlay suggests the nearest"
        echo "# $status"
        rc=1
fi

echo '{ "name": "a", "extends": "b" }' >images/a.json
echo '{ "name": "b", "extends": "a" }' >images/b.json
refused "a circle of extends shows its way" images/a.json \
        'images/b.json:1: $.extends: recipes extend each other in a circle: images/a.json → images/b.json → images/a.json'

overlay a ', "requires": ["b"]'
overlay b ', "requires": ["c"]'
overlay c ', "requires": ["a"]'
recipe x ', "overlays": ["a"]'
refused "a circle of requires shows its way" images/x.json \
        'overlays/c/overlay.json:1: $.requires[0]: overlays require each other in a circle: a → b → c → a'

overlay open ', "conflicts": ["closed"]'
overlay closed ''
recipe x ', "overlays": ["closed", "open"]'
refused "a conflict names both sides" images/x.json \
        'overlays/open/overlay.json:1: $.conflicts[0]: "open" cannot be in one image with "closed"; leave one out'

overlay out ', "run": ["../closed/overlay.json"]'
recipe x ', "overlays": ["out"]'
refused "a path leading out of the overlay" images/x.json \
        'overlays/out/overlay.json:1: $.run[0]: "../closed/overlay.json" is not a path inside the overlay (relative, without "..")'

overlay out ', "run": ["passwd"]'
ln -s /etc/passwd overlays/out/passwd
refused "a link leading out of the overlay" images/x.json \
        'overlays/out/overlay.json:1: $.run[0]: "passwd" leads out of the overlay, to /etc/passwd'

overlay out ''
mkdir -p overlays/out/files/etc
ln -s ../../../secret overlays/out/files/etc/link
mkfifo overlays/out/files/fifo
recipe x ', "overlays": ["out"], "zebra": 1'
out=$(timeout 120 "$IMGBUILD" plan images/x.json --offline --cache "$work/cache" 2>&1 >/dev/null)
status=$?
if [[ $status -eq 3 && $(wc -l <<<"$out") -eq 3 && $out == *'$.zebra: unknown key'* &&
        $out == *'files/etc/link: the link leads out of the tree, to "../../../secret"'* &&
        $out == *'files/fifo: is a FIFO; only files, folders and links can be copied'* ]]; then
        echo "ok - all errors come in one go"
else
        echo "not ok - all errors come in one go"
        echo "# exit code $status"
        sed 's/^/#   /' <<<"$out"
        rc=1
fi

recipe x ', "extends": "base", "packages": ["-htop"]'
recipe base ', "packages": ["vim"]'
refused "taking away what is not there" images/x.json \
        'images/x.json:1: $.packages[0]: there is no "htop" to take away'

echo '{ "name": "x", "kind": "tree", "base": { "distro": "rocky", "release": "9" } }' >images/x.json
refused "a base of family el without repositories" images/x.json \
        "images/x.json:1: \$.base.repositories: missing: where rocky's packages come from, and whose key signs them"

overlay cfg ', "node": { "host": { "timezone": 5 } }'
recipe x ', "overlays": ["cfg"], "node": { "scratch": { "stripe_size": "65K" }, "mounst": [], "licence": { "server": "a" } }'
refused "node configuration is judged with the file it came from; an unknown section may be a step's" images/x.json \
        'overlays/cfg/overlay.json:1: $.node.host.timezone: must be a string, not int' \
        'images/x.json:1: $.node.mounst: unknown key; did you mean "mounts"?' \
        'images/x.json:1: $.node.scratch.stripe_size: must be a power of two'

echo '{ "name": "x", "extends": "nosuch" }' >images/x.json
refused "what cannot be extended is one error, not four" images/x.json \
        'images/x.json:1: $.extends: there is no recipe images/nosuch.json'

mkdir -p alone/images
echo '{ "name": "y", "base": { "distro": "debian", "release": "trixie" }, "kernel": { "package": "linux-image-amd64" }, "overlays": ["a", "b", "c"] }' >alone/images/y.json
out=$("$IMGBUILD" plan alone/images/y.json --offline --cache "$work/cache" 2>&1 >/dev/null)
status=$?
if [[ $status -eq 3 && $(wc -l <<<"$out") -eq 1 && $out == *'alone/images/y.json: there are no overlays in alone/overlays or '*'; --overlays=FOLDER says where they are' ]]; then
        echo "ok - where there are no overlays at all one message says what to do"
else
        echo "not ok - where there are no overlays at all one message says what to do"
        sed 's/^/#   /' <<<"$out"
        rc=1
fi

# node_file NAME STATUS FILES LINE…: what check --node says of the files, to a user without any right.
node_file() {
        local name=$1 wanted=$2 files=$3 out status
        shift 3
        out=$(cd "$work" && HOME=/nonexistent "$IMGBUILD" check --node $files 2>&1)
        status=$?
        [[ $status -eq $wanted && $out == "$(printf '%s\n' "$@")" ]] && { echo "ok - $name"; return; }
        echo "not ok - $name"
        echo "# exit code $status"; sed 's/^/#   /' <<<"$out"
        rc=1
}
echo '{ "host": { "timezone": "Etc/UTC" } }' >node.json
echo '{ "host": { "timezon": "Etc/UTC" } }' >wrong.json
echo '{ "firstboot": { "slurm": { "cluster": "a" } } }' >data.json
echo '{ "host": ' >torn.json
node_file "check --node passes a good configuration" 0 node.json 'node.json: no faults'
node_file "names key, file and what was meant" 3 wrong.json 'imgbuild: error: wrong.json:1: host.timezon: unknown key; did you mean "timezone"?'
echo '{ "host": { "timezone": "Europe/Berln" } }' >zone.json
node_file "a time zone that there is not" 3 zone.json \
        'imgbuild: error: zone.json:1: host.timezone: no time zone "Europe/Berln" in this machine'"'"'s tzdata; did you mean "Europe/Berlin"?'
echo '{ "host": { "timezone": "Europe" } }' >zone.json
node_file "a time zone that is a folder of them" 3 zone.json \
        'imgbuild: error: zone.json:1: host.timezone: no time zone "Europe" in this machine'"'"'s tzdata; did you mean "Europe/Amsterdam"?'
node_file "a syntax error has its line" 3 torn.json 'imgbuild: error: torn.json:2:1: the file ends in the middle of a value'
echo '{ "mounts": [{ "what": "head:/home", "where": "/home" }] }' >homes.json
echo '{ "mounts": [{ "what": "10.0.0.9@tcp:/fsx", "where": "/fsx", "type": "lustre" }] }' >fsx.json
node_file "a layer whose list has lost the home folders is warned about" 0 'homes.json fsx.json' \
        'imgbuild: warning: fsx.json: mounts: takes the place of the list of homes.json, without /home: lists are not put together; what is to stay is named in both' \
        'homes.json: no faults' 'fsx.json: no faults'
node_file "a file that is not there is said" 3 none.json 'imgbuild: error: none.json: cannot read it: No such file or directory'
node_file "user data in JSON counts by its key firstboot; later files are later layers" 3 'node.json data.json' \
        'imgbuild: error: data.json: slurm.cluster: unknown key; did you mean "cluster_name"?' \
        'imgbuild: error: data.json: slurm: "controllers" is missing: slurmctld, HOST or HOST:PORT, primary first.'

printf '%s\n' '#cloud-config' 'packages: [tmux]' 'firstboot: {scratch: {disks: 0o4}, host: {grow_root: "yes"}}' 'write_files:' '- path: /etc/motd' '  content: hello' \
        '- path: /etc/firstboot/conf.d/50-site.json' '  content: |' '    { "scratch": { "lable": "x" } }' >user.yaml
node_file "user data in YAML: the key firstboot and files of conf.d" 3 user.yaml \
        'imgbuild: error: user.yaml: scratch.disks: must be a whole number, not string' \
        'imgbuild: error: user.yaml: write_files[1] (/etc/firstboot/conf.d/50-site.json): scratch.lable: unknown key; did you mean "label"?' \
        'imgbuild: error: user.yaml: host.grow_root: must be true or false, not string'
printf '%s\n' '#cloud-config' 'firstboot: {scratch: {disks: 04}, host: {grow_root: yes}}' 'write_files:' \
        '- {path: /etc/firstboot/conf.d/50-site.json, encoding: b64, content: eyAic2NyYXRjaCI6IHsgImRpc2tzIjogNCB9IH0=}' >user.yaml
node_file "types are YAML's, and base64 is read" 0 user.yaml 'user.yaml: no faults'
printf '%s\n' '#cloud-config' 'firstboot:' '  host: {timezone: Etc/UTC' >user.yaml
node_file "a fault of YAML has its line" 3 user.yaml "imgbuild: error: user.yaml:4:1: did not find expected ',' or '}'"
printf '%s\n' 'firstboot: {}' >user.yaml
node_file "user data that cloud-init would ignore" 3 user.yaml \
        'imgbuild: error: user.yaml: its first line must be #cloud-config, or cloud-init does nothing with it'
printf '%s\n' '#cloud-config' 'packages: [tmux]' >user.yaml
node_file "user data without node configuration" 3 user.yaml \
        'imgbuild: error: user.yaml: has no node configuration: neither the key firstboot nor write_files below /etc/firstboot/conf.d'
printf '%s\n' '#!/bin/sh' >user.sh
node_file "a script" 3 user.sh 'imgbuild: error: user.sh: is a script: node configuration is in cloud-config, whose first line is #cloud-config'
node_file "a recipe is no node configuration" 3 alone/images/y.json \
        "imgbuild: error: alone/images/y.json: is a recipe, not node configuration: 'imgbuild plan' checks it"
printf '%s\n' '{ "version": 1, "recipe": "y", "stages": [] }' >y.lock
node_file "nor is a lock" 3 y.lock "imgbuild: error: y.lock: is a lock, not node configuration: 'imgbuild plan' checks it with its recipe"

# A failed plan leaves no lock file behind.
if compgen -G 'images/*.lock.json' >/dev/null; then
        echo "not ok - no lock file is left"
        rc=1
else
        echo "ok - no lock file is left"
fi
exit $rc
