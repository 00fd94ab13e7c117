# Sourced by the tests of family el: the EL-like distribution, Debian's packages as RPMs in a signed repository.
#
#   el_programs               ends the script where a program to make it with is missing
#   el_distribution PARTS W TOOLS   of tests/fixtures/el/PARTS.json, by the tools of a file tools.json: the repository W/site/os, its key in W/key;
#                             W/log says what was done; ends the script where that fails
#   el_project PARTS          own_project with it: W is $E2E/work, the key in $RECIPES/os.asc
#   el_recipe NAME [PACKAGE…] $RECIPES/NAME.json after el_project: on that distribution, with these packages in its base besides; the recipe's other keys are
#                             standard input
#   el_vendors [COMMAND…]     after el_project el-pods-parts: what Docker, Kubernetes, NVIDIA and others would have, doubles in W/vendor, as a repository
#                             W/site/vendor; the command has its way with W/vendor before
#   el_from_here OVERLAY…     these overlays take theirs from there
#   el_frameworks_project PARTS   el_project of parts that have python3.13: the overlays of frameworks are told that Python (Debian's) instead of 3.12; the
#                             system's own is a double that says 3.9
#   el_frameworks NAME OVERLAY…   after it: $RECIPES/NAME.json, a tree with these overlays
#   el_repository PARTS W [OPTION…]   makes the repository again, as make-el-repo takes options
#   not_denied [NAME]         a check: of SELinux's denials on standard input (of machine NAME; from no pipe, which would lose its verdict) there are those of systemd and agetty (TIOCSLCKTRMIOS), and no others: that
#                             distribution's are newer than EL's, and so ask for what its policy does not know; none at all were nobody's reading

el_programs() {
        local program
        for program in rpmbuild rpmsign createrepo_c gpg; do
                command -v "$program" >/dev/null || { echo "$program (sudo make deps)"; exit 77; }
        done
}

# EL_RELEASE: 8 for a distribution of bullseye's packages.
el_repository() { "$TOP/tests/fixtures/el/make-el-repo" ${EL_RELEASE:+--release "$EL_RELEASE"} ${SELINUX_POLICY:+--policy "$SELINUX_POLICY"} "${@:3}" "$2/parts/$1.lock.json" "$CACHE" "$2/site/os" >>"$2/log" 2>&1; }

el_distribution() {
        mkdir -p "$2/parts" "$2/site"
        cp "$TOP/tests/fixtures/el/$1.json" "$3" "$2/parts/"
        "$IMGBUILD" lock "$2/parts/$1.json" --fetch --cache "$CACHE" --progress plain >"$2/log" 2>&1 && el_repository "$1" "$2" --gnupg "$2/key"
        local s=$?
        check "the distribution is made" $s
        [[ $s -eq 0 ]] || { tail -n 40 "$2/log"; exit 1; }
}

el_project() {
        el_programs
        own_project
        W=$E2E/work
        rm -rf "$W"
        mkdir -p "$W"
        el_distribution "$1" "$W" "$RECIPES/tools.json"
        cp "$W/key/key.asc" "$RECIPES/os.asc"
}

el_recipe() {
        cat >"$RECIPES/$1.json" <<R
{
        "name": "$1",
        "base": {
                "distro": "rocky", "release": "9",
                "packages": [
                        "bash", "dash", "coreutils", "libc-bin", "rpm", "sed", "grep", "findutils", "util-linux", "gzip", "hostname", "systemd-sysv", "dracut"$([[ $# -eq 1 ]] || printf ', "%s"' "${@:2}")
                ],
                "repositories": { "os": { "uri": "file://$W/site/os/", "key": "os.asc", "fingerprint": "$(<"$W/key/fingerprint")", "keep": true } }
        },
$(cat)
}
R
}

el_vendors() {
        "$TOP/tests/fixtures/el/containers" "$W/parts/el-pods-parts.lock.json" "$CACHE" "$W/vendor" >>"$W/log" 2>&1 && "${@:-true}" >>"$W/log" 2>&1 &&
                "$TOP/tests/fixtures/make-dnf-repo" --gnupg "$W/key" "$W/vendor/packages" "$W/site/vendor" >>"$W/log" 2>&1
        local s=$?
        check "doubles of the vendors' packages and releases are made" $s
        [[ $s -eq 0 ]] || { tail -n 20 "$W/log"; exit 1; }
}

el_from_here() {
        local overlay file
        for overlay; do
                file=$PROJECT/overlays/$overlay/overlay.json
                sed -i -E -e "s,\"https://(download\\.docker|pkgs\\.k8s|nvidia\\.github)[^\"]*(/rpm/|/x86_64/stable/|/rpm/x86_64/)\",\"file://$W/site/vendor/\"," \
                        -e "s,\"https://(download\\.docker|pkgs\\.k8s|nvidia\\.github)[^\"]*(/gpg|/repomd.xml.key|/gpgkey)\",\"file://$W/key/key.asc\"," \
                        -e "s/\"(060A 61C5|DE15 B144|C95B 321B)[^\"]*\"/\"$(<"$W/key/fingerprint")\"/" \
                        -e "s,\"https://github.com/apptainer/[^\"]*/([^\"/]*\\.rpm)\",\"file://$W/site/vendor/Packages/\\1\"," \
                        -e "s,\"https://github.com/(rootless-containers|prometheus|containerd)/[^\"]*/([^\"/]*)\",\"file://$W/vendor/\\2\"," "$file"
                grep -q "\"file://$W" "$file" && ! grep -E '"el"|x86_64' "$file" | grep -q '"https:'
                check "$overlay has its own from here" $?
        done
}

el_frameworks_project() {
        el_project "$1"
        local system=$W/system/python3
        mkdir -p "$system/files/usr/bin"
        printf '#!/bin/sh\necho "Python 3.9.21, a double" >&2\nexit 1\n' >"$system/files/usr/bin/python3"
        chmod 0755 "$system/files/usr/bin/python3"
        printf 'Package: python3\nVersion: 3.9.21-2.el9\n' >"$system/control"
        "$TOP/tests/fixtures/make-dnf-repo" --gnupg "$W/key" "$W/system" "$W/site/system" >>"$W/log" 2>&1
        check "the system's Python is a double" $?
        sed -i 's/python3\.12/python3.13/g' "$PROJECT"/overlays/{ml-*,mpi4py}/overlay.json
        ! grep -l 'python3\.12' "$PROJECT"/overlays/*/overlay.json && [[ $(grep -l '"python3.13' "$PROJECT"/overlays/*/overlay.json | wc -l) -eq 11 ]]
        check "the overlays name the Python that is there" $?
        # What EL's packages do and Debian's leave to others: setup has the file of hosts, and glibc runs ldconfig behind every transaction.
        mkdir -p "$PROJECT/overlays/el-traits/files/etc"
        echo '127.0.0.1 localhost localhost.localdomain' >"$PROJECT/overlays/el-traits/files/etc/hosts"
        printf '#!/bin/sh\nexec ldconfig\n' >"$PROJECT/overlays/el-traits/ldconfig.sh"
        chmod +x "$PROJECT/overlays/el-traits/ldconfig.sh"
        echo '{ "description": "What EL has by itself", "run": ["ldconfig.sh"] }' >"$PROJECT/overlays/el-traits/overlay.json"
}

el_frameworks() {
        cat >"$RECIPES/$1.json" <<R
{
        "name": "$1", "kind": "tree",
        "limits": { "time": "30min" }, // a busy machine
        "base": {
                "distro": "rocky", "release": "9",
                "packages": ["base-files", "bash", "dash", "coreutils", "libc-bin", "rpm", "sed", "grep", "findutils", "hostname", "systemd-sysv", "procps", "python3"],
                "repositories": {
                        "os": { "uri": "file://$W/site/os/", "key": "os.asc", "fingerprint": "$(<"$W/key/fingerprint")", "keep": true },
                        "system": { "uri": "file://$W/site/system/", "key": "os.asc", "fingerprint": "$(<"$W/key/fingerprint")" }
                }
        },
        "overlays": [$(printf '"%s", ' "${@:2}") "el-traits"]
}
R
}

not_denied() {
        local denied newer='comm="(systemd|systemd-[a-z-]*|\([a-z-]*\))"|\{ checkpoint_restore \} .*comm="agetty"' s
        denied=$(cat)
        grep -qE "avc: +denied.*($newer)" <<<"$denied" && ! grep -qvE "$newer" <<<"$denied"
        s=$?
        check "… and nothing was denied${1:+ on the $1} but what EL's older parts do not ask for" $s
        [[ $s -eq 0 ]] || grep -vE "$newer" <<<"$denied" | head -n 20 | sed 's/^/# /'
}
