#!/bin/bash
# debian-13-gpu: built, with the real driver, compiled for the image's kernel. 30-gpu.sh boots an image that extends it.
#
# lane: compute
# after: e2e/10
set -u
source "$TOP/tests/e2e/lib.bash"
project

build debian-13-gpu >"$E2E/gpu-build.log" 2>&1
s=$?
check "debian-13-gpu builds, driver and all" $s
[[ $s -eq 0 ]] || { tail -n 60 "$E2E/gpu-build.log"; exit 1; }

driver=$(manifest debian-13-gpu versions.driver)
[[ $driver == 550.* ]]
check "the manifest names the driver ($driver)" $?

# As Debian's security tracker has it: one that a later version of bash mends, one of the kernel that nothing does yet, one that bash is past.
cat >"$E2E/tracker.json" <<'E'
{"bash": {"TEST-1": {"releases": {"trixie": {"status": "resolved", "fixed_version": "99:1", "urgency": "high"}}},
          "TEST-2": {"releases": {"trixie": {"status": "resolved", "fixed_version": "1.0", "urgency": "high"}}}},
 "linux": {"TEST-3": {"releases": {"trixie": {"status": "open", "urgency": "low"}}}},
 "not-installed": {"TEST-4": {"releases": {"trixie": {"status": "open", "urgency": "low"}}}}}
E
"$IMGBUILD" inspect "$OUT/debian-13-gpu/debian-13-gpu.qcow2" --vulnerabilities "$E2E/tracker.json" --json >"$E2E/inspect.json" 2>"$E2E/build.log"
[[ $? -eq 1 ]] && python3 -c 'import json, sys
found = json.load(open(sys.argv[1]))["vulnerabilities"]
assert [(v["id"], v["package"], v.get("fixed")) for v in found] == [("TEST-1", "bash", "99:1"), ("TEST-3", "linux", None)], found
assert any(b.startswith("linux-image-") for b in found[1]["binaries"]), found' "$E2E/inspect.json"
check "inspect knows vulnerabilities of what is in the image, and ends with 1 where a fix is there" $?
[[ -s $E2E/inspect.json ]] &&
        python3 - "$E2E/inspect.json" "$OUT/debian-13-gpu/manifest.json" <<'E'
import json, sys
text = open(sys.argv[1]).read()
m = json.load(open(sys.argv[2]))
software = json.loads(text)["software"]
for program in ("firstbootd", "ncclbench"):
    assert software[program]["version"] == m["imgbuild"], software[program]
for version in (m["kernel"], m["versions"]["driver"]):
    assert version in text, version
E
check "inspect finds kernel, driver, agent and benchmark in the finished image, with their versions" $?
[[ -s $E2E/inspect.json ]] &&
        python3 - "$E2E/inspect.json" "$OUT/debian-13-gpu/manifest.json" <<'E'
import json, sys
found, manifest = ({(p["name"], p["arch"]): (p.get("source", p["name"]), p.get("source_version", p["version"])) for p in json.load(open(f))["packages"]} for f in sys.argv[1:])
assert manifest[("libssl3t64", "amd64")][0] == "openssl"
assert all(found[p] == source for p, source in manifest.items()), [(p, s, found[p]) for p, s in manifest.items() if found[p] != s]
E
check "… and of each package the source that the manifest names" $?
exit $rc
