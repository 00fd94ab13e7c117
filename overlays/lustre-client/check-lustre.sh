#!/bin/sh
# Each kernel of the image has the client, compiled for it and of the tools' version, and nothing that they need is missing.
set -eu
fail() { echo "$1"; exit 1; }

tools=$(lfs --version 2>&1 | sed -n 's/^lfs //p')
[ -n "$tools" ] || fail "lfs does not tell its version: $(lfs --version 2>&1 | head -n 1)"
for folder in /usr/lib/modules/*/; do
        kernel=$(basename "$folder")
        for module in lustre ksocklnd; do
                # With those that it stands on: lov, ptlrpc, lnet …
                files=$(modprobe -S "$kernel" --show-depends "$module" 2>/dev/null | sed -n 's/^insmod \([^ ]*\).*/\1/p')
                [ -n "$files" ] || fail "kernel $kernel has no module $module, or not all that it stands on: look at the log of stage compile:lustre-client/0"
                for file in $files; do
                        magic=$(modinfo -F vermagic "$file")
                        case $magic in
                        "$kernel "*) ;;
                        *) fail "$file was compiled for '$magic', not for kernel $kernel" ;;
                        esac
                done
        done
        version=$(modinfo -k "$kernel" -F version lustre)
        [ "$version" = "$tools" ] || fail "the module lustre of kernel $kernel is $version, lfs is $tools"
done

for program in mount.lustre lctl lnetctl lfs; do
        file=$(command -v "$program") || fail "$program is missing"
        missing=$(ldd "$file" | sed -n 's/^[[:space:]]*\(.*\) => not found/\1/p')
        [ -z "$missing" ] || fail "$file needs $missing, which is not here"
done
