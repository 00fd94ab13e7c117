# Sourced by the benches: timing, and mkosi run from a Debian tree of its own.

BENCH=${BENCH:-$TOP/$BUILD/bench}
CACHE=$BENCH/cache
RECIPES=$BENCH/project/images
mkdir -p "$BENCH"

# seconds COMMAND…: wall clock; output goes to $BENCH/log.
seconds() {
        local from to
        from=$(date +%s%N)
        "$@" >>"$BENCH/log" 2>&1 || { echo "bench: failed: $*; see $BENCH/log" >&2; return 1; }
        to=$(date +%s%N)
        awk -v a="$from" -v b="$to" 'BEGIN { printf "%.2f\n", (b - a) / 1e9 }'
}

median() { sort -n | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

# row WHAT OURS PEER AIM: one line of the table; the ratio is ours / peer.
row() {
        awk -v what="$1" -v ours="$2" -v peer="$3" -v aim="$4" 'BEGIN {
                if (peer == "-") printf "%-58s %9.2f %9s %9s  %s\n", what, ours, "", "", aim
                else printf "%-58s %9.2f %9.2f %9.2f  %s\n", what, ours, peer, ours / peer, aim }'
}

# bench_project: a copy of the recipes and overlays that a bench may edit; the tests have one of their own (project of lib.bash).
bench_project() {
        rm -rf "$BENCH/project"
        mkdir -p "$BENCH/project"
        cp -r "$TOP/images" "$TOP/overlays" "$TOP/firstboot" "$BENCH/project/"
        # An earlier bench's lock keeps packages, and so figures, comparable.
        if [[ -d $BENCH/locks ]]; then cp "$BENCH"/locks/*.lock.json "$RECIPES/" 2>/dev/null; fi
        return 0
}

imgbuild_build() { "$IMGBUILD" build "$RECIPES/$1.json" --cache "$CACHE" --output "$BENCH/out" --progress plain "${@:2}"; }

# Takes the layers of a recipe out of the store, downloads and tools tree stay. They are only put aside: ext4 gives out no inode that was
# deleted in the last minutes, and looks at each of them for every new file, which no cold build has to wait for, ours or the peer's.
FORGOTTEN=$BENCH/forgotten
forget_layers() {
        mkdir -p "$FORGOTTEN"
        "$IMGBUILD" plan "$RECIPES/$1.json" --cache "$CACHE" --json 2>>"$BENCH/log" |
                python3 -c 'import json,sys; [print(s["digest"][:32]) for s in json.load(sys.stdin)["stages"]]' |
                while read -r d; do if [[ -e $CACHE/layers/$d ]]; then mv "$CACHE/layers/$d" "$(mktemp -d "$FORGOTTEN/XXXXXX")/"; fi; done
        rm -rf "$BENCH/out/$1"
}

# ---- the peer: Debian's mkosi, in a trixie tree of its own ----

mkosi_tree() {
        mkdir -p "$BENCH"/mkosi-{work,cache,packages,out,tmp} # what mkosi_run binds
        [[ -x $BENCH/mkosi/usr/bin/mkosi ]] && return
        mmdebstrap --quiet --variant=apt --components=main --aptopt='APT::Install-Recommends "false"' \
                --include=mkosi,systemd-container,systemd-repart,systemd-ukify,systemd-boot,dosfstools,mtools,e2fsprogs \
                --include=debian-archive-keyring,zstd,cpio,uidmap,xz-utils \
                trixie "$BENCH/mkosi" >>"$BENCH/log" 2>&1
}

# docs_of RECIPE: mkosi's WithDocs for it. Ours leaves documentation out where the recipe has the overlay slim.
docs_of() {
        if "$IMGBUILD" plan "$RECIPES/$1.json" --cache "$CACHE" --json 2>>"$BENCH/log" | grep -q '"run:slim'; then echo no; else echo yes; fi
}

# mkosi_project RECIPE: a project with the same packages, name by name, as the recipe's lock has of Debian's own: what repositories of
# vendors add, and what we compile, is not in it, to our disadvantage. Packages, caches and images of two recipes are apart.
mkosi_project() {
        local work=$BENCH/mkosi-work packages
        rm -rf "$BENCH/mkosi-out"
        rm -rf "$work"
        mkdir -p "$BENCH/mkosi-out" "$work/mkosi.sandbox/etc/apt/sources.list.d" "$work/mkosi.extra/etc"
        packages=$(python3 -c '
import json, sys
lock = json.load(open(sys.argv[1]))
print(",".join(sorted({p["name"] for s in lock["stages"] if not s["id"].startswith("compile:") for p in s["packages"]
                       if p.get("origin", "debian").startswith("debian")})))' \
                "$RECIPES/$1.lock.json")
        cat >"$work/mkosi.conf" <<EOF
[Distribution]
Distribution=debian
Release=trixie

[Output]
Format=disk
Output=bench
OutputDirectory=/out

[Build]
CacheDirectory=/cache
PackageCacheDirectory=/packages

[Content]
Bootable=yes
Bootloader=systemd-boot
WithDocs=$(docs_of "$1")
Packages=systemd-boot,$packages
EOF
        [[ ${2:-} != build ]] || mkosi_compiles "$1"
        echo one >"$work/mkosi.extra/etc/bench"
        # mkosi's own list of repositories has one that not every mirror carries; this host's mirror serves the others.
        python3 -c '
import subprocess
seen = {}
targets = subprocess.check_output(["apt-get", "indextargets", "--format", "$(LABEL)|$(REPO_URI)|$(CREATED_BY)"], text=True)
for line in targets.splitlines():
    label, uri, by = line.split("|")
    if by == "Packages" and label in ("Debian", "Debian-Security"):
        seen.setdefault(label, uri)
suites = {"Debian": "trixie trixie-updates", "Debian-Security": "trixie-security"}
for label, uri in seen.items():
    print("Types: deb\nURIs: %s\nSuites: %s\nComponents: main contrib non-free non-free-firmware\nSigned-By: %s\n"
          % (uri, suites[label], "/usr/share/keyrings/debian-archive-keyring.gpg"))' \
                >"$work/mkosi.sandbox/etc/apt/sources.list.d/mkosi.sources"
}

# mkosi_compiles RECIPE: its image brings what we compile too, with the same packages by the same scripts.
mkosi_compiles() {
        local work=$BENCH/mkosi-work overlay
        python3 -c '
import json, sys
lock = json.load(open(sys.argv[1]))
print("\n[Build]\nBuildSources=.:\n[Content]\nBuildPackages=" + ",".join(sorted({
    p["name"] for s in lock["stages"] if s["id"].startswith("compile:") for p in s["packages"]})))' \
                "$RECIPES/$1.lock.json" >>"$work/mkosi.conf"
        cp -r "$BENCH/project/firstboot" "$work/agent"
        cat >"$work/mkosi.build.chroot" <<'S'
#!/bin/bash
set -eu
KERNEL=$(ls /usr/lib/modules) JOBS=$(nproc) IMGBUILD_CONTEXT=/dev/null sources=$SRCDIR
export KERNEL JOBS IMGBUILD_CONTEXT
for script in "$sources"/compile-*.sh; do
        cd "$(mktemp -d)"
        SRCDIR=$sources/agent bash "$script"
done
S
        for overlay in $(python3 -c 'import json,sys; print(*{s["id"].split(":")[1].split("/")[0] for s in json.load(open(sys.argv[1]))["stages"] if s["id"].startswith("compile:")})' \
                "$RECIPES/$1.lock.json"); do
                cp "$BENCH/project/overlays/$overlay/compile.sh" "$work/compile-$overlay.sh"
        done
        chmod +x "$work/mkosi.build.chroot"
}

mkosi_run() {
        bwrap --bind "$BENCH/mkosi" / --dev /dev --proc /proc --bind /sys /sys --perms 1777 --tmpfs /tmp --tmpfs /run \
                --bind "$BENCH/mkosi-tmp" /var/tmp --bind "$BENCH/mkosi-work" /work --bind "$BENCH/mkosi-cache" /cache \
                --bind "$BENCH/mkosi-packages" /packages --bind "$BENCH/mkosi-out" /out \
                --ro-bind /etc/resolv.conf /etc/resolv.conf --unshare-pid --cap-add ALL --chdir /work mkosi "$@"
}
