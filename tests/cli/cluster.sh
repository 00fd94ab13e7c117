#!/bin/bash
# imgbuild cluster: what is wrong with a file is said before anything is built or started.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
rc=0
check() { if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; cat out 2>/dev/null; rc=1; fi; }

# refuse NAME CODE TEXT [ARGUMENT…]: c.json's exit code and message.
refuse() {
        local name=$1 code=$2 text=$3 status
        shift 3
        timeout 180 "$IMGBUILD" cluster --cache "$work/cache" c.json "$@" >out 2>&1 </dev/null
        status=$?
        [[ $status -eq $code ]] && grep -qF -e "$text" out && [[ ! -e $work/cache/layers ]]
        check "$name" $?
}
# file NETWORK MACHINES
file() { echo "{ \"name\": \"c\", \"network\": \"$1\", \"machines\": [ $2 ] }" >c.json; }

truncate -s 4M disk.raw && mke2fs -q disk.raw
[[ -s disk.raw ]] || { echo "skip - cluster: mke2fs is missing"; exit 77; }
mkdir -p out-folder/x
cp disk.raw out-folder/x/x.qcow2

refuse "no such file" 3 "there is no such file"
echo '{ "name": "c" ' >c.json
refuse "bad JSON" 3 "c.json:"
echo '{ "name": "c", "netwrk": "10.1.0.0/24" }' >c.json
refuse "all that is missing or unknown is said: a key" 3 "network"
grep -q machines out
check "… and the other one" $?
file 10.1.0.0/24 ''
refuse "no machine" 3 "a machine at least"
file 10.1.0.0/24 '{ "name": "A_b", "image": "./disk.raw" }'
refuse "a name that is none" 3 "is not a host name"
file 10.1.0.0/24 '{ "name": "a", "image": "./disk.raw", "colour": "red" }'
refuse "an unknown key" 3 "machines[0].colour: unknown key"
file 10.1.0.0/24 '{ "name": "n", "count": 65, "image": "./disk.raw" }'
refuse "too many" 3 "from 0 to 64"
file 10.1.0.0/24 '{ "name": "n", "count": 0, "image": "./disk.raw" }'
refuse "none of them" 3 "leave it out"
file 10.1.0.0/24 '{ "name": "n", "count": 40, "image": "./disk.raw" }, { "name": "m", "count": 40, "image": "./disk.raw" }'
refuse "too many in all" 3 "more than 64 machines"
file 10.1.0.0/24 '{ "name": "n", "count": 2, "image": "./disk.raw" }, { "name": "n2", "image": "./disk.raw" }'
refuse "two of one name" 3 'two machines are called "n2"'
file 10.1.0.0/24 '{ "name": "a", "image": "x" }'
refuse "an image that is not baked" 3 "'imgbuild build images/x.json' bakes it"
file 10.1.0.0/24 '{ "name": "a", "image": "./nowhere.raw" }'
refuse "an image that is not there" 3 "There is no image"
cp c.json text.img
file 10.1.0.0/24 '{ "name": "a", "image": "./text.img" }'
refuse "an image that is none" 3 "is not a disk image"
for network in 10.1.0.1/24 10.1.0.0 10.1.0/24 10.1.0.0/31 fe80::/64; do
        file "$network" '{ "name": "a", "image": "./disk.raw" }'
        refuse "no network: $network" 3 "is no network"
done
file 10.1.0.0/30 '{ "name": "n", "count": 3, "image": "./disk.raw" }'
refuse "a network that is too small" 3 "no room for 3 machines"
file 10.1.0.0/24 '{ "name": "a", "image": "./disk.raw", "memory": "12" }'
refuse "bad memory" 3 'Machine a: "memory": "12": at least 64M'
file 10.1.0.0/24 '{ "name": "a", "image": "./disk.raw", "nvme": ["17"] }'
refuse "bad disks" 3 "from 1 to 16"
file 10.1.0.0/24 '{ "name": "a", "image": "./disk.raw", "links": ["cluster"] }'
refuse "the cluster's own link again" 3 "one card on each link"
file 10.1.0.0/24 '{ "name": "a", "image": "./disk.raw", "user_data": "nothing.yaml" }'
refuse "missing user data" 3 "nothing.yaml"
file 10.1.0.0/24 '{ "name": "a", "image": "./disk.raw", "until": "(" }'
refuse "bad until" 3 "--until=("
file 10.1.0.0/24 '{ "name": "a", "image": "x" }'
refuse "bad --timeout" 2 "a number from 1" --timeout 0
refuse "bad --accel" 2 "auto, kvm, tcg" --accel hvf
refuse "two files" 2 "one cluster file" d.json

"$IMGBUILD" cluster --cache "$work/cache" --offline --output out-folder c.json >out 2>&1
[[ $? -eq 4 ]] && grep -q 'is not in the store' out
check "a sound file goes as far as the tools" $?

"$IMGBUILD" cluster --help >out 2>&1 && grep -q -e --state out
check "help" $?
exit $rc
