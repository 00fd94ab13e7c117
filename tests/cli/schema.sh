#!/bin/bash
# imgbuild schema: JSON Schema of recipes, overlays and node configuration. A validator that is not ours (python3-jsonschema)
# accepts every shipped file, and refuses what the programs refuse.
set -u
cd "$TOP" || exit 1
rc=0
check() { if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; rc=1; fi; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for kind in recipe overlay cluster node progress; do
        "$IMGBUILD" schema $kind >"$work/$kind.json"
        check "schema $kind" $?
done
"$IMGBUILD" schema >"$work/out" 2>&1
[[ $? -eq 2 ]] && grep -q 'recipe, overlay, cluster, node or progress' "$work/out"
check "without a kind: exit code 2, and which there are" $?
"$IMGBUILD" schema kitchen >"$work/out" 2>&1
[[ $? -eq 2 ]] && grep -q kitchen "$work/out"
check "an unknown kind: exit code 2" $?
"$IMGBUILD" schema recipe --section x >"$work/out" 2>&1
[[ $? -eq 2 ]]
check "--section is for node alone" $?
"$IMGBUILD" schema recipe >/dev/full 2>"$work/out"
[[ $? -eq 1 ]] && grep -q 'Not all of the output could be written' "$work/out"
check "a full disk is said, exit code 1" $?

if ! python3 -c 'import jsonschema; jsonschema.Draft202012Validator' 2>/dev/null; then
        echo "skip - what an independent validator says: python3-jsonschema is missing"
        exit $rc
fi

# validate KIND FILE…: exit code 0 where all are valid, else 1 and why. One validator serves the whole script: to start one takes longer
# than all it is asked.
cat >"$work/validate" <<'PY'
import json, re, sys
import jsonschema
validators = {}
def validator(path):
    if path not in validators:
        schema = json.load(open(path))
        jsonschema.Draft202012Validator.check_schema(schema)
        validators[path] = jsonschema.Draft202012Validator(schema)
    return validators[path]
for line in sys.stdin:
    schema, *names = line.rstrip("\n").split("\t")
    bad = 0
    for name in names:
        text = open(name).read()
        # Comments out, strings as they are.
        text = re.sub(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', lambda m: m.group(1) or " ", text, flags=re.S)
        for e in validator(schema).iter_errors(json.loads(text)):
            bad = 1
            print(f"# {name}: {'.'.join(map(str, e.absolute_path))}: {e.message[:200]}")
    print(f"= {bad}", flush=True)
PY
coproc VALIDATOR { exec python3 "$work/validate"; }
exec {ask}>&"${VALIDATOR[1]}" {told}<&"${VALIDATOR[0]}"
validate() {
        local line
        (IFS=$'\t'; printf '%s\n' "$work/$1.json	${*:2}") >&"$ask" || return 2
        while read -r line <&"$told"; do
                [[ $line == "= "* ]] && return "${line#= }"
                echo "$line"
        done
        return 2 # the validator died
}

recipes=()
for f in images/*.json; do [[ $f == *.lock.json ]] || recipes+=("$f"); done
validate recipe "${recipes[@]}"
check "all ${#recipes[@]} shipped recipes are valid" $?
mapfile -t overlays < <(ls overlays/*/overlay.json)
validate overlay "${overlays[@]}"
check "all ${#overlays[@]} shipped overlays are valid" $?

validate cluster images/clusters/*.json
check "all shipped clusters are valid" $?

# What recipes and overlays bake into the node, section by section.
python3 - "$work" "${recipes[@]}" "${overlays[@]}" <<'PY'
import json, re, sys
n = 0
for name in sys.argv[2:]:
    text = re.sub(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', lambda m: m.group(1) or " ", open(name).read(), flags=re.S)
    node = json.loads(text).get("node")
    if node is not None:
        json.dump(node, open(f"{sys.argv[1]}/shipped-node-{n}", "w"))
        n += 1
sys.exit(n == 0)
PY
check "some ship node configuration" $?
validate node "$work"/shipped-node-*
check "which is valid" $?

# Node configurations that docs and tests take for good.
cat >"$work/good-node" <<E
{
        "host": { "hostname": "gpu-01", "timezone": "Etc/UTC", "firewall": "off", "sysctl": { "vm.swappiness": 1 },
                  "limits": [ { "item": "memlock", "value": "unlimited" } ] },
        "scratch": { "stripe_size": 65536, "disks": 4 },
        "mounts": [ { "what": "10.0.2.2:/home", "where": "/mnt/home", "timeout": "500ms" } ],
        "identity": { "uri": ["ldaps://head"], "base": "dc=x", "probe_user": "alice" },
        "slurm": { "controllers": ["head:6817"], "clock_skew_max": 30 },
        "kubernetes": { "endpoint": "api.example.org:6443", "ca_hashes": ["sha256:$(printf '%064d' 7)"],
                        "labels": { "example.org/rack": "r1" }, "kubelet_args": { "node-ip": "10.0.0.5" } },
        "steps": { "rdma": { "enabled": false, "timeout": "5min" }, "licence": { "retries": 3 } }
}
E
validate node "$work/good-node"
check "a good node configuration is valid" $?
"$IMGBUILD" schema node --section licence >"$work/with-section.json"
echo '{ "licence": { "server": "a", "tries": [1, 2] } }' >"$work/site"
validate with-section "$work/site" && ! validate node "$work/site" >/dev/null
check "a site's own step has its section where it is named" $?

# Twenty wrong files, and a few more: refused by the schema and by the program that reads them.
mkdir -p "$work/images" "$work/overlays/x" "$work/node/etc/firstboot/conf.d" "$work/node/usr/lib/firstboot/steps.d"
refused=0
both() { # NAME SCHEMA-RC PROGRAM-RC WANTED
        [[ $2 -eq 1 && $3 -eq $4 ]]
        check "both refuse $1" $?
        refused=$((refused + 1))
}
wrong_recipe() { # NAME MEMBERS
        echo "{ \"name\": \"r\", \"base\": { \"distro\": \"debian\", \"release\": \"trixie\" }, \"kernel\": { \"package\": \"linux-image-amd64\" }, $2 }" |
                python3 -c 'import json,sys; json.dump(json.loads(sys.stdin.read()), sys.stdout)' >"$work/images/r.json"
        validate recipe "$work/images/r.json" >"$work/said"
        local schema=$?
        timeout 120 "$IMGBUILD" plan "$work/images/r.json" --offline --cache "$work/cache" --overlays "$work/overlays" >/dev/null 2>&1
        both "$1" $schema $? 3
}
wrong_overlay() { # NAME MEMBERS
        echo "{ \"description\": \"x\", $2 }" >"$work/overlays/x/overlay.json"
        echo '{ "name": "r", "base": { "distro": "debian", "release": "trixie" }, "kernel": { "package": "linux-image-amd64" }, "overlays": ["x"] }' >"$work/images/r.json"
        validate overlay "$work/overlays/x/overlay.json" >"$work/said"
        local schema=$?
        timeout 120 "$IMGBUILD" plan "$work/images/r.json" --offline --cache "$work/cache" --overlays "$work/overlays" >/dev/null 2>&1
        both "$1" $schema $? 3
}
wrong_node() { # NAME CONFIGURATION
        echo "$2" >"$work/node/etc/firstboot/node.json"
        validate node "$work/node/etc/firstboot/node.json" >"$work/said"
        local schema=$?
        FIRSTBOOT_ROOT=$work/node timeout 120 "$BUILD/firstboot/firstboot-helper" check >/dev/null 2>&1
        both "$1" $schema $? 1
}
echo '{}' >"$work/node/etc/firstboot/node.json"
FIRSTBOOT_ROOT=$work/node timeout 120 "$BUILD/firstboot/firstboot-helper" check >"$work/said" 2>&1
check "firstboot-helper check passes what is right" $?

wrong_recipe "an unknown key" '"colour": "red"'
wrong_recipe "a string for a list" '"packages": "tmux"'
wrong_recipe "a number for a string" '"name": 7'
wrong_recipe "a package with a slash" '"packages": ["tmux/trixie"]'
wrong_recipe "the same package twice" '"packages": ["tmux", "tmux"]'
wrong_recipe "a file system that is none of ours" '"disk": { "filesystem": "zfs" }'
wrong_recipe "a size without unit" '"disk": { "size": "8" }'
wrong_recipe "a kernel command line that the boot loader would run" '"kernel": { "package": "linux-image-amd64", "cmdline": "a; b" }'
wrong_recipe "a distribution nobody knows" '"base": { "distro": "debain", "release": "trixie" }'
wrong_recipe "an absolute path to extend" '"extends": "/x"'
wrong_overlay "a unit without its type" '"services": { "enable": ["ssh"] }'
wrong_overlay "a path that leaves the overlay" '"run": ["../x.sh"]'
wrong_overlay "a repository without a key" '"repositories": { "debian": [ { "name": "v", "uri": "https://x.example/", "suite": "./" } ] }'
wrong_overlay "an artifact without a version" '"artifacts": [ { "name": "a", "url": "https://x.example/a", "install": "package" } ]'
wrong_overlay "another word than package" '"artifacts": [ { "name": "a", "version": "1", "url": "https://x.example/a", "install": "packet" } ]'
wrong_overlay "a mode that is no octal number" '"modes": { "etc/x": "0689" }'
wrong_overlay "a script that is a number" '"run": [ { "script": 1 } ]'
wrong_overlay "a checksum that is too short" '"artifacts": [ { "name": "a", "version": "1", "url": "https://x.example/a", "sha256": "abc", "install": "package" } ]'
wrong_node "an unknown section" '{ "scrach": {} }'
wrong_node "an unknown key of a section" '{ "scratch": { "lable": "x" } }'
wrong_node "a mount without a place" '{ "mounts": [ { "what": "a:/b" } ] }'
wrong_node "a mount point that is relative" '{ "mounts": [ { "what": "a:/b", "where": "mnt" } ] }'
wrong_node "a word that is no choice" '{ "host": { "firewall": "maybe" } }'
wrong_node "a time with an unknown unit" '{ "slurm": { "controllers": ["h"], "give_up": "5 minutes" } }'
wrong_node "a number out of range" '{ "gpu": { "bandwidth_percent": 101 } }'
wrong_node "a label that XFS cannot keep" '{ "scratch": { "label": "local-scratch-disk" } }'
wrong_node "a step's setting of the wrong type" '{ "steps": { "gpu": { "enabled": "no" } } }'
wrong_node "a controller with a port beyond 65535" '{ "slurm": { "controllers": ["h:123456"] } }'
wrong_node "a pin that is too short" '{ "kubernetes": { "ca_hashes": ["sha256:abc"] } }'
[[ $refused -ge 20 ]]
check "that were at least twenty" $?
exit $rc
