#!/bin/bash
# Mistakes of a first Monday, made on purpose: each has its exit code, and one message that says what to do next.
set -u
source "$TOP/tests/fixtures/archive.bash"
source "$TOP/tests/fixtures/mistake.bash"
publish_base
ctl=$TOP/$BUILD/firstboot/firstbootctl
cd "$T" || exit 1
export FIRSTBOOT_ROOT=$T/node DBUS_SYSTEM_BUS_ADDRESS=unix:path=$T/no-bus
mkdir -p "$FIRSTBOOT_ROOT/etc/firstboot/conf.d"

imgbuild() { mistake "$1" "$2" "$3" "$IMGBUILD" "${@:4}" --cache "$T/cache"; }
node() { mistake "$1" "$2" "$3" "$ctl" "${@:4}"; }

recipe good '"overlays": ["own"]'
overlay own '{ "description": "x", "run": ["setup.sh"] }'
printf '#!/bin/sh\n' >overlays/own/setup.sh
mistake "a misspelt verb" 2 "There is no verb 'biuld'; did you mean \"build\"\?" "$IMGBUILD" biuld images/good.json
mistake "a misspelt option" 2 'There is no option --chache; did you mean --cache\?' "$IMGBUILD" plan images/good.json --chache="$T/cache"
mistake "an option without its value" 2 '--cache wants a value' "$IMGBUILD" plan images/good.json --cache
imgbuild "a script that is not executable" 3 'overlays/own/overlay.json:[0-9]+: \$.run\[0\]: "setup.sh" is not executable; chmod \+x it' plan images/good.json
chmod +x overlays/own/setup.sh
recipe other '"overlays": ["owm"]'
imgbuild "a misspelt overlay" 3 'images/other.json:4: \$.overlays\[0\]: there is no overlay "owm" .*did you mean "own"\?' plan images/other.json
recipe other '"packages": ["exra"]'
imgbuild "a misspelt package" 3 'exra: did you mean "extra"\?' lock images/other.json --mirror "$URL/debian"
overlay dead '{ "description": "x", "artifacts": [ { "name": "thing", "version": "1", "url": "http://127.0.0.1:1/x",
        "sha256": "0000000000000000000000000000000000000000000000000000000000000000", "install": { "path": "/opt/x" } } ] }'
recipe other '"overlays": ["dead"]'
imgbuild "an artifact's server that is not there" 4 'artifact thing 1 .*correct its url in .*overlays/dead/overlay.json' lock images/other.json
sed -i "s|http://127.0.0.1:1/x|$URL/gone|" overlays/dead/overlay.json
imgbuild "an artifact that is gone" 4 'is not at .*404.*Correct its URL \(and version\) in .*overlays/dead/overlay.json' lock images/other.json
imgbuild "offline, before there is a lock" 4 "with --offline nothing is looked up: run 'imgbuild lock .*images/good.json' once without it" plan images/good.json --offline
imgbuild "a name that the lock has not" 3 '--update nosuch: neither a package nor an artifact' lock images/good.json --update nosuch --mirror "$URL/debian"
imgbuild "a manifest beside an image" 2 'is a manifest and .* is not: compare two manifests, or two images' diff images/good.json out
imgbuild "a recipe in the place of an image" 3 'is not a disk image: no qcow2' boot images/good.json
imgbuild "a format that is none" 2 '--format=vhdx: one of qcow2, raw, vhd, vmdk, ova, raw.zst, gce, oci, artifact' export --format=vhdx out
imgbuild "pruning without a limit" 2 'takes --max-age, --max-size or both' cache prune
echo '{ "scratch": { "disks": "four", "lable": "x" } }' >node.json
mistake "a node configuration with a misspelt key" 3 'node.json:[0-9]+: scratch.lable: .*did you mean "label"' "$IMGBUILD" check --node node.json

# One kind of file in the place of another is told as that, not key by key.
imgbuild "an overlay in the place of a recipe" 3 'overlay.json: is an overlay, not a recipe: ' plan overlays/own/overlay.json
echo '{ "name": "both", "network": "10.77.0.0/24", "machines": [] }' >both.json
imgbuild "a cluster in the place of a recipe" 3 'both.json: is a cluster, not a recipe: .imgbuild cluster. takes it' plan both.json
mistake "a recipe in the place of a cluster" 3 'good.json: is a recipe, not a cluster: .imgbuild plan. checks it' "$IMGBUILD" cluster images/good.json
imgbuild "an image that nobody has baked" 3 "There is no image lost/x.qcow2; 'imgbuild build RECIPE' bakes one" boot lost/x.qcow2
imgbuild "options before the verb" 2 "The verb comes first, then options: 'imgbuild VERB -v'" -v plan images/good.json
mistake "a quote in the store's path" 3 'apt cannot work in .*; choose another store with --cache$' "$IMGBUILD" lock images/good.json --mirror "$URL/debian" --cache "$T/a\"b"

node "a misspelt verb of firstbootctl" 64 'There is no verb "staus"; did you mean "status"\?' staus
node "a misspelt option of firstbootctl" 64 'There is no option --josn; did you mean --json\?' status --josn
node "a misspelt reason code" 1 'did you mean "scratch.foreign-signature"\?' explain scratch.foriegn-signature
node "no step to run again" 64 "'firstbootctl rerun' takes STEP\|config" rerun
node "a step to run again without firstbootd" 1 'firstbootd does not answer: .*systemctl status firstbootd' rerun scratch
node "a value of the wrong type" 1 'scratch.disks: must be .*' config set scratch.disks four
[[ -z $failed ]]
