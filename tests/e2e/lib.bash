# Sourced by the e2e tests. They share one store of their own, so that what they build is cold on a clean clone and the
# user's store stays out of it; the first script of the suite pays for the downloads and the tools tree.

if [[ $EUID -ne 0 ]]; then echo "root (these tests build and boot images; run sudo make check)"; exit 77; fi

E2E=$TOP/$BUILD/e2e
CACHE=$E2E/cache
OUT=$E2E/images
PROJECT=$E2E/project
RECIPES=$PROJECT/images
mkdir -p "$E2E" "$OUT"
rc=0

# check NAME STATUS: one result line.
check() {
        if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; rc=1; fi
}

# project: a copy of recipes and overlays that tests may edit; lock files of earlier scripts of this run stay.
project() {
        mkdir -p "$RECIPES"
        rm -rf "$PROJECT/overlays" "$PROJECT/firstboot"
        cp -r "$TOP/overlays" "$TOP/firstboot" "$PROJECT/"
        local r
        for r in "$TOP"/images/*.json; do [[ $r == *.lock.json ]] || cp "$r" "$RECIPES/"; done
}

build() { "$IMGBUILD" build "$RECIPES/$1.json" --cache "$CACHE" --output "$OUT" --progress plain "${@:2}"; }

manifest() { python3 -c 'import json,sys
m = json.load(open(sys.argv[1]))
for key in sys.argv[2].split("."):
    m = m[int(key)] if isinstance(m, list) else m[key]
print(m if not isinstance(m, (dict, list)) else json.dumps(m))' "$OUT/$1/manifest.json" "$2"; }

no_leftovers() { # nothing of a build is mounted or running
        ! grep -q "$CACHE" /proc/mounts && ! pgrep -f "bwrap.*$CACHE" >/dev/null
}

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
