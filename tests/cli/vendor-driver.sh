#!/bin/bash
# The overlay nvidia-driver-vendor: what is locked of a vendor's repository beside a distribution that has older packages of the same names,
# and what its check of versions says. Packages, modinfo and dpkg-query are doubles; e2e/36 compiles and installs.
set -u
source "$TOP/tests/fixtures/archive.bash"
publish_base
overlay=$TOP/overlays/nvidia-driver-vendor
release=$(sed -n 's/.*"version": "\(.*\)",/\1/p' "$overlay/overlay.json" | head -n 1)

# Debian's, older; the compiler's and what else it names.
for p in libcuda1 libnvidia-ml1 nvidia-smi nvidia-persistenced nvidia-modprobe firmware-nvidia-gsp; do package $p 550.163.01-2; done
package libnccl2 2.26.2-1
for p in make g++ xz-utils zstd kmod; do package $p 1.0; done
publish trixie --date='Sat, 01 Nov 2025 10:00:00 +0000'

mkdir -p "$T/new"
"$FIXTURES/vendor/driver" "$release" "$T/new" "$SITE/$release.tar.gz" "$SITE/v2.6.tar.gz"
repository cuda --flat
# A later release in the same repository: it is not what the modules' source is.
"$FIXTURES/vendor/driver" 700.10.01 "$T/new" "$T/unused.tar.gz"
for p in "$T"/new/*/; do [[ $p == */nvidia-* || $p == */lib*-ml1/ || $p == */libcuda1/ || $p == */firmware-* || $p == */libnvidia-nscq/ ]] || rm -rf "$p"; done
repository cuda --flat

vendor() { # FINGERPRINT
        rm -rf "$T/overlays/nvidia-driver-vendor" "$T/images/v.lock.json"
        cp -r "$TOP"/overlays/nvidia-{node,driver-vendor} "$T/overlays/"
        sed -i -e "s,https://developer.download.nvidia.com/[^\"]*/8793F200.pub,$URL/cuda.asc," -e "s,https://developer.download.nvidia.com/[^\"]*,$URL/cuda," \
                -e "s,https://github.com/NVIDIA/[^\"]*/tags,$URL," ${1:+-e "s/\"0218 2E60[^\"]*\"/\"$1\"/"} "$T/overlays/nvidia-driver-vendor/overlay.json"
}
recipe v '"overlays": ["nvidia-driver-vendor"]'

vendor
run lock "$T/images/v.json"
check "a repository of another key than NVIDIA's is refused" bash -c "test $rc -eq 4 && grep -q 'the overlay pins 02182E60104FCDC26EAE1B8597A5D4CB8793F200' '$T/out'"
vendor "$(cat "$T/key-cuda/fingerprint")"
run lock "$T/images/v.json"
check "the recipe is locked" test $rc -eq 0
for p in libcuda1 libnvidia-ml1 nvidia-smi nvidia-persistenced nvidia-modprobe firmware-nvidia-gsp nvidia-fabricmanager nvidia-imex libnvidia-nscq; do
        check "$p is of the modules' release, though there are an older and a later one" test "$(version $p v)" = "$release-1"
done
check "NCCL is the vendor's" bash -c "[[ \$1 == *+cuda13.* ]]" - "$(version libnccl2 v)"
check "the source of the modules is locked by digest" grep -q "$(sha256sum "$SITE/$release.tar.gz" | cut -d' ' -f1)" "$T/images/v.lock.json"
sed -i 's/"nvidia-imex=[^"]*"/"nvidia-imex=596.00.01-1"/' "$T/overlays/nvidia-driver-vendor/overlay.json"
rm "$T/images/v.lock.json"
run lock "$T/images/v.json"
check "a release that the repository lacks ends the lock, with its name" bash -c "test $rc -ne 0 -a ! -e '$T/images/v.lock.json' && grep -q 'nvidia-imex' '$T/out'"

# What the check in the finished tree says.
mkdir -p "$T/bin" "$T/tree/6.12.1-a"
cat >"$T/bin/modinfo" <<'D'
#!/bin/sh
[ "$2" != 6.12.1-none ] || exit 1
case "$4 $5" in
"version gdrdrv") [ -n "${GDRDRV-2.6}" ] && echo "${GDRDRV-2.6}" ;;
"depends gdrdrv") echo "${GDRDRV_ON-nvidia}" ;;
*) echo "$DRIVER" ;;
esac
D
cat >"$T/bin/dpkg-query" <<'D'
#!/bin/sh
sed -n "s/^$4 //p" "$PACKAGES" | tr -d '\n' | grep .
D
chmod +x "$T/bin"/*
mkdir -p "$T/lib/x" && touch "$T/lib/x/libgdrapi.so.2.6"
sed "s,/usr/lib/modules/,$T/tree/,; s,/usr/lib/\*/libgdr,$T/lib/*/libgdr," "$overlay/check-versions.sh" >"$T/check-versions"
versions() { # [SED]: of all packages as they should be, and what SED makes of them
        {
                printf '%s 595.45.04-1\n' libcuda1 libnvidia-ml1 nvidia-smi nvidia-persistenced nvidia-modprobe firmware-nvidia-gsp nvidia-fabricmanager \
                        nvidia-imex libnvidia-nscq
                printf '%s 1:4.5.0-1\n' datacenter-gpu-manager-4-core datacenter-gpu-manager-4-cuda13
                echo libnccl2 2.29.2-1+cuda13.1
        } | sed "${1:-}" >"$T/packages"
        PATH=$T/bin:$PATH DRIVER=${DRIVER-595.45.04} PACKAGES=$T/packages sh "$T/check-versions" >"$T/out" 2>&1
        rc=$?
}
refused() { # WHAT TEXT
        check "$1" bash -c 'test "$1" -eq 1 && grep -qF "$2" "$3" && test "$(wc -l <"$3")" -eq 1' - $rc "$2" "$T/out"
}
versions
check "one release of all passes" test $rc -eq 0 -a ! -s "$T/out"
versions 's/^nvidia-fabricmanager .*/nvidia-fabricmanager 595.58.03-1/'
refused "another fabric manager does not" "the kernel modules are 595.45.04, but nvidia-fabricmanager 595.58.03-1:"
versions 's/^nvidia-imex .*/nvidia-imex 580.1-1/; s/^libnvidia-nscq .*/libnvidia-nscq 595.45.05-1/'
refused "… nor IMEX and NSCQ, both named" "but nvidia-imex 580.1-1, libnvidia-nscq 595.45.05-1:"
DRIVER=595.45 versions
refused "… nor a module whose version only begins alike" "the kernel modules are 595.45, but libcuda1 595.45.04-1"
versions '/^firmware-nvidia-gsp/d'
refused "a package that is missing is named" "package firmware-nvidia-gsp is missing"
versions 's/^datacenter-gpu-manager-4-core .*/datacenter-gpu-manager-4-core 1:4.4.2-1/'
refused "DCGM of two versions" "DCGM's packages differ: core 1:4.4.2-1, cuda13 1:4.5.0-1"
versions 's/^libnccl2 .*/libnccl2 2.26.2-1/'
refused "Debian's NCCL" "libnccl2 2.26.2-1 is not the vendor's"
GDRDRV='' versions
refused "no GDRCopy" "kernel 6.12.1-a has no module gdrdrv"
GDRDRV=2.5 versions
refused "GDRCopy's module and library of two versions" "GDRCopy's module is 2.5, its library 2.6"
GDRDRV_ON='' versions
refused "a module of GDRCopy's that was linked to its own double of the driver" "gdrdrv stands on '', not on the driver"
rm "$T/lib/x/libgdrapi.so.2.6"
versions
refused "GDRCopy without its library" "there is no libgdrapi.so.2"
touch "$T/lib/x/libgdrapi.so.2.6"
mkdir "$T/tree/6.12.1-none"
versions
refused "a kernel without the module" "kernel 6.12.1-none has no module nvidia"
rm -r "$T"/tree/*
versions
refused "no kernel at all" "there is no kernel with a module nvidia"
