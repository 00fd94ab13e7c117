# Sourced by e2e tests of stages: a small tree recipe with an overlay that has something of every kind.

W=$E2E/small
rm -rf "$W"
mkdir -p "$W"

# Its artifacts come from a server on loopback, so that URLs stay the same while a test runs.
mkdir -p "$W/site/tree-1.0/bin" "$W/site/tree-1.0/lib"
printf '#!/bin/sh\necho unpacked\n' >"$W/site/tree-1.0/bin/unpacked"
chmod 0755 "$W/site/tree-1.0/bin/unpacked"
ln -s ../bin/unpacked "$W/site/tree-1.0/lib/link"
tar -C "$W/site" -czf "$W/site/tree-1.0.tar.gz" tree-1.0
printf '#!/bin/sh\necho single\n' >"$W/site/single"
python3 "$TOP/tests/fixtures/httpd" "$W/site" "$W/port" &
server=$!
trap 'kill $server 2>/dev/null' EXIT
for _ in $(seq 100); do [[ -s $W/port ]] && break; sleep 0.05; done

base_tools "$W/images"

small_project() {
        local o=$W/overlays/small
        rm -rf "$o"
        mkdir -p "$o/files/etc/small" "$o/files/usr/bin" "$o/files/usr/lib/small"
        cat >"$W/images/small.json" <<'E'
{ "name": "small", "kind": "tree", "overlays": ["small"],
  "base": { "distro": "debian", "release": "trixie", "arch": "amd64", "components": ["main"] } }
E
        cat >"$o/overlay.json" <<E
{ "description": "Something of every kind",
  "packages": { "debian": ["zstd"] },
  "artifacts": [
    { "name": "tree", "version": "1.0", "url": "http://127.0.0.1:$(cat "$W/port")/tree-\${version}.tar.gz",
      "install": { "unpack": "/opt/tree", "strip": 1 } },
    { "name": "single", "version": "1", "url": "http://127.0.0.1:$(cat "$W/port")/single",
      "install": { "path": "/usr/local/bin/single", "mode": "0755" } }],
  "compile": [{ "packages": { "debian": ["m4", "bc"] }, "without": { "debian": ["libreadline8t64"] }, "script": "compile.sh",
    "artifacts": [{ "name": "source", "version": "1.0", "url": "http://127.0.0.1:$(cat "$W/port")/tree-\${version}.tar.gz" }] }],
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
"$ARTIFACTS/source/bin/unpacked" >"$DESTDIR/lib/small/from-source"
touch "$ARTIFACTS/source/is-writable" /etc/not-in-destdir
# Taken for installed: what depends on it is there, it is not, and the database is sound.
[[ -e /usr/bin/bc && ! -e /usr/lib/x86_64-linux-gnu/libreadline.so.8 && -z $(dpkg --audit) ]]
apt-get check
E
        chmod 0755 "$o"/*.sh
}

# small VERB [ARGS]: with the suite's store.
small() { "$IMGBUILD" "$1" "$W/images/small.json" --cache "${STORE:-$CACHE}" --progress plain --jobs 3 "${@:2}"; }

small_digests() {
        "$IMGBUILD" plan "$W/images/small.json" --cache "$CACHE" --offline --json |
                python3 -c 'import json,sys; print(*[s["digest"] for s in json.load(sys.stdin)["stages"]])'
}

# small_tools STORE: the tools' base, as the suite's store has it, which makes it where nothing needed it so far: a base that other
# tools made of the same packages is the same.
small_tools() {
        local base
        "$IMGBUILD" build "$W/images/tools.json" --cache "$CACHE" --progress plain >"$W/tools.log" 2>&1 || tail -n 20 "$W/tools.log"
        base=$("$IMGBUILD" plan "$W/images/tools.json" --cache "$CACHE" --offline --json |
                python3 -c 'import json,sys; print(json.load(sys.stdin)["stages"][0]["digest"][:32])')
        mkdir -p "$1/layers"
        cp -al "$CACHE/layers/$base" "$1/layers/" 2>/dev/null || cp -a "$CACHE/layers/$base" "$1/layers/"
}
