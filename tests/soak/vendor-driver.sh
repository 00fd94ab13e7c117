#!/bin/bash
# NVIDIA's own source of the open modules, compiled for the full kernel of Debian by overlay nvidia-driver-vendor; its packages are doubles
# (tests/fixtures/vendor/driver), which e2e/36 tells more of, and so is GDRCopy's source unless it is in $SOURCES (gdrcopy-VERSION.tar.gz). The compilers
# take six minutes of one processor.
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/containers.bash"
overlay=$TOP/overlays/nvidia-driver-vendor
version=$(sed -n 's/.*"version": "\(.*\)",/\1/p' "$overlay/overlay.json" | head -n 1)
archive=open-gpu-kernel-modules-$version.tar.xz
have_source "$archive" || exit 77
own_project

T=$E2E/vendor
rm -rf "$T"
mkdir -p "$T"
"$TOP/tests/fixtures/vendor/driver" "$version" "$T/packages" "$T/unused.tar.gz" "$T/gdrcopy.tar.gz"
"$TOP/tests/fixtures/make-apt-repo" --flat --gnupg="$T/key" "$T/packages" "$T/cuda" >/dev/null
cp "$T/key/key.asc" "$PROJECT/overlays/nvidia-driver-vendor/key.asc"
sed -i -e "s,\"https://developer[^\"]*/8793F200.pub\",\"key.asc\"," -e "s,\"https://developer[^\"]*\",\"file://$T/cuda\"," \
        -e "s/\"0218 2E60[^\"]*\"/\"$(cat "$T/key/fingerprint")\"/" "$PROJECT/overlays/nvidia-driver-vendor/overlay.json"
gdrcopy=$SOURCES/gdrcopy-2.6.tar.gz
[[ -e $gdrcopy ]] || gdrcopy=$T/gdrcopy.tar.gz
sed -i "s,\"https://github.com/NVIDIA/gdrcopy/[^\"]*\",\"file://$(realpath "$gdrcopy")\"," "$PROJECT/overlays/nvidia-driver-vendor/overlay.json"
echo "# GDRCopy: $gdrcopy"
from_sources "$PROJECT" nvidia-driver-vendor || { echo "not ok - the overlay names the vendor's archive"; exit 1; }
cat >"$RECIPES/vendor-source.json" <<'R'
{
        "name": "vendor-source",
        "base": { "distro": "debian", "release": "trixie", "arch": "amd64", "components": ["main"] },
        "kernel": { "package": "linux-image-amd64" },
        "overlays": ["nvidia-driver-vendor"]
}
R
SECONDS=0
tree_checks "$RECIPES/vendor-source.json" "NVIDIA's source $version compiles for the image's kernel, and every check passes"
echo "# $SECONDS s"
"$IMGBUILD" shell "$RECIPES/vendor-source.json" --cache "$CACHE" --progress none -- sh -c 'k=$(ls /usr/lib/modules); for m in nvidia nvidia-uvm nvidia-modeset nvidia-drm nvidia-peermem; do
        echo "$(modinfo -k "$k" -F version $m) $(modinfo -k "$k" -F license $m)"; done; modinfo -k "$k" -F firmware nvidia' >"$E2E/modules" 2>/dev/null
[[ $(grep -c "^$version " "$E2E/modules") -eq 5 ]] && grep -qx "nvidia/$version/gsp_ga10x.bin" "$E2E/modules"
check "five modules of that version, which ask for that version's firmware" $?
exit $rc
