#!/bin/bash
# The overlays nvidia-driver-vendor, lustre-client and apptainer from a local server: doubles of NVIDIA's packages, of all sources
# (tests/fixtures/vendor), whose modules are compiled for the image's kernel, and of Apptainer's package. Only addresses and the key are other ones. What is
# locked and refused is in cli/vendor-driver; soak/vendor-driver and soak/lustre compile the real sources.
#
# lane: compute
# after: e2e/11
set -u
source "$TOP/tests/e2e/lib.bash"
own_project

FIXTURES=$TOP/tests/fixtures
T=$(mktemp -d)
mkdir -p "$T/site"
python3 "$FIXTURES/httpd" "$T/site" "$T/port" "$T/requests" &
server=$!
trap 'kill $server 2>/dev/null; rm -rf "$T"' EXIT
for _ in $(seq 2400); do [[ -e $T/port ]] && break; sleep 0.05; done
url=http://127.0.0.1:$(cat "$T/port")
export no_proxy=127.0.0.1 IMGBUILD_FETCH_BACKOFF_MS=20

overlay=$TOP/overlays/nvidia-driver-vendor
version=$(sed -n 's/.*"version": "\(.*\)",/\1/p' "$overlay/overlay.json" | head -n 1)
"$FIXTURES/vendor/driver" "$version" "$T/packages" "$T/site/$version.tar.gz" "$T/site/v2.6.tar.gz"
"$FIXTURES/make-apt-repo" --flat --origin=NVIDIA --gnupg="$T/key" "$T/packages" "$T/site/cuda" >/dev/null
cp "$T/key/key.asc" "$T/site/cuda.asc"
lustre=$(sed -n 's/.*"version": "\(.*\)",/\1/p' "$TOP/overlays/lustre-client/overlay.json")
"$FIXTURES/vendor/lustre" "$lustre" "$T/site/$lustre.tar.gz"
sed -i "s,https://github.com/lustre/[^\"]*/tags,$url," "$PROJECT/overlays/lustre-client/overlay.json"
"$FIXTURES/vendor/describe" "$T/apptainer" apptainer
"$FIXTURES/make-apt-repo" --flat --gnupg="$T/key" "$T/apptainer" "$T/site/v1.5.3" >/dev/null
sed -i "s,https://github.com/apptainer/[^\"]*/download,$url," "$PROJECT/overlays/apptainer/overlay.json"
python3 - "$overlay/overlay.json" "$PROJECT/overlays/nvidia-driver-vendor/overlay.json" "$url" "$(cat "$T/key/fingerprint")" <<'P'
import re, sys
of, to, url, fingerprint = sys.argv[1:]
text = open(of).read()
for pattern, instead in ((r'https://developer\.download\.nvidia\.com/[^"]*/8793F200\.pub', url + "/cuda.asc"),
                         (r'https://developer\.download\.nvidia\.com/compute/cuda/repos/debian13/x86_64', url + "/cuda"),
                         (r'https://github\.com/NVIDIA/open-gpu-kernel-modules/archive/refs/tags', url),
                         (r'https://github\.com/NVIDIA/gdrcopy/archive/refs/tags', url),
                         (r'0218 2E60 104F CDC2 6EAE  1B85 97A5 D4CB 8793 F200(?=")', fingerprint)):
    text, n = re.subn(pattern, instead, text)
    assert n == 1, (pattern, n)
open(to, "w").write(text)
P
check "nvidia-driver-vendor names one repository, its key by the whole fingerprint, and two sources" $?

# The kernel of debian-13-cpu with these and nothing else.
python3 - "$RECIPES/debian-13-cpu.json" >"$RECIPES/vendor.json" <<'P'
import json, re, sys
cpu = json.loads(re.sub(r'^\s*//.*$', "", open(sys.argv[1]).read(), flags=re.M))
json.dump({"name": "vendor", "base": cpu["base"], "kernel": cpu["kernel"], "overlays": ["nvidia-driver-vendor", "lustre-client", "apptainer"]}, sys.stdout)
P
recipe=$RECIPES/vendor.json
"$IMGBUILD" check "$recipe" --cache "$CACHE" --progress plain >"$T/out" 2>&1
s=$?
check "driver, fabric manager, IMEX, NCCL, DCGM and Apptainer are installed, all modules compiled, every check passes" $s
[[ $s -eq 0 ]] || { tail -n 30 "$T/out"; exit 1; }

inside() { "$IMGBUILD" shell "$recipe" --cache "$CACHE" --progress none -- "$@" 2>"$T/err"; }
inside sh -c 'k=$(ls /usr/lib/modules); for m in nvidia nvidia-uvm nvidia-modeset nvidia-drm nvidia-peermem; do
        echo "$(modinfo -k "$k" -F version $m) $(modinfo -k "$k" -F vermagic $m | grep -c "^$k ")"; done' | sort | uniq -c >"$T/modules"
[[ $(xargs <"$T/modules") == "5 $version 1" ]]
check "all five modules are of the packages' version, for the image's kernel" $?
inside sh -c 'k=$(ls /usr/lib/modules); modprobe -S "$k" --show-depends gdrdrv; modprobe -S "$k" -c | grep "^softdep nvidia "; ls /usr/lib/*/libgdrapi* /usr/include/gdrapi.h' >"$T/inside"
grep -q '^insmod .*/nvidia.ko' "$T/inside" && grep -q '^insmod .*/updates/nvidia/gdrdrv.ko' "$T/inside" && grep -q '^softdep nvidia post: .*gdrdrv' "$T/inside" &&
        [[ $(grep -c libgdrapi "$T/inside") -eq 2 ]] && ! grep -q gdrapi.h "$T/inside"
check "GDRCopy's module stands on the driver's and is loaded behind it; its library is there, its header not" $?
inside sh -c 'dpkg-query -W -f "\${Package}\n"; ls /etc/apt/sources.list.d' >"$T/inside"
! grep -qE '^(g\+\+|gcc|make|dkms|linux-headers-.*)$|nvidia-cuda' "$T/inside"
check "compiler, headers and the repository have not stayed" $?
[[ -z $(inside sh -c 'for u in persistenced fabricmanager imex; do systemctl is-enabled nvidia-$u.service; done' | grep -v disabled) ]]
check "no unit waits for a GPU at boot" $?

inside sh -c 'k=$(ls /usr/lib/modules); modprobe -S "$k" --show-depends lustre; lfs --version; ls /etc/lustre; find / -xdev -name "*.ko*" -path "*lustre*"' >"$T/inside"
grep -q "^insmod .*/updates/lustre/lnet.ko" "$T/inside" && grep -q "^lfs $lustre$" "$T/inside" && ! grep -q /kernel/fs/lustre "$T/inside"
check "Lustre's modules find one another, once, and the tools are there" $?
# The check in that tree, with the tools of another version.
{ echo "mv /usr/bin/lfs /usr/bin/other; printf '#!/bin/sh\necho lfs 2.15.0\n' >/usr/bin/lfs; chmod +x /usr/bin/lfs"
        sed 1d "$TOP/overlays/lustre-client/check-lustre.sh"; } >"$T/wrong"
inside sh -c "$(cat "$T/wrong")" >"$T/said"
[[ $? -eq 1 ]] && grep -q "is $lustre, lfs is 2.15.0" "$T/said"
check "tools of another version than the modules are refused" $?
apptainer_says() { # WHAT SED-OF-THE-TREE TEXT
        inside sh -c "$2; $(sed 1d "$TOP/overlays/apptainer/check-apptainer.sh")" >"$T/said"
        [[ $? -eq 1 ]] && grep -qF "$3" "$T/said"
        check "$1" $?
}
apptainer_says "Apptainer with a program that is root's for everybody is refused" 'touch /usr/libexec/apptainer/bin/starter-suid' 'starter-suid is there'
apptainer_says "… and one that users would call past the scratch volume" 'rm /usr/local/bin/singularity' 'singularity is /usr/bin/singularity'
apptainer_says "… and one that binds what the image does not have" 'rm /etc/localtime' '/etc/localtime is missing'
inside sh -c "sed -i '/^Package: nvidia-fabricmanager\$/,/^\$/s/^Version: .*/Version: 595.58.03-1/' /var/lib/dpkg/status; $(sed 1d "$overlay/check-versions.sh")" >"$T/said"
[[ $? -eq 1 ]] && grep -q "modules are $version, but nvidia-fabricmanager 595.58.03-1:" "$T/said"
check "another fabric manager than the driver's is refused, with both versions" $?
no_leftovers
check "nothing of it is mounted or running" $?
exit $rc
