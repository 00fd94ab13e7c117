# Sourced by e2e tests of stages: a small tree recipe with an overlay that has something of every kind.

W=$E2E/small
rm -rf "$W"
mkdir -p "$W"

small_project() {
        local o=$W/overlays/small
        rm -rf "$o"
        mkdir -p "$W/images" "$o/files/etc/small" "$o/files/usr/bin" "$o/files/usr/lib/small"
        cat >"$W/images/small.json" <<'E'
{ "name": "small", "kind": "tree", "overlays": ["small"],
  "base": { "distro": "debian", "release": "trixie", "arch": "amd64", "components": ["main"] } }
E
        cat >"$o/overlay.json" <<'E'
{ "description": "Something of every kind",
  "packages": { "debian": ["zstd"] },
  "compile": [{ "packages": { "debian": ["m4"] }, "script": "compile.sh" }],
  "modes": { "etc/small/secret": "0600" },
  "run": ["run.sh"] }
E
        echo secret >"$o/files/etc/small/secret"
        printf '#!/bin/sh\n' >"$o/files/usr/bin/small-tool"
        mkdir -p "$o/files/lib/small"
        echo early >"$o/files/lib/small/from-lib"
        chmod 0700 "$o/files/usr/bin/small-tool"
        cat >"$o/run.sh" <<'E'
#!/bin/sh
set -eu
echo "$(id -un) $(uname -n) $(sed 1,2d /proc/net/dev | wc -l)" >/etc/small/ran
E
        cat >"$o/compile.sh" <<'E'
#!/bin/bash
set -eu
echo "small 1.0 with m4" >"$IMGBUILD_CONTEXT"
mkdir -p "$DESTDIR/lib/small"
echo "JOBS() jobs" | m4 -DJOBS="compiled $JOBS" >"$DESTDIR/lib/small/compiled"
touch /etc/not-in-destdir
E
        chmod 0755 "$o"/*.sh
}

# small VERB [ARGS]: with the suite's store.
small() { "$IMGBUILD" "$1" "$W/images/small.json" --cache "${STORE:-$CACHE}" --progress plain --jobs 3 "${@:2}"; }

small_digests() {
        "$IMGBUILD" plan "$W/images/small.json" --cache "$CACHE" --offline --json |
                python3 -c 'import json,sys; print(*[s["digest"] for s in json.load(sys.stdin)["stages"]])'
}
