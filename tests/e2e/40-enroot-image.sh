#!/bin/bash
# debian-13-gpu-enroot, the real recipe with the real overlays, from a local server: NVIDIA's signed repository and Enroot's
# release page, both with doubles of the packages (tests/fixtures/vendor). Only addresses and the key are other ones.
# Proves fetching, pinning, signature, digest, order and configuration; 30-gpu.sh boots the image.
#
# lane: compute
# after: e2e/11
# long: yes
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/containers.bash"
own_project

FIXTURES=$TOP/tests/fixtures
T=$(mktemp -d)
python3 "$FIXTURES/httpd" "$T/site" "$T/port" "$T/requests" &
server=$!
trap 'kill $server 2>/dev/null; rm -rf "$T"' EXIT
mkdir -p "$T/site/enroot/v4.1.2"
for _ in $(seq 2400); do [[ -e $T/port ]] && break; sleep 0.05; done
url=http://127.0.0.1:$(cat "$T/port")
export no_proxy=127.0.0.1 IMGBUILD_FETCH_BACKOFF_MS=20

# The vendor's side.
"$FIXTURES/vendor/describe" "$T/toolkit" libnvidia-container1 libnvidia-container-tools nvidia-container-toolkit-base \
        nvidia-container-toolkit
"$FIXTURES/make-apt-repo" --flat --origin=vendor --label=vendor --gnupg="$T/key" "$T/toolkit" "$T/site/toolkit" >/dev/null
cp "$T/key/key.asc" "$T/site/toolkit.asc"
"$FIXTURES/vendor/describe" "$T/release" enroot enroot+caps
"$FIXTURES/make-apt-repo" --flat --gnupg="$T/key" "$T/release" "$T/site/enroot/v4.1.2" >/dev/null

# The same overlays, other addresses.
redirect() { # FINGERPRINT
        python3 - "$PROJECT/overlays" "$TOP/overlays" "$url" "$1" <<'EOF'
import re, sys
to, of, url, fingerprint = sys.argv[1:]
text = open(of + "/container-toolkit/overlay.json").read()
text, n = re.subn(r'https://nvidia\.github\.io/libnvidia-container/stable/deb/amd64', url + "/toolkit", text)
text, k = re.subn(r'https://nvidia\.github\.io/libnvidia-container/gpgkey', url + "/toolkit.asc", text)
text, f = re.subn(r'C95B 321B 61E8 8C18 09C4 F759 DDCA E044 F796 ECB0(?=")', fingerprint, text)
assert (n, k, f) == (1, 1, 1), (n, k, f)
open(to + "/container-toolkit/overlay.json", "w").write(text)
text = open(of + "/enroot/overlay.json").read()
text, n = re.subn(r'https://github\.com/NVIDIA/enroot/releases/download', url + "/enroot", text)
assert n == 4, n  # two packages, for two families
open(to + "/enroot/overlay.json", "w").write(text)
EOF
}

recipe=$RECIPES/debian-13-gpu-enroot.json
lock=$RECIPES/debian-13-gpu-enroot.lock.json
imgbuild() { "$IMGBUILD" "$1" "$recipe" --cache "$CACHE" --progress plain "${@:2}" >"$T/out" 2>&1; }
says() { grep -qE -- "$1" "$T/out"; }
report() { # NAME STATUS
        check "$1" "$2"
        [[ $2 -eq 0 ]] || tail -n 15 "$T/out" | sed 's/^/# /'
}
rm -f "$lock"

redirect "0000 1111 2222 3333 4444 5555 6666 7777 8888 9999"
imgbuild lock
[[ $? -ne 0 && ! -e $lock ]] && says 00001111222233334444 && says "$(cat "$T/key/fingerprint")"
report "a key with another fingerprint is refused, both are named" $?

redirect "$(cat "$T/key/fingerprint")"
cp "$T/site/toolkit/InRelease" "$T/InRelease"
sed -i 's/^Origin: vendor/Origin: nobody/' "$T/site/toolkit/InRelease"
imgbuild lock
[[ $? -ne 0 && ! -e $lock ]]
report "an index whose signature is broken is refused" $?
cp "$T/InRelease" "$T/site/toolkit/InRelease"

imgbuild lock
report "the recipe is locked" $?
python3 - "$lock" "$url" "$T/site" <<'EOF' >>"$T/out" 2>&1
import hashlib, json, sys
lock, url, site = json.load(open(sys.argv[1])), sys.argv[2], sys.argv[3]
stages = [s for s in lock["stages"] if s["id"] in ("packages:containerd", "packages:container-toolkit")]
packages = {p["name"]: p for s in stages for p in s["packages"]}
for name in ("nvidia-container-toolkit", "nvidia-container-toolkit-base", "libnvidia-container1", "libnvidia-container-tools"):
    p = packages[name]
    assert p["version"] == "1.20.0-1", p
    assert p["origin"] == "nvidia-container-toolkit", p
    file = f"{site}/toolkit/{name}_1.20.0-1_amd64.deb"
    assert p["sha256"] == hashlib.sha256(open(file, "rb").read()).hexdigest(), p
assert packages["containerd"]["origin"].startswith("debian"), packages["containerd"]
artifacts = {a["name"]: a for a in lock["artifacts"]}
for name in ("enroot", "enroot+caps"):
    a = artifacts[name]
    assert a["url"] == f"{url}/enroot/v4.1.2/{name}_4.1.2-1_amd64.deb", a
    file = f"{site}/enroot/v4.1.2/{name}_4.1.2-1_amd64.deb"
    assert a["sha256"] == hashlib.sha256(open(file, "rb").read()).hexdigest(), a
EOF
report "the lock pins the vendor's packages and Enroot's release files by digest" $?

# debian-13-gpu (11-gpu-build.sh) has the same kernel and driver, on the same packages below them.
digest_of() { # RECIPE: of its driver's modules
        "$IMGBUILD" plan "$RECIPES/$1.json" --cache "$CACHE" --offline --json 2>>"$T/out" | python3 -c '
import json, sys
print(*[s["digest"] for s in json.load(sys.stdin)["stages"] if s["id"] == "compile:nvidia-driver/0"])'
}
epoch_of() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["epoch"])' "$RECIPES/$1.lock.json"; }
if [[ -e $RECIPES/debian-13-gpu.lock.json ]]; then
        # Every digest has the archive's date in it, and the archive may have been published anew since.
        if [[ $(epoch_of debian-13-gpu) != "$(epoch_of debian-13-gpu-enroot)" ]]; then
                rm "$RECIPES/debian-13-gpu.lock.json"
                "$IMGBUILD" lock "$RECIPES/debian-13-gpu.json" --cache "$CACHE" >>"$T/out" 2>&1
        fi
        of=$(digest_of debian-13-gpu)
        [[ ${#of} -eq 64 && $of == "$(digest_of debian-13-gpu-enroot)" ]]
        report "the driver compiled for the image that this one extends is taken" $?
fi

# A release file that somebody replaced after it was locked. The store has the right one from locking: not this one.
deb=$T/site/enroot/v4.1.2/enroot_4.1.2-1_amd64.deb
cp "$deb" "$T/enroot.deb"
digest=$(sha256sum "$deb" | cut -d' ' -f1)
find "$CACHE/blobs" -name "$digest" -delete
printf 'x' | dd of="$deb" bs=1 seek=200 conv=notrunc 2>/dev/null
imgbuild check
status=$?
[[ $status -eq 4 ]] && says "$digest"
report "a release file with another digest ends the build (exit code $status)" $?
cp "$T/enroot.deb" "$deb"

# What is proof-read of a disk is so in other scripts: this one is booted (30-gpu.sh).
imgbuild build --output "$OUT" --no-proof
report "the image is built, its tree passes every check" $?
v() { manifest debian-13-gpu-enroot "versions.$1"; }
[[ "$(v enroot) $(v container-toolkit) $(v driver)" == "4.1.2-1 1.20.0-1 550."* ]]
report "versions of Enroot, toolkit and driver are told" $?

inside() { "$IMGBUILD" shell "$recipe" --cache "$CACHE" --progress none -- "$@" 2>"$T/out"; }
[[ $(inside sh -c 'for k in RUNTIME CACHE DATA TEMP; do sed -n "s/^ENROOT_${k}_PATH *//p" /etc/enroot/enroot.conf; done' | grep -c '^[^ ]*\( [A-Z]* \)\?/mnt/localdisk/enroot/') -eq 4 ]]
report "enroot.conf is the overlay's, with four paths on the scratch volume, though the package brings one too" $?
inside sh -c 'test -x /etc/enroot/hooks.d/98-nvidia.sh && test -x /etc/enroot/hooks.d/99-mellanox.sh'
report "the GPU and InfiniBand hooks are switched on" $?
inside getcap /usr/bin/enroot-mksquashovlfs /usr/bin/enroot-aufs2ovlfs | grep -c 'cap_sys_admin' | grep -qx 2
report "enroot+caps ran after enroot: its capabilities survive the layers" $?
inside grep -q '^user.max_user_namespaces' /etc/sysctl.d/60-enroot.conf
report "user namespaces are allowed" $?
inside sh -c 'systemctl is-enabled containerd.service nvidia-cdi-refresh.service enroot-scratch.service' | grep -c '^enabled' | grep -qx 3
report "containerd, the CDI refresh and Enroot's folders are enabled" $?
inside env NVIDIA_CTK_CDI_OUTPUT_FILE_PATH=/run/cdi/nvidia.yaml sh -c 'nvidia-ctk cdi generate && grep -q "kind: nvidia.com/gpu" /run/cdi/nvidia.yaml'
report "the unit's call writes the CDI specification" $?
inside sh -c 'containerd --config /etc/containerd/config.toml config dump' >"$T/dump"
grep -q 'enable_cdi = true' "$T/dump" && grep -q 'BinaryName = "/usr/bin/nvidia-container-runtime"' "$T/dump"
report "containerd itself reads the configuration: CDI on, NVIDIA's runtime there" $?
inside sh -c 'grep -rl "'"$url"'/toolkit" /etc/apt/sources.list.d/' | grep -q nvidia-container-toolkit
report "the image keeps the repository, with its key" $?

# A published tutorial's node: the same and Slurm's part of it, with Enroot from its source.
if missing=$(have_source enroot-4.1.2.tar.gz && have_source pyxis-0.24.0.tar.gz); then
        recipe=$RECIPES/slurm-enroot.json
        from_sources "$PROJECT" enroot-source pyxis && imgbuild check
        report "slurm-enroot is built and passes every check" $?
        # Without its folders on scratch Enroot says that, and ends.
        inside sh -c 'for k in RUNTIME CACHE DATA TEMP; do export "ENROOT_${k}_PATH=/tmp/$k"; done
                enroot version; dpkg-query -W -f "\${Package}\n" enroot gcc libslurm-dev 2>/dev/null' >"$T/inside"
        [[ $(cat "$T/inside") == 4.* && $(wc -l <"$T/inside") -eq 1 ]]
        report "it has neither the vendor's package nor a compiler" $?
        inside sh -c 'for p in bridge host-local loopback; do test -x /usr/lib/cni/$p || exit 1; done; test -x /usr/bin/nvidia-container-cli'
        report "containerd has network plugins, Enroot's GPU hook has what it calls" $?
else
        echo "skip - slurm-enroot is built: $missing"
fi
no_leftovers
check "nothing of it is mounted or running" $?
exit $rc
