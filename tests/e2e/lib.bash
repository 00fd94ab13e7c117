# Sourced by the e2e tests. They share one store of their own, so that what they build is cold on a clean clone and the
# user's store stays out of it, the images, and the project with its locks. All else is a script's own, for scripts run
# beside each other: $E2E, its folder, and where it edits recipes or overlays its own copy of the project.

if [[ $EUID -ne 0 ]]; then echo "root (these tests build and boot images; run sudo make check)"; exit 77; fi

SHARED=$TOP/$BUILD/e2e
CACHE=$SHARED/cache
OUT=$SHARED/images
PROJECT=$SHARED/project
RECIPES=$PROJECT/images
E2E=$SHARED/$(basename "$0" .sh)
mkdir -p "$E2E" "$OUT"
rc=0

# check NAME STATUS: one result line, and one that says how long it took where that was long.
checked=$SECONDS
check() {
        if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; rc=1; fi
        [[ $((SECONDS - checked)) -lt 5 ]] || echo "#   took $((SECONDS - checked)) s"
        checked=$SECONDS
        return "$2"
}

# The head node's recipe and overlay, where imgbuild looks for them.
head_recipe() { # RECIPES OVERLAYS
        mkdir -p "$1" "$2/head"
        cp "$TOP/tests/fixtures/head/head.json" "$1/"
        cp "$TOP"/tests/fixtures/head/{overlay.json,*.sh} "$2/head/"
}

# project: a copy of recipes and overlays, with those of the head node. Made anew only where something has changed, as other
# scripts may be reading it; lock files of earlier scripts of this run stay.
project() {
        local r new folder
        mkdir -p "$RECIPES"
        exec {project_lock}<"$PROJECT"
        flock "$project_lock"
        new=$(mktemp -d "$E2E/new-project-XXXXXX")
        cp -r "$TOP/overlays" "$TOP/firstboot" "$new/"
        head_recipe "$new/images" "$new/overlays"
        for r in "$TOP"/images/*.json "$new"/images/*.json; do
                [[ $r == *.lock.json ]] || cmp -s "$r" "$RECIPES/${r##*/}" || cp "$r" "$RECIPES/"
        done
        for folder in overlays firstboot; do
                diff -rq --no-dereference "$new/$folder" "$PROJECT/$folder" >/dev/null 2>&1 && continue
                rm -rf "${PROJECT:?}/$folder"
                mv "$new/$folder" "$PROJECT/$folder"
        done
        rm -rf "$new"
        exec {project_lock}<&-
}

# own_project: a copy of it that this script may edit.
own_project() {
        PROJECT=$SHARED/project RECIPES=$SHARED/project/images
        project
        rm -rf "$E2E/project"
        cp -r "$PROJECT" "$E2E/project"
        PROJECT=$E2E/project
        RECIPES=$PROJECT/images
}

# base_tools FOLDER: for recipes there, tools that can do no more than make their bases: a store of a test's own has them in seconds.
base_tools() {
        mkdir -p "$1"
        cat >"$1/tools.json" <<'E'
{ "name": "tools", "kind": "tree",
  "base": { "distro": "debian", "release": "trixie", "arch": "amd64", "components": ["main"], "packages": ["mmdebstrap"] } }
E
}

# alone COMMAND…: while no other script works on what all of them share; one of those that need it makes it.
alone() {
        local alone_lock status
        exec {alone_lock}<"$SHARED"
        flock "$alone_lock"
        "$@"
        status=$?
        exec {alone_lock}<&-
        return $status
}

# cpu_image: debian-13-cpu, of recipes that are up to date; without it there is nothing to test.
cpu_image() {
        project
        build debian-13-cpu >"$E2E/build.log" 2>&1 || { tail -n 40 "$E2E/build.log"; echo "not ok - debian-13-cpu builds"; exit 1; }
}

build() { "$IMGBUILD" build "$RECIPES/$1.json" --cache "$CACHE" --output "$OUT" --progress plain "${@:2}"; }

manifest() { python3 -c 'import json,sys
m = json.load(open(sys.argv[1]))
for key in sys.argv[2].split("."):
    m = m[int(key)] if isinstance(m, list) else m[key]
print(m if not isinstance(m, (dict, list)) else json.dumps(m))' "$OUT/$1/manifest.json" "$2"; }

# Nothing of a build is mounted or running: of this script's builds, for tests/run gives it namespaces of its own.
no_leftovers() { ! grep -q "$CACHE" /proc/mounts && ! pgrep -f "bwrap.*$CACHE" >/dev/null; }

# no_scratch: a run that ended has left nothing in the store. Those that go on beside hold a lock on theirs.
no_scratch() {
        local folder
        for folder in "$CACHE"/work/*; do
                [[ ! -d $folder ]] || ! flock -n "$folder" true 2>/dev/null || sleep 1 # one is made, then locked
                [[ ! -d $folder ]] || ! flock -n "$folder" true 2>/dev/null || { echo "# $folder"; return 1; }
        done
}

# serve_locked FOLDER LOCK…: FOLDER, that of a server, gets what the locks name, and nothing else: packages below the folder of their
# archive, artifacts where their URL's path leads. No index is there.
serve_locked() {
        python3 - "$CACHE/blobs/sha256" "$@" <<'E'
import json, os, sys, urllib.parse
blobs, site, *locks = sys.argv[1:]
def put(place, sha256):
    os.makedirs(os.path.dirname(place), exist_ok=True)
    if not os.path.exists(place):
        os.link(f"{blobs}/{sha256[:2]}/{sha256}", place)
for path in locks:
    with open(path, encoding="utf-8") as f:
        lock = json.load(f)
    for p in (p for s in lock["stages"] for p in s["packages"]):
        put(f"{site}/{'debian-security' if p['origin'] == 'debian-security' else 'debian'}/{p['path']}", p["sha256"])
    for a in lock.get("artifacts", []):
        put(site + urllib.parse.urlsplit(a["url"]).path, a["sha256"])
E
}

# locked_network FOLDER COMMAND…: with --mirror behind it, in a network where there is nothing but a server of FOLDER/site, on $PORT or
# any port. FOLDER/requests has what it was asked for.
locked_network() {
        rm -f "$1/port"
        # shellcheck disable=SC2016 # for the shell in that network
        no_proxy=127.0.0.1 HTTPD_PORT=${PORT:-0} unshare -n bash -c '
                ip link set lo up && python3 "$TOP/tests/fixtures/httpd" "$0/site" "$0/port" "$0/requests" &
                for _ in $(seq 2400); do [[ -s $0/port ]] && break; sleep 0.05; done
                exec "$@" --mirror "http://127.0.0.1:$(<"$0/port")/debian"' "$@"
}

# asks_for_locked FOLDER: each file of FOLDER/site was asked for, and nothing else.
asks_for_locked() {
        python3 - "$1" <<'E'
import os, sys, urllib.parse
site = sys.argv[1] + "/site"
locked = {os.path.join(folder, f)[len(site):] for folder, _, files in os.walk(site) for f in files}
with open(sys.argv[1] + "/requests", encoding="utf-8") as f:
    asked = {urllib.parse.unquote(line.split()[1]) for line in f}
asked = {path + "index.html" if path.endswith("/") else path for path in asked} # a page of an index
for path in sorted(asked - locked):
    print(f"# {path} was asked for, and is not locked")
for path in sorted(locked - asked):
    print(f"# {path} is locked, and was not asked for")
sys.exit(asked != locked or not locked)
E
}

# blobs_of LOCK FOLDER [copied]: FOLDER, that of a store, gets the downloads that LOCK names and no others. Links, where
# they can be, unless it is to have copies.
blobs_of() {
        local sum place
        for sum in $(grep -oE '\b[0-9a-f]{64}\b' "$1" | sort -u); do
                place=blobs/sha256/${sum:0:2}
                [[ -e $CACHE/$place/$sum ]] || continue
                mkdir -p "$2/$place"
                [[ -z ${3:-} ]] && cp -l "$CACHE/$place/$sum" "$2/$place/" 2>/dev/null && continue
                cp "$CACHE/$place/$sum" "$2/$place/" || return 1
        done
}

# make_key: the key that the suite's machines let in, $KEY.
KEY=$SHARED/key
make_key() { flock "$SHARED" sh -c '[ -f "$0" ] || ssh-keygen -q -t ed25519 -N "" -C e2e -f "$0"' "$KEY"; }

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# disk_variant NAME DISK: a recipe that differs from debian-13-cpu in the disk alone. It takes that one's lock, so its stages are
# in the store.
disk_variant() {
        printf '{ "name": "%s", "extends": "debian-13-cpu", "disk": %s }\n' "$1" "$2" >"$RECIPES/$1.json"
        sed "s/\"recipe\": \"debian-13-cpu\"/\"recipe\": \"$1\"/" "$RECIPES/debian-13-cpu.lock.json" >"$RECIPES/$1.lock.json"
}
disk_xfs() { disk_variant disk-xfs '{ "filesystem": "xfs", "firmware": ["bios"], "formats": ["raw"] }'; }

# Of what a layer is for whoever takes it, without what its own store adds for overlayfs.
tree_sum() { # LAYER: names, modes, times and contents; whose they are shows in the disk
        (cd "$1/tree" && { find . -type d -printf '%P %y %m %T@\n'; find . ! -type d -printf '%P %y %m %s %T@ %l\n'; } | sort &&
                find . -type f -print0 | sort -z | xargs -0r sha256sum) | sha256sum
}

# layer_sums RECIPE STORE [PATTERN]: a line for each layer of the recipe that the store has, or of the stages whose ids match.
layer_sums() {
        local id digest
        while read -r id digest; do
                [[ $id =~ ${3:-.} ]] && echo "$digest $(tree_sum "$2/layers/$digest")"
        done < <("$IMGBUILD" plan "$RECIPES/$1.json" --cache "$CACHE" --offline --json 2>/dev/null | python3 -c 'import json,sys
for s in json.load(sys.stdin)["stages"]: print(s["id"], s["digest"][:32])')
}
