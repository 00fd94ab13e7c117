#!/bin/bash
# Eleven builds of each of three locks, each of them somewhere else: another folder, user, umask, time zone, language, clock, host name, number of
# processors; and another machine, with a kernel, a processor and a distribution of its own, which has nothing of here but imgbuild, the recipes and their
# downloads. A disk by its bytes and layers, trees by what their layers are. All are equal, or the stage that is not is named.
#
# WAYS="9"  only some of the ways (1 to 10) against the first
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/fixtures/user.bash"
source "$TOP/tests/e2e/el.bash"
el_programs
own_project
W=$E2E/work
rm -rf "$W"
mkdir -p "$W"
clock_back=$(realpath "$BUILD")/tests/fixtures/clock-back.so

# The three: a disk of Debian's with the agent compiled in it, its like with XFS for both firmwares and another kernel, and a tree of family el.
el_distribution el-parts "$W" "$RECIPES/tools.json"
cp "$W/key/key.asc" "$RECIPES/os.asc"
mkdir -p "$PROJECT/overlays/query"
echo '{ "description": "queries", "packages": { "debian": ["jq"], "el": ["jq"] } }' >"$PROJECT/overlays/query/overlay.json"
cat >"$RECIPES/el-tree.json" <<R
{ "name": "el-tree", "kind": "tree", "overlays": ["query"],
  "base": { "distro": "rocky", "release": "9", "packages": ["base-files", "bash", "dash", "coreutils", "rpm", "sed", "grep"],
            "repositories": { "os": { "uri": "file://$W/site/os/", "key": "os.asc", "fingerprint": "$(<"$W/key/fingerprint")" } } } }
R
cat >"$RECIPES/small-xfs.json" <<'R'
{ "name": "small-xfs", "base": { "distro": "debian", "release": "trixie" }, "kernel": { "package": "linux-image-cloud-amd64" }, "overlays": ["storage", "slim"],
  "packages": ["systemd-sysv", "udev"], "disk": { "filesystem": "xfs", "firmware": ["uefi", "bios"], "formats": ["raw"] } }
R
locks=(debian-13-cpu small-xfs el-tree)
for name in "${locks[@]}"; do
        "$IMGBUILD" lock "$RECIPES/$name.json" --fetch --cache "$CACHE" --progress plain >>"$W/log" 2>&1
        s=$?
        check "$name is locked" $s
        [[ $s -eq 0 ]] || { tail -n 20 "$W/log"; exit 1; }
done

# downloads STORE [copied]: it gets those of all locks, the tools' too.
downloads() {
        local lock
        for lock in "${locks[@]}" tools tools-el; do [[ ! -e $RECIPES/$lock.lock.json ]] || blobs_of "$RECIPES/$lock.lock.json" "$@"; done
}
# One store for all of root's: its tools tree is made once, the layers of what is built go each time.
store=$W/store
downloads "$store"
layers_of() { # RECIPE.json STORE: stage, digest; root takes no store that is a user's
        local as=("$IMGBUILD")
        [[ $2 != "$U"/* ]] || as=(as_user "$U/home/imgbuild")
        "${as[@]}" plan "$1" --cache "$2" --offline --json | python3 -c 'import json,sys; [print(s["id"], s["digest"][:32]) for s in json.load(sys.stdin)["stages"]]'
}
sums_of() { # RECIPE.json STORE OUT: what it is that has to be the same
        local stage digest
        while read -r stage digest; do
                echo "$stage $(tree_sum "$2/layers/$digest")"
        done < <(layers_of "$1" "$2")
        (cd "$3" 2>/dev/null && sha256sum ./*.qcow2 ./*.raw 2>/dev/null)
}
build_as() { # NAME PREFIX…: in $P, by $S
        "${@:2}" "$IMGBUILD" build "$P/images/$1.json" --cache "$S" --output "$P/out" --locked --offline --no-proof --progress plain >>"$W/log" 2>&1
}
ways=("as it is" "umask 077" "one processor" "another host's name, other addresses" "Auckland's time, in Turkish" "no environment" "a folder with a space" "a clock of yesterday"
        "one job" "an ordinary user")
one() { # NAME WAY
        case $2 in
        1) (umask 077; build_as "$1") ;;
        2) build_as "$1" taskset -c 0 ;;
        3) build_as "$1" unshare --uts sh -c 'hostname another && exec setarch --addr-no-randomize "$@"' sh ;;
        4) build_as "$1" env TZ=Pacific/Auckland LC_ALL=tr_TR.UTF-8 LANG=tr_TR.UTF-8 ;;
        5) build_as "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin ;;
        7) touch "$W/back"; build_as "$1" env CLOCK_BACK="$W/back" LD_PRELOAD="$clock_back" ;;
        8) "$IMGBUILD" build "$P/images/$1.json" --cache "$S" --output "$P/out" --locked --offline --no-proof --jobs 1 --progress plain >>"$W/log" 2>&1 ;;
        9) IMGBUILD=$U/home/imgbuild as_user "$U/home/imgbuild" build "$P/images/$1.json" --cache "$S" --output "$P/out" --locked --offline --no-proof --progress plain >>"$W/log" 2>&1 ;;
        *) build_as "$1" ;;
        esac
}

# The other machine is an image of ours, with what imgbuild needs of a host, emulated.
machine_made() {
        cat >"$RECIPES/machine.json" <<'R'
{ "name": "machine", "base": { "distro": "debian", "release": "trixie" }, "overlays": ["node-base"],
  "kernel": { "package": "linux-image-cloud-amd64", "cmdline": "console=tty0 console=ttyS0,115200 no_timer_check" },
  "packages": ["python3", "curl", "mmdebstrap", "bubblewrap", "uidmap", "gpgv", "libjson-c5", "libcurl4t64", "libssl3t64", "libblkid1", "libarchive13t64", "libseccomp2",
          "libzstd1", "libyaml-0-2", "libp11-kit0", "libext2fs2t64", "libcom-err2", "libguestfs0t64"],
  "disk": { "formats": ["raw"] } }
R
        build machine >>"$W/log" 2>&1
}
# on_machine: its kernel, distribution and processor, and of each lock how its build ended and what sums_of says, in $W/said.
on_machine() {
        local M=$W/machine server s
        mkdir -p "$M/site" "$M/in/store"
        cp -r "$PROJECT" "$M/in/place"
        cp "$IMGBUILD" "$M/in/imgbuild"
        downloads "$M/in/store"
        {
                echo 'cd /srv; IMGBUILD=/srv/imgbuild P=/srv/place S=/srv/store W=/srv U=/nowhere'
                declare -f tree_sum layers_of sums_of build_as
                echo 'uname -srm; sed -n "s/^PRETTY_NAME=//p" /etc/os-release; grep -m 1 "^model name" /proc/cpuinfo'
                echo "for name in ${locks[*]}; do"
                echo 'build_as $name; echo "== $name $?"; sums_of $P/images/$name.json $S $P/out/$name; done; echo "== end"; tail -n 20 /srv/log >&2'
        } >"$M/in/run"
        tar -C "$M/in" -cf "$M/site/in.tar" .
        python3 "$TOP/tests/fixtures/httpd" "$M/site" "$M/port" &
        server=$!
        for _ in $(seq 200); do [[ -s $M/port ]] && break; sleep 0.05; done
        (cd "$PROJECT" && exec "$IMGBUILD" boot "$OUT/machine/machine.raw" --cache "$CACHE" --offline --progress plain --disk-size 24G --memory 6G --timeout 7200 \
                -- "curl -sS http://10.0.2.2:$(<"$M/port")/in.tar | tar -C /srv -x && bash /srv/run") >"$W/said" 2>"$W/machine.log"
        s=$?
        kill "$server"
        rm -rf "$M"
        [[ $s -eq 0 ]] && grep -qx '== end' "$W/said" && return 0
        tail -n 30 "$W/machine.log" "$W/said"
        return 1
}
another_machine() {
        local name other here s
        machine_made && on_machine
        check "another machine is made, and builds" $?
        other=$(sed -n 1p "$W/said") here=$(uname -srm)
        [[ -n $other && $other != "$here" ]]
        check "… with another kernel: $other, here $here" $?
        for name in "${locks[@]}"; do
                sed -n "/^== $name 0\$/,/^== /{/^== /!p}" "$W/said" >"$W/$name.10"
                [[ -s $W/$name.10 ]] && diff "$W/$name.0" "$W/$name.10" >"$W/diff"
                s=$?
                check "$name, the same bytes: another machine, kernel and distribution" $s
                [[ $s -eq 0 ]] || sed 's/^/# /' "$W/diff"
        done
}
user_begin
has_user=$?
for way in 0 ${WAYS:-$(seq 10)}; do
        if [[ $way -eq 10 ]]; then another_machine; continue; fi
        P=$W/place-$way S=$store
        [[ $way -ne 6 ]] || P="$W/a place, with a räther long name/$(printf 'deep/%.0s' {1..20})"
        if [[ $way -eq 9 ]]; then
                if [[ $has_user -ne 0 ]]; then echo "skip - as an ordinary user: $why"; continue; fi
                P=$U/home/project S=$U/home/cache
        fi
        mkdir -p "$P"
        cp -r "$PROJECT/." "$P/"
        if [[ $way -eq 9 ]]; then
                downloads "$S" copied
                chown -R 64321:64321 "$U/home"
        fi
        for name in "${locks[@]}"; do
                [[ $way -eq 9 ]] || while read -r _ digest; do rm -rf "${S:?}/layers/$digest"; done < <(layers_of "$P/images/$name.json" "$S")
                one "$name" "$way"
                s=$?
                sums_of "$P/images/$name.json" "$S" "$P/out/$name" >"$W/$name.$way"
                if [[ $way -eq 0 ]]; then
                        [[ $s -eq 0 && -s $W/$name.0 ]]
                        s=$?
                        check "$name builds: ${ways[0]}" $s
                        [[ $s -eq 0 ]] || { tail -n 20 "$W/log"; exit 1; }
                else
                        [[ $s -eq 0 ]] && diff "$W/$name.0" "$W/$name.$way" >"$W/diff"
                        s=$?
                        check "$name, the same bytes: ${ways[way]}" $s
                        [[ $s -eq 0 ]] || { tail -n 5 "$W/log"; sed 's/^/# /' "$W/diff"; }
                fi
        done
        rm -rf "$P"
done
user_end
rm -rf "$store"
exit $rc
