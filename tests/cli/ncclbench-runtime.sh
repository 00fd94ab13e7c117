#!/bin/bash
# ncclbench runtime: the CUDA runtime that programs get is found as they find it, and each fault has its code.
set -u
. "$TOP/tests/cli/ncclbench.bash"
[[ $EUID -eq 0 ]] || { echo "root, for ldconfig -r"; exit 77; }
unset LD_LIBRARY_PATH
tree=$work/tree

# A tree whose linker cache knows the folders named.
fresh() {
        rm -rf "$tree"
        mkdir -p "$tree/etc/profile.d" "$tree/usr/lib/a" "$tree/usr/local/cuda-12.4/lib64" "$tree/var/lib/dpkg/info"
}
cache() { printf '%s\n' "$@" >"$tree/etc/ld.so.conf"; /sbin/ldconfig -r "$tree" -f /etc/ld.so.conf 2>/dev/null; }
# runtime NAME REASON [VARIABLE=VALUE…] [-- OPTIONS]
runtime() {
        local name=$1 reason=$2 variables=() status got
        shift 2
        while [[ $# -gt 0 && $1 != -- ]]; do variables+=("$1"); shift; done
        [[ $# -gt 0 ]] && shift
        env "${variables[@]}" timeout -s KILL 60 "$bench" runtime --tree="$tree" --json "$@" >"$work/json" 2>"$work/err"
        status=$?
        got=$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["verdict"]["reason"])' "$work/json" 2>&1)
        [[ $got == "$reason" && $status -eq $([[ $reason == ok ]]; echo $?) ]]
        check "$name: $reason" $?
        [[ $rc -eq 0 ]] || { echo "# $got"; cat "$work/err"; }
}
says() { grep -q -e "$1" "$work/json"; check "$2" $?; }

fresh
runtime "an image without a runtime" ok
runtime "or one that must have one" cuda.runtime-missing -- --required

cp "$doubles/libcudart.so.12" "$tree/usr/lib/a/"
cache /usr/lib/a
runtime "one in the linker's cache" ok -- --required
says '"soname":"libcudart.so.12"' "is named"
says '"version":"12.4"' "with its version"
says '"cuda_version":"13.0"' "and the driver's"
says '"source":"ldconfig"' "and who found it"
runtime "of a newer major version than the driver" cuda.runtime-too-new CUDART_DOUBLE_VERSION=14000
says 'is CUDA 14.0, the driver is for CUDA 13.0' "with both versions"
runtime "of a newer minor version" ok CUDART_DOUBLE_VERSION=13020
runtime "no driver" cuda.no-driver CUDART_DOUBLE_DRIVER=0
runtime "no GPU" cuda.no-device CUDA_DOUBLE_DEVICES=0
runtime "a call that fails" cuda.runtime-error CUDART_DOUBLE_FAIL=999
runtime "no memory" cuda.out-of-memory CUDART_DOUBLE_FAIL=2
runtime "a kernel with a wrong result" cuda.runtime-error CUDART_DOUBLE_WRONG=1
runtime "a call that hangs" cuda.timeout CUDART_DOUBLE_HANG=1 -- -T 1
mv "$tree/usr/lib/a/libcudart.so.12" "$tree/usr/lib/a/gone"
runtime "one that the cache knows and that is gone" cuda.runtime-missing
echo nonsense >"$tree/usr/lib/a/libcudart.so.12"
runtime "one that is no library" cuda.runtime-error

fresh
mkdir "$tree/usr/lib/b"
cp "$doubles/libcudart.so.12" "$tree/usr/lib/a/"
cp "$doubles/libcudart.so.12" "$tree/usr/lib/b/"
cache /usr/lib/a /usr/lib/b
runtime "one that is there twice" cuda.runtime-doubled
ln -sf ../a/libcudart.so.12 "$tree/usr/lib/b/libcudart.so.12"
cache /usr/lib/a /usr/lib/b
runtime "a link to the same file is none" ok

fresh
cp "$doubles/libcudart.so.12" "$tree/usr/local/cuda-12.4/lib64/"
runtime "one where nobody finds it" cuda.runtime-missing
says 'neither ldconfig nor the module cuda leads to' "is said to be there"
echo "module() { export LD_LIBRARY_PATH=/usr/local/cuda-12.4/lib64; }" >"$tree/etc/profile.d/modules.sh"
runtime "where the module cuda leads to it" ok -- --required
says '"source":"module"' "the module is named"
fresh
touch "$tree/var/lib/dpkg/info/libcudart12:amd64.list"
runtime "a package without its library" cuda.runtime-missing
exit $rc
