#!/bin/bash
# A GPU node of family el: overlays nvidia-driver-el, cuda-runtime, nccl, container-toolkit-el, enroot and pyxis on an EL-like distribution of Debian's packages as
# RPMs. NVIDIA's packages are doubles (tests/fixtures/el/driver), Enroot's is made of its own source; what compiles the modules is real: dkms, the
# kernel's headers, the overlay's script. First with modules that do nothing, twice, the same bytes; then with NVIDIA's own source of the open
# modules, and Lustre's client of its own (six and ten minutes of one processor).
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/containers.bash"
source "$TOP/tests/e2e/el.bash"
vendor=595.45.04
have_source "open-gpu-kernel-modules-$vendor.tar.xz" && have_source enroot-4.1.2.tar.gz && have_source pyxis-0.24.0.tar.gz &&
        have_source lustre-2.17.57.tar.xz || exit 77
el_project el-gpu-parts
fingerprint=$(<"$W/key/fingerprint")

# What overlay enroot-source compiles, as Enroot's own package has it.
from_sources "$PROJECT" enroot-source pyxis || exit 1
cat >"$RECIPES/enroot-parts.json" <<'R'
{ "name": "enroot-parts", "kind": "tree", "base": { "distro": "debian", "release": "trixie", "packages": ["systemd-sysv"] }, "overlays": ["enroot-source"] }
R
"$IMGBUILD" build "$RECIPES/enroot-parts.json" --cache "$CACHE" --progress plain >>"$W/log" 2>&1
s=$?
check "Enroot's source compiles" $s
[[ $s -eq 0 ]] || { tail -n 20 "$W/log"; exit 1; }
compiled=$("$IMGBUILD" plan "$RECIPES/enroot-parts.json" --cache "$CACHE" --offline --json | python3 -c 'import json,sys; print(*[s["digest"][:32] for s in json.load(sys.stdin)["stages"] if s["id"].startswith("compile:enroot-source")])')
mkdir -p "$W"/toolkit/{enroot/files,enroot+caps}
cp -a "$CACHE/layers/$compiled/tree/." "$W/toolkit/enroot/files/"
printf 'Package: enroot\nVersion: 4.1.2-1.el8\nDepends: %s\n' "bash >= 4.2, curl, gawk, jq >= 1.5, parallel, shadow-utils, squashfs-tools, coreutils, grep, \
findutils, gzip, glibc-common, sed, tar, util-linux" >"$W/toolkit/enroot/control"
printf 'Package: enroot+caps\nVersion: 4.1.2-1.el8\nDepends: enroot = 4.1.2-1.el8, libcap\n' >"$W/toolkit/enroot+caps/control"
# shellcheck disable=SC2016 # the script's own
printf 'setcap %s "$(command -v %s)"\n' cap_sys_admin+pe enroot-mksquashovlfs cap_sys_admin,cap_mknod+pe enroot-aufs2ovlfs >"$W/toolkit/enroot+caps/post"
"$TOP/tests/fixtures/vendor/describe" "$W/debian" nvidia-container-toolkit-base nvidia-container-toolkit
mkdir -p "$W/toolkit/nvidia-container-toolkit"
cp -a "$W"/debian/nvidia-container-toolkit{-base,}/files "$W/toolkit/nvidia-container-toolkit/"
cp -a "$W/toolkit/nvidia-container-toolkit/files/lib" "$W/toolkit/nvidia-container-toolkit/files/usr/" && rm -r "$W/toolkit/nvidia-container-toolkit/files/lib"
printf 'Package: nvidia-container-toolkit\nVersion: 1.20.0-1\n' >"$W/toolkit/nvidia-container-toolkit/control"
"$TOP/tests/fixtures/make-dnf-repo" --gnupg "$W/key" "$W/toolkit" "$W/site/toolkit" >>"$W/log" 2>&1
check "… and is packaged" $?

# vendor_is VERSION [SOURCE]: NVIDIA's repository has that driver.
vendor_is() {
        rm -rf "$W/driver" "$W/site/cuda"
        "$TOP/tests/fixtures/el/driver" "$1" "$W/driver" "$W/modules.yaml" "${@:2}" >>"$W/log" 2>&1 &&
                "$TOP/tests/fixtures/make-dnf-repo" --gnupg "$W/key" --modules "$W/modules.yaml" "$W/driver" "$W/site/cuda" >>"$W/log" 2>&1
}
vendor_is 580.178.04
s=$?
check "the vendor's repository is made" $s
[[ $s -eq 0 ]] || { tail -n 20 "$W/log"; exit 1; }

# The overlays, other addresses.
for overlay in nvidia-driver-el cuda-runtime container-toolkit-el enroot; do
        sed -i -E -e "s,\"https://developer[^\"]*\\.pub\",\"file://$W/key/key.asc\"," -e "s,\"https://developer[^\"]*\",\"file://$W/site/cuda/\"," \
                -e "s,\"https://nvidia[^\"]*gpgkey\",\"file://$W/key/key.asc\"," -e "s,\"https://nvidia[^\"]*\",\"file://$W/site/toolkit/\"," \
                -e "s,\"https://github.com/NVIDIA/enroot/[^\"]*/([^\"]*rpm)\",\"file://$W/site/toolkit/Packages/\\1\"," \
                -e "s/\"(610C 7B14|C95B 321B)[^\"]*\"/\"$fingerprint\"/" "$PROJECT/overlays/$overlay/overlay.json"
        ! grep -qE '"(https://(developer|nvidia)|610C|C95B)' "$PROJECT/overlays/$overlay/overlay.json"
        check "$overlay has its packages from here" $?
done
el_recipe el-gpu gawk <<R
        "kernel": { "package": "kernel" },
        // The vendor's package has the parts that are C++ compiled, its source archive has not.
        "packages": ["g++", "nvidia-fs-dkms", "kernel-devel-uname-r = \${kernel}"],
        "overlays": ["nvidia-driver-el", "cuda-runtime", "nccl", "container-toolkit-el", "enroot", "pyxis", "slim"]
R
in_tree() { "$IMGBUILD" shell "$RECIPES/el-gpu.json" --cache "$CACHE" --progress none -- sh -c "$1" 2>>"$W/log"; }
modules() { # VERSION
        # shellcheck disable=SC2016 # the tree's own
        in_tree 'k=$(ls /usr/lib/modules); for m in nvidia nvidia-uvm nvidia-modeset nvidia-drm nvidia-peermem; do
                echo "$(modinfo -k "$k" -F version $m) $(modinfo -k "$k" -F filename $m)"; done; dkms status; find /var/lib/dkms /etc/dkms -name "mok*" -o -name log -o -name image.conf' >"$W/modules"
        [[ $(grep -c "^$1 /.*/extra/" "$W/modules") -eq 5 && $(grep -c "^nvidia-open/$1, .*: installed" "$W/modules") -eq 1 && $(wc -l <"$W/modules") -eq 6 ]] && return
        sed 's/^/# /' "$W/modules"
        return 1
}

tree_checks "$RECIPES/el-gpu.json" "a GPU node of family el is made, and every check passes"
modules 580.178.04
check "dkms has compiled five modules for the image's kernel, and left no key, log or setting" $?
[[ $(in_tree 'getcap /usr/bin/enroot-mksquashovlfs; rpm -q enroot enroot+caps | wc -l; rpm --verify --nomtime kmod-nvidia-open-dkms nvidia-driver-cuda') == \
        $'/usr/bin/enroot-mksquashovlfs cap_sys_admin=ep\n2' ]]
s=$?
check "Enroot's own RPMs are in, with the capabilities that their script gives" $s
[[ $s -eq 0 ]] || in_tree 'getcap /usr/bin/enroot-mksquashovlfs; rpm -q enroot enroot+caps; rpm --verify --nomtime kmod-nvidia-open-dkms nvidia-driver-cuda' | sed 's/^/# /'
"$IMGBUILD" lock "$RECIPES/el-gpu.json" --fetch --cache "$CACHE" --progress plain >>"$W/log" 2>&1 # of the tools, too
mkdir -p "$W/second"
cp -al "$CACHE/blobs" "$W/second/"
"$IMGBUILD" check "$RECIPES/el-gpu.json" --cache "$W/second" --offline --progress plain >>"$W/log" 2>&1
s=$?
layer_sums el-gpu "$CACHE" >"$W/layers"
[[ $s -eq 0 && -s $W/layers ]] && layer_sums el-gpu "$W/second" | diff "$W/layers" - >"$W/differ"
s=$?
check "another store makes the same layers" $s
[[ $s -eq 0 ]] || { sed 's/^/# /' "$W/differ"; tail -n 5 "$W/log"; }
rm -rf "$W/second"

# User space that is newer than the modules: the packages themselves want one version.
sed -i 's/"kmod-nvidia-open-dkms", //' "$PROJECT/overlays/nvidia-driver-el/overlay.json"
sed -i 's/"nvidia-driver-cuda"/"nvidia-driver-cuda", "kmod-nvidia-open-dkms-570"/' "$PROJECT/overlays/nvidia-driver-el/overlay.json"
"$IMGBUILD" lock "$RECIPES/el-gpu.json" --cache "$CACHE" --progress plain >"$W/out" 2>&1
[[ $? -ne 0 ]] && grep -q 'no repository of the recipe has a package kmod-nvidia-open-dkms-570' "$W/out"
check "modules of another version are not found" $?
sed -i 's/, "kmod-nvidia-open-dkms-570"/, "kmod-nvidia-open-dkms"/' "$PROJECT/overlays/nvidia-driver-el/overlay.json"

mkdir -p "$W/source"
tar -C "$W/source" --strip-components=1 -xJf "$SOURCES/open-gpu-kernel-modules-$vendor.tar.xz" && vendor_is "$vendor" "$W/source"
check "the vendor has a newer driver, with NVIDIA's own source" $?
SECONDS=0
"$IMGBUILD" lock "$RECIPES/el-gpu.json" --update --cache "$CACHE" --progress plain >"$W/out" 2>&1
check "it is locked" $?
tree_checks "$RECIPES/el-gpu.json" "dkms compiles it, and every check passes"
echo "# $SECONDS s"
modules "$vendor"
check "five modules of NVIDIA's source for the image's kernel" $?
# shellcheck disable=SC2016 # the tree's own
[[ $(in_tree 'modinfo -k "$(ls /usr/lib/modules)" -F firmware nvidia | grep ga10x') == "nvidia/$vendor/gsp_ga10x.bin" ]]
check "… which ask for that version's firmware" $?

# Another module for the image's kernel, here because this distribution has that kernel's headers.
from_sources "$PROJECT" lustre-client || exit 1
sed -e 's/"name": "el-gpu"/"name": "el-lustre"/' -e '/^ *"packages": \["g++"/d' -e 's/"overlays": \[.*/"overlays": ["lustre-client", "slim"]/' "$RECIPES/el-gpu.json" >"$RECIPES/el-lustre.json"
SECONDS=0
tree_checks "$RECIPES/el-lustre.json" "Lustre's client is compiled for this distribution's kernel, and every check passes"
echo "# $SECONDS s"
exit $rc
