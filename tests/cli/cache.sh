#!/bin/bash
# imgbuild cache: lists, prunes, and refuses what it does not understand.
set -u
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
rc=0
check() { if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; rc=1; fi; }
cache() { "$IMGBUILD" cache "$@" --cache "$T/store" >"$T/out" 2>"$T/err"; }
json() { python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$T/out" "$1"; }

cache list
s=$?
if [[ $s -eq 5 ]] && grep -q 'run imgbuild as root' "$T/err"; then echo "root or user namespaces"; exit 77; fi
check "an empty store is made and listed" $s

layer() { # layer DIGEST AGE-IN-SECONDS: as a build would have left it
        local d=$T/store/layers/${1:0:32}
        mkdir -p "$d/tree" && head -c 100000 /dev/zero >"$d/tree/file"
        echo "{\"recipe\": \"r\", \"stage\": \"s$2\", \"digest\": \"$1\", \"bytes\": 102400}" >"$d/meta.json"
        touch -d "-$2 seconds" "$d"
}
old=$(printf 'a%.0s' {1..64}) new=$(printf 'b%.0s' {1..64})
layer "$old" 864000
layer "$new" 60

cache && grep -q "^aaaaaaaaaaaa .* 10d  r s864000" "$T/out" && grep -q '2 layers' "$T/out"
check "layers are listed with age, recipe and stage" $?
grep -q '^r  *2  *200.0 KiB' "$T/out"
check "and their sum by recipe" $?
cache list --json && [[ $(json layers) == 2 && $(json layer_bytes) == 204800 ]]
check "--json has the sums" $?
[[ $(python3 -c 'import json,sys; print([(r["recipe"], r["layers"], r["bytes"]) for r in json.load(open(sys.argv[1]))["recipes"]])' "$T/out") == "[('r', 2, 204800)]" ]]
check "and those by recipe" $?
cache prune --max-age 5d --dry-run --json && [[ $(json freed_bytes) == 102400 && $(json layers) == 2 ]]
check "a dry run says what would go, and takes nothing" $?
cache prune --max-age 5d && [[ ! -e $T/store/layers/${old:0:32} && -e $T/store/layers/${new:0:32} ]]
check "pruning by age takes the old ones" $?
layer "$old" 864000
cache prune --max-size 150000B && [[ ! -e $T/store/layers/${old:0:32} && -e $T/store/layers/${new:0:32} ]]
check "pruning by size takes the oldest first" $?
mkdir -p "$T/store/work/dead/0-layer" && cache list && [[ ! -e $T/store/work/dead ]]
check "what a killed run left is swept" $?

blob=$T/store/blobs/sha256/2c/2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824
mkdir -p "${blob%/*}" && printf hello >"$blob"
cache verify --json && [[ $(json blobs) == 1 && $(json unknown) == 1 && $(json damaged) == 0 ]]
check "verify: a download is what it was, a layer without a digest is told" $?
printf hellO >"$blob"
cache verify
[[ $? -eq 1 && ! -e $blob && -e $T/store/damaged/${blob##*/} ]] && grep -q 'Download 2cf24dba5fb0 is not what it was' "$T/err"
check "verify: a damaged download is told and set aside" $?
cache verify && grep -q ' 0 damaged' "$T/out"
check "verify: and then all is well" $?

# What a stranger's archive may hold.
cat >"$T/archive.py" <<'P'
import hashlib, io, sys, tarfile
kind, path = sys.argv[1:]
data = b"a download" * 5000
digest = hashlib.sha256(data).hexdigest()
name = f"blobs/sha256/{digest[:2]}/{digest}"
with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as t:
    i = tarfile.TarInfo(name)
    i.size = len(data)
    if kind == "absolute": i.name = "/" + name
    if kind == "climbing": i.name = "blobs/sha256/../../layers/x"
    if kind == "other": i.name = "layers/" + "a" * 32 + "/meta.json"
    if kind == "folder": i.name = f"blobs/sha256/{'0' * 2}/{digest}"
    if kind == "changed": data = b"A" + data[1:]
    if kind in ("link", "hard"):
        i.type, i.linkname, i.size = (tarfile.SYMTYPE if kind == "link" else tarfile.LNKTYPE), "/etc/passwd", 0
    if kind == "pipe": i.type, i.size = tarfile.FIFOTYPE, 0
    if kind == "huge": i.size = 1 << 60
    t.addfile(i, io.BytesIO(data)) if kind != "huge" else t.fileobj.write(i.tobuf(tarfile.GNU_FORMAT) + data)
if kind == "cut":
    with open(path, "r+b") as f: f.truncate(20000)
print(digest)
P
for kind in absolute climbing other folder changed link hard pipe huge cut; do
        digest=$(python3 "$T/archive.py" $kind "$T/$kind.tar" 2>/dev/null)
        cache import "$T/$kind.tar"
        s=$?
        want=4
        [[ $kind == huge ]] && want=5
        [[ $s -eq $want && -z $(find "$T/store" -name "${digest:-none}" -print -quit) && -z $(find "$T/store/work" -type f -size +0 -print -quit) && ! -e $T/store/layers/x ]]
        ok=$?
        check "import: an archive with a part that is $kind is refused (exit code $s: $(head -n 1 "$T/err" | cut -c1-150))" $ok
done
digest=$(python3 "$T/archive.py" whole "$T/whole.tar")
cache import "$T/whole.tar" && [[ $(sha256sum <"$T/store/blobs/sha256/${digest:0:2}/$digest") == "$digest  -" ]] && grep -q 'Took 1 downloads' "$T/err"
check "import: a whole one is taken" $?
cache import "$T/whole.tar" && grep -q '1 were there already' "$T/err"
check "import: and once is enough" $?
: >"$T/empty.tar"
cache import "$T/empty.tar"
[[ $? -eq 4 ]]
check "import: nothing is no archive" $?
cache import "$T/missing.tar"
[[ $? -eq 3 ]]
check "import: a missing file ends with 3" $?

usage() { # usage NAME ARGS…: wrong usage, and a message with PATTERN
        local pattern=$1
        shift
        cache "$@"
        [[ $? -eq 2 ]] && grep -qe "$pattern" "$T/err" && ! grep -q "Invalid argument" "$T/err"
        check "cache $*: exit code 2 and why" $?
}
usage "does not know 'clean'; it knows list, prune, verify, export, import and push" clean
usage 'max-age, --max-size or both' prune
usage 'cache export RECIPE FILE' export x
usage 'cache import FILE' import
usage 'max-age=5x' prune --max-age 5x
usage 'max-age=-1d' prune --max-age -1d
# Thirty seconds, or twenty bytes, would empty the store.
usage 'max-age=30: a number with one of the units .*, such as 30d' prune --max-age 30
usage 'max-size=20: a number with one of the units .*, such as 20G' prune --max-size 20
usage 'max-size=99999999999999999999' prune --max-size 99999999999999999999
usage 'max-size=' prune --max-size ''

echo 'something else' >"$T/store/format"
cache
[[ $? -ne 0 ]] && grep -q -- '--cache' "$T/err"
check "a folder that is no store is refused" $?
touch "$T/file"
"$IMGBUILD" cache --cache "$T/file" >"$T/out" 2>"$T/err"
[[ $? -ne 0 && $(wc -l <"$T/err") -eq 1 ]] && grep -q "$T/file" "$T/err"
check "a file instead of a store is one clear message" $?
exit $rc
