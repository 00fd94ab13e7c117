#!/bin/bash
# The shelf of overlays: what each folder must be so that a stranger can rely on it.
set -u
cd "$TOP"
rc=0
check() { if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; rc=1; fi; }

bad=0
while read -r script; do
        [[ -x $script ]] || { echo "# $script is not executable"; bad=1; }
        head -n 1 "$script" | grep -qE '^#!/bin/(ba)?sh$' || { echo "# $script: no #!/bin/sh or #!/bin/bash"; bad=1; }
        bash -n "$script" || { echo "# $script: syntax"; bad=1; }
        grep -q '^set -eu' "$script" || { echo "# $script does not stop at the first error"; bad=1; }
        grep -q "\"$(basename "$script")\"" "$(dirname "$script")/overlay.json" || { echo "# $script is not named in overlay.json"; bad=1; }
done < <(find overlays -maxdepth 2 -name '*.sh')
check "every script is executable, stops at errors, and is used" $bad

bad=0
while read -r file; do
        echo "# $file: git cannot carry this"
        bad=1
done < <(find overlays -path '*/files/*' \( -type p -o -type s -o -type b -o -type c -o -perm /7000 \))
check "files/ holds only files, folders and links" $bad

bad=0
while read -r unit; do
        while IFS= read -r line; do
                [[ -z $line || $line == '#'* || $line == ';'* || $line =~ ^\[[A-Z][A-Za-z]+\]$ || $line =~ ^[A-Z][A-Za-z]+= ]] ||
                        { echo "# $unit: $line"; bad=1; }
        done <"$unit"
done < <(find overlays -path '*/systemd/*' -type f)
check "units and drop-ins are made of sections and Key=Value lines" $bad

grep -q '"fingerprint": "C95B 321B 61E8 8C18 09C4 F759 DDCA E044 F796 ECB0"' overlays/container-toolkit/overlay.json
check "the container toolkit's key is pinned by its whole fingerprint" $?
# An overlay is read by itself, so the three say it three times; what one learns, all have to learn.
ending() { sed -n '/^# Debug information/,/^debug=/p; /^# "updates" goes before/,$p' "overlays/$1/compile.sh" | grep -v '^# versions from it'; }
diff <(ending nvidia-driver) <(ending nvidia-driver-open) && diff <(ending nvidia-driver) <(ending nvidia-driver-vendor) &&
        [[ $(ending nvidia-driver | wc -l) -gt 12 ]]
check "the three NVIDIA drivers' modules are stripped, placed and compressed alike" $?
! grep -rq '"sha256"' overlays/enroot/overlay.json
check "Enroot's digests come from the lock" $?
diff <(grep -h '"version"' overlays/enroot/overlay.json | sort -u | tr -d ' ') <(grep -h '"version"' overlays/enroot-source/overlay.json | tr -d ' ')
check "Enroot is one version, as a package and from its source" $?
! find overlays -name '*.key' -o -name 'id_*' | grep -q .
check "no overlay carries a key" $?

bad=0
for folder in overlays/*/; do
        name=$(basename "$folder")
        description=$(sed -n 's/^ *"description": "\(.*\)",\{0,1\}$/\1/p' "$folder/overlay.json")
        grep -qF "| \`$name\` | $description |" overlays/README.md || { echo "# overlays/README.md: $name"; bad=1; }
done
check "overlays/README.md has every overlay with its description" $bad

# Each overlay serves both families, or is in the README's list of those that serve one.
families=$(mktemp -d)
family_recipe() { # FAMILY OVERLAY
        local base='{ "distro": "debian", "release": "trixie" }' kernel=linux-image-amd64
        [[ $1 == debian ]] || base='{ "distro": "rocky", "release": "9", "packages": ["rpm", "dracut"], "repositories": { "os": {
                "uri": "https://os.example/", "key": "https://os.example/key", "fingerprint": "0123456789ABCDEF0123456789ABCDEF01234567" } } }' kernel=kernel
        printf '{ "name": "one", "base": %s, "kernel": { "package": "%s" }, "overlays": ["%s"] }\n' "$base" "$kernel" "$2" >"$families/one.json"
}
bad=0
for folder in overlays/*/; do
        name=$(basename "$folder")
        row=$(sed -n "s/^| \`$name\` | \(debian\|el\) | ..*|$/\1/p" <(sed -n '/^## One family only/,$p' overlays/README.md))
        for family in debian el; do
                family_recipe $family "$name"
                out=$("$IMGBUILD" plan "$families/one.json" --overlays overlays --offline --cache "$families/cache" 2>&1)
                if [[ $(wc -l <<<"$out") -eq 1 && $out == *"imgbuild lock"* ]]; then
                        [[ ${row:-$family} == "$family" ]] || { echo "# $name serves $family, too: take it out of overlays/README.md, One family only"; bad=1; }
                else
                        [[ ${row:-$family} != "$family" ]] || { echo "# $name does not serve $family, and overlays/README.md, One family only, does not say so: $(head -n 1 <<<"$out")"; bad=1; }
                fi
        done
done
rm -rf "$families"
check "every overlay serves both families, or README says which one, and why" $bad
bad=0
while read -r name; do
        [[ -d overlays/$name ]] || { echo "# overlays/README.md, One family only: $name is no overlay"; bad=1; }
done < <(sed -n '/^## One family only/,$s/^| `\([^`]*\)`.*/\1/p' overlays/README.md)
check "… and names none that is not there" $bad
# What serves both calls no program of one of them without asking.
bad=0
while read -r file; do
        [[ $(sed -n '/^## One family only/,$p' overlays/README.md) == *"| \`$(cut -d/ -f2 <<<"$file")\` |"* ]] || grep -qE '\b(rpm|lsinitrd)\b' "$file" ||
                grep -qE 'command -v (dpkg-query|dpkg)' "$file" || { echo "# $file calls what Enterprise Linux has not"; bad=1; }
done < <(grep -lE '^[^#]*\b(dpkg|dpkg-query|apt-get|lsinitramfs|update-initramfs)\b' overlays/*/*.sh)
check "no script of an overlay for both calls dpkg or initramfs-tools alone" $bad

# Whether a recipe's overlays fit one another, before any of them is fetched.
for recipe in aws-hpc ml-cluster ml-cluster-head ubuntu-24.04-gpu; do
        out=$("$IMGBUILD" plan "images/$recipe.json" --offline --cache "$BUILD/tests/overlays-sh/cache" 2>&1)
        [[ $(wc -l <<<"$out") -eq 1 && $out == *"imgbuild lock"* ]]
        check "$recipe asks for nothing but a lock" $?
done
# The same of those on a vendor's image of family el, which is not here: on a base of that family instead.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for recipe in rocky-9-slurm oracle-linux-9-slurm rocky-9-gpu oracle-linux-9-gpu oracle-linux-8-gpu rocky-9-head rocky-9-kubernetes rocky-9-kubernetes-gpu; do
        python3 - "images/$recipe.json" "$work" <<'P'
import json, re, sys
o = json.loads(re.sub(r"^\s*//.*$", "", open(sys.argv[1]).read(), flags=re.M))
if "extends" not in o:
    o["base"] = {"distro": "rocky", "release": "9", "packages": ["rpm", "dracut"], "repositories": o["base"]["repositories"]}
    o["kernel"]["package"] = "kernel"
json.dump(o, open(sys.argv[2] + "/" + o["name"] + ".json", "w"))
P
        out=$("$IMGBUILD" plan "$work/$recipe.json" --overlays overlays --offline --cache "$BUILD/tests/overlays-sh/cache" 2>&1)
        [[ $(wc -l <<<"$out") -eq 1 && $out == *"imgbuild lock"* ]]
        s=$?
        check "$recipe asks for nothing but a lock" $s
        [[ $s -eq 0 ]] || echo "# $out"
done

for recipe in kubernetes-rdma kubernetes-control; do
        out=$("$IMGBUILD" plan "images/$recipe.json" --offline --cache "$BUILD/tests/overlays-sh/cache" 2>&1)
        [[ $(wc -l <<<"$out") -eq 1 && $out == *"imgbuild lock"* ]]
        check "$recipe asks for nothing but a lock" $?
done
[[ $(grep -c '"fingerprint": "DE15 B144 86CD 377B 9E87 6E1A 2346 54DA 9A29 6436"' overlays/kubernetes-node/overlay.json) -eq 2 ]]
check "Kubernetes' key is pinned by its whole fingerprint" $?
[[ $(grep -oE 'v1\.[0-9]+/(deb|rpm)' overlays/kubernetes-node/overlay.json | wc -l) -eq 4 && $(grep -oE 'v1\.[0-9]+/' overlays/kubernetes-node/overlay.json | sort -u | wc -l) -eq 1 ]]
check "Kubernetes' repository and its key are of one minor version" $?
out=$("$IMGBUILD" plan images/containerd-instance.json --offline --cache "$BUILD/tests/overlays-sh/cache" 2>&1)
[[ $(wc -l <<<"$out") -eq 1 && $out == *"imgbuild lock"* ]]
check "containerd-instance asks for nothing but a lock" $?

# Python's frameworks on a tree of family el: one interpreter, which is among their packages.
for overlay in ml-ray ml-submitit ml-tensorflow ml-tensorflow-cpu ml-torch ml-torch-cpu; do
        printf '{ "name": "el", "kind": "tree", "overlays": ["%s"], "base": { "distro": "rocky", "release": "9", "packages": ["rpm"], "repositories": { "os": { "uri": "https://x.example/", "key": "https://x.example/key", "fingerprint": "%040d" } } } }\n' \
                "$overlay" 0 >"$work/el.json"
        out=$("$IMGBUILD" plan "$work/el.json" --overlays overlays --offline --cache "$BUILD/tests/overlays-sh/cache" 2>&1)
        [[ $(wc -l <<<"$out") -eq 1 && $out == *"imgbuild lock"* ]]
        s=$?
        check "$overlay asks for nothing but a lock in family el" $s
        [[ $s -eq 0 ]] || echo "# $out"
done
[[ $(grep -ohE '"el": "python3[0-9.]*"' overlays/*/overlay.json | sort -u) == '"el": "python3.12"' && $(grep -ohE '"el": \["python3[0-9.]*"' overlays/*/overlay.json | sort -u) == '"el": ["python3.12"' ]]
check "all environments of family el are of one Python" $?
docker_repository() { sed -n '/"name": "docker-ce"/,/fingerprint/p' "overlays/$1/overlay.json"; }
[[ $(docker_repository docker) == "$(docker_repository containerd)" && $(docker_repository docker) == *'"060A 61C5 1B55 8A7F 742B 77AA C52F EB6B 621E 9F35"'* ]]
check "Docker's repository is one for Docker and containerd, its key pinned by the whole fingerprint" $?
# One script labels what units in /etc/systemd/system start below /usr/lib.
python3 - <<'P'
import glob, json, os, re, sys
def load(name):
    return json.loads(re.sub(r"^\s*//.*$", "", open(f"overlays/{name}/overlay.json").read(), flags=re.M))
def needs(name):
    return {name}.union(*(needs(n) for n in load(name).get("requires", [])))
faults, found = [], 0
for path in glob.glob("overlays/*/files/**/systemd/system/**/*.[cst]*", recursive=True):
    if os.path.isdir(path): continue
    programs = [p for p in re.findall(r"^Exec\w*=[-+!@:]*(/usr/lib/[^/\s]+)/", open(path).read(), re.M) if p != "/usr/lib/systemd"]
    found += len(programs)
    if programs and ("/files/etc/systemd/" not in path or "service-labels" not in needs(path.split("/")[1])):
        faults.append(path)
for path in glob.glob("overlays/*/files/usr/share/service-labels/*"):
    # As file_contexts has it, with tabs; the name is the overlay's.
    name, lines = path.split("/")[1], open(path).read().splitlines()
    line = r"/[^\t ]*\t(-[-bcdpls]\t)?system_u:object_r:[a-z_]+_t:s0"
    if path.split("/")[-1] != name or "service-labels" not in needs(name) or not lines or not all(re.fullmatch(line, x) for x in lines):
        faults.append(path)
print(*(f"# {f}" for f in faults), sep="\n", end="\n" if faults else "")
sys.exit(bool(faults) or found < 10)
P
check "programs that systemd starts are labelled alike, and places that overlays name by lines that count" $?
folder=$(sed -n 's/^FOLDER=//p' overlays/rootless-common/files/etc/rootless.conf)
grep -q "^rootless_storage_path = \"${folder:?}/" overlays/podman/files/etc/containers/storage.conf
check "podman's images are in the folders that rootless-common makes" $?

# A container's task has its variables by a plugin: a task prolog would be started inside of the container, and fail.
for recipe in slurm-enroot slurm-enroot-head aws-hpc aws-hpc-head; do
        out=$("$IMGBUILD" plan "images/$recipe.json" --offline --json --cache "$BUILD/tests/overlays-sh/cache" 2>&1)
        ! grep -q 'conflict' <<<"$out"
        check "$recipe: no two of its overlays are against each other" $?
done
# Who adds a mount to a member of a cluster has lost its home folders.
mkdir -p "$BUILD/tests/overlays-sh/images"
printf '{ "name": "fsx", "base": { "distro": "debian", "release": "trixie" }, "kernel": { "package": "linux-image-amd64" }, "overlays": ["cluster-member"], "node": { "mounts": [%s] } }\n' \
        '{ "what": "10.0.0.9@tcp:/fsx", "where": "/fsx", "type": "lustre" }' >"$BUILD/tests/overlays-sh/images/fsx.json"
out=$("$IMGBUILD" plan "$BUILD/tests/overlays-sh/images/fsx.json" --overlays "$TOP/overlays" --offline --cache "$BUILD/tests/overlays-sh/cache" 2>&1)
[[ $out == *"warning: "*"fsx.json: mounts: takes the place of the list of "*"/cluster-member/overlay.json, without /home:"* ]]
check "a recipe whose list of mounts leaves out an overlay's is warned about" $?
! grep -rqE '^Task(Prolog|Epilog)=' overlays
check "no overlay has a task prolog" $?

# The driver's two kinds are one script but for the package they build.
diff <(sed 's/nvidia-kernel/nvidia-X-kernel/g' overlays/nvidia-driver/compile.sh) \
        <(sed 's/nvidia-open-kernel/nvidia-X-kernel/g' overlays/nvidia-driver-open/compile.sh) | sed 's/^/# /'
[[ ${PIPESTATUS[0]} -eq 0 ]]
check "proprietary and open modules are built alike" $?
diff <(sed -n '/^# "updates" goes/,$p' overlays/nvidia-driver-open/compile.sh) \
        <(sed -n '/^# "updates" goes/,$p' overlays/nvidia-driver-vendor/compile.sh) | sed 's/^/# /'
[[ ${PIPESTATUS[0]} -eq 0 ]]
check "… and installed alike, the vendor's too" $?

# The vendor's driver is one release, and stands beside no other.
vendor=overlays/nvidia-driver-vendor/overlay.json
[[ $(sed '/"name": "gdrcopy"/,/}/d' "$vendor" | grep -oE '=[0-9][0-9.]+-1"|"version": "[0-9.]+"' | grep -oE '[0-9]+\.[0-9.]+' | sort -u | wc -l) -eq 1 ]]
check "packages and source of the vendor's driver are one release" $?
mkdir -p "$BUILD/tests/overlays-sh/images"
for other in nvidia-driver nvidia-driver-open; do
        printf '{ "name": "two", "base": { "distro": "debian", "release": "trixie" }, "kernel": { "package": "linux-image-amd64" }, "overlays": ["nvidia-driver-vendor", "%s"] }\n' $other \
                >"$BUILD/tests/overlays-sh/images/two.json"
        out=$("$IMGBUILD" plan "$BUILD/tests/overlays-sh/images/two.json" --overlays "$TOP/overlays" --offline --cache "$BUILD/tests/overlays-sh/cache" 2>&1)
        [[ $? -ne 0 && $out == *nvidia-driver-vendor*conflict* || $out == *conflict*nvidia-driver-vendor* ]]
        check "the vendor's driver and $other refuse each other" $?
done
for overlay in cuda-runtime nccl container-toolkit; do
        printf '{ "name": "one", "base": { "distro": "debian", "release": "trixie" }, "kernel": { "package": "linux-image-amd64" }, "overlays": ["nvidia-driver-vendor", "%s"] }\n' $overlay \
                >"$BUILD/tests/overlays-sh/images/one.json"
        out=$("$IMGBUILD" plan "$BUILD/tests/overlays-sh/images/one.json" --overlays "$TOP/overlays" --offline --cache "$BUILD/tests/overlays-sh/cache" 2>&1)
        [[ $(wc -l <<<"$out") -eq 1 && $out == *"imgbuild lock"* ]]
        check "$overlay goes with the vendor's driver" $?
done
exit $rc
