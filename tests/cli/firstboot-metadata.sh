#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The configuration's layers, with a metadata service of OCI, AWS and GCP on loopback.
set -u
source tests/fixtures/node.bash
failed=
trap 'kill $server_pid 2>/dev/null; node_end' EXIT
node_new
python3 - "$NODE" <<'PY' &
import http.server, json, os, sys, time
node = sys.argv[1]
firstboot = '{"scratch": {"label": "meta", "lv": "meta"}}'
class Service(http.server.BaseHTTPRequestHandler):
    def log_message(self, *a):
        pass
    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def handle_any(self):
        open(node + "/requests", "a").write(self.command + " " + self.path + "\n")
        mode = open(node + "/mode").read().strip() if os.path.exists(node + "/mode") else ""
        h = self.headers
        if mode == "503-twice":
            n = sum(1 for _ in open(node + "/requests"))
            if n <= 2:
                return self.answer(503)
        if mode == "huge":
            return self.answer(200, b"x" * 3000000)
        if mode == "nonsense":
            return self.answer(200, b"<html>")
        if self.path == "/opc/v2/instance/" and h.get("Authorization") == "Bearer Oracle":
            return self.answer(200, json.dumps({"id": "ocid1.x", "shape": "BM.GPU4.8", "region": "fra", "metadata": {"firstboot": firstboot}}).encode())
        if self.path == "/opc/v2/host/" and mode in ("rdma", "half", "host-broken"):
            block = "ocid1.computenetworkblock.oc1.fra.anotherlongname" if mode == "rdma" else ""
            return self.answer(200, b"{" if mode == "host-broken" else json.dumps({"rackId": "r", "rdmaTopologyData": {
                "customerHPCIslandId": "ocid1.hpcisland.oc1.fra.island1", "customerNetworkBlock": block, "customerLocalBlock": "local, 7"}}).encode())
        if self.path == "/latest/api/token" and self.command == "PUT" and h.get("X-aws-ec2-metadata-token-ttl-seconds"):
            return self.answer(200, b"T0KEN")
        if self.path.startswith("/latest/") and h.get("X-aws-ec2-metadata-token") != "T0KEN":
            return self.answer(401)
        if self.path == "/latest/dynamic/instance-identity/document":
            return self.answer(200, b'{"instanceId": "i-1", "instanceType": "p5.48xlarge", "region": "us"}')
        if self.path == "/latest/meta-data/tags/instance/firstboot":
            return self.answer(404) if mode == "no-tag" else self.answer(200, firstboot.encode())
        if self.path == "/computeMetadata/v1/instance/?recursive=true" and h.get("Metadata-Flavor") == "Google":
            return self.answer(200, json.dumps({"id": 7, "machineType": "projects/1/machineTypes/a3-high", "attributes": {"firstboot": firstboot,
                "physical_host_topology": '{"cluster": "c1", "block": "b2", "subblock": "s3", "host": "h4"}' if mode == "rdma" else "nonsense"}}).encode())
        self.answer(404)
    do_GET = do_PUT = handle_any
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
open(node + "/port.new", "w").write(str(server.server_port))
os.rename(node + "/port.new", node + "/port")
server.serve_forever()
PY
server_pid=$!
for _ in $(seq 2400); do [[ -e $NODE/port ]] && break; sleep 0.05; done
export FIRSTBOOT_METADATA_URL=http://127.0.0.1:$(cat "$NODE/port")

ask() { python3 -c '
import json, subprocess, sys
o = json.loads(subprocess.run([sys.argv[1] + "/firstboot-helper", "config"], capture_output=True, text=True).stdout)
print(eval(sys.argv[2], {"o": o, "c": o["config"], "s": o["sources"], "i": o["instance"]}))' "$node_build" "$1" 2>&1; }
gives() { local got; got=$(ask "$1"); [[ $got == "$2" ]] || { echo "# $1 is '$got', not '$2'"; return 1; }; }
dmi() { rm -rf "$NODE/sys/class/dmi"; mkdir -p "$NODE/sys/class/dmi/id"; [[ -z ${1:-} ]] || echo "$2" >"$NODE/sys/class/dmi/id/$1"; : >"$NODE/requests"; }
node_json_file() { echo "$1" >"$NODE/etc/firstboot/node.json"; }

node_json_file '{"scratch":{"label":"baked","vg":"baked","lv":"baked"}}'
dmi
check "no cloud is asked where the firmware names none" gives 'i' '{}'
check "and nothing was sent" test ! -s "$NODE/requests"

dmi chassis_asset_tag OracleCloud.com
check "OCI: found by its asset tag, with id and shape" gives 'i["id"] + " " + i["shape"] + " " + i["cloud"]' "ocid1.x BM.GPU4.8 oci"
check "OCI: metadata goes over the image's configuration" gives 'c["scratch"]["label"] + " " + s["scratch.label"]' "meta metadata of oci"
check "OCI: and leaves the rest" gives 'c["scratch"]["vg"]' baked
check "OCI: a machine of no RDMA network has no place in one" gives '"fabric" in i' False
echo rdma >"$NODE/mode"
check "OCI: island, network block and local block, each by its end" gives 'i["fabric"]' "-oc1-fra-island1.-anotherlongname.local--7"
echo half >"$NODE/mode"
check "OCI: a place that is not whole is none" gives 'str("fabric" in i) + i["id"]' "Falseocid1.x"
echo host-broken >"$NODE/mode"
check "OCI: an answer that is no JSON neither, and no error" gives 'str("fabric" in i) + str(o["errors"])' "False[]"
rm "$NODE/mode"
dmi sys_vendor "Amazon EC2"
check "AWS: version 2, with a token" gives 'i["id"] + " " + i["shape"]' "i-1 p5.48xlarge"
check "AWS: configuration from the instance tag" gives 'c["scratch"]["lv"]' meta
echo no-tag >"$NODE/mode"
check "AWS: an instance without the tag is fine" gives 'c["scratch"]["lv"] + str(o["errors"])' "baked[]"
dmi product_name "Google Compute Engine"
check "GCP: names without their projects" gives 'i["id"] + " " + i["shape"]' "7 a3-high"
check "GCP: an attribute that is no JSON is no place" gives '"fabric" in i' False
echo rdma >"$NODE/mode"
check "GCP: cluster, block and subblock" gives 'i["fabric"]' "c1.b2.s3"
rm "$NODE/mode"

mkdir -p "$NODE/run/cloud-init"
echo '{"firstboot":{"scratch":{"label":"cloudcfg"}}}' >"$NODE/run/cloud-init/combined-cloud-config.json"
echo '{"v1":{"instance_id":"iid","region":"r","local_hostname":"h"}}' >"$NODE/run/cloud-init/instance-data.json"
check "user data goes over metadata" gives 'c["scratch"]["label"] + " " + c["scratch"]["lv"]' "cloudcfg meta"
check "what the metadata service knows is not overwritten by cloud-init" gives 'i["id"] + " " + i["hostname"]' "7 h"
echo '{"scratch":{"label":"ten"}}' >"$NODE/etc/firstboot/conf.d/10.json"
echo '{"scratch":{"label":"twenty"}}' >"$NODE/etc/firstboot/conf.d/20.json"
check "conf.d goes over all, later names last" gives 'c["scratch"]["label"] + " " + s["scratch.label"]' "twenty /etc/firstboot/conf.d/20.json"
rm "$NODE"/etc/firstboot/conf.d/*

dmi chassis_asset_tag OracleCloud.com
echo 503-twice >"$NODE/mode"
check "a service that is not up yet is asked again" gives 'i["id"]' ocid1.x
echo huge >"$NODE/mode"; dmi chassis_asset_tag OracleCloud.com
node_json_file '{"metadata":{"timeout":"1s"}}'
check "an answer beyond all measure is refused" gives 'len(o["errors"])' 1
echo nonsense >"$NODE/mode"
check "an answer that is no JSON is an error with its place" gives '"line 1, column 1" in o["errors"][0] and "OCI metadata" in o["errors"][0]' True
rm "$NODE/mode"
export FIRSTBOOT_METADATA_URL=http://127.0.0.1:1
check "a service that does not answer is an error that may pass" gives 'o["retry"] and o["errors"][0].startswith("metadata of oci: ")' True
node_json_file '{"metadata":{"timeout":"1s","required":false}}'
check "unless it is not required" gives 'str(o["retry"]) + str(o["errors"]) + str(len(o["warnings"]))' "False[]1"
node_json_file '{"metadata":{"provider":"none"}}'
check "or not wanted" gives 'o["errors"] + o["warnings"]' '[]'
echo '{"v1":{"instance_id":"iid","cloud_name":"azure"},"ds":{"meta_data":{"imds":{"compute":{"vmSize":"Standard_ND96isr_H100_v5"}}}}}' >"$NODE/run/cloud-init/instance-data.json"
check "Azure's VM size, as cloud-init has it, is the instance's shape" gives 'i["cloud"] + " " + i["shape"]' "azure Standard_ND96isr_H100_v5"
echo '{"v1":{"instance_id":"iid"},"ds":{"meta_data":[1]}}' >"$NODE/run/cloud-init/instance-data.json"
check "data of another form is no matter" gives 'o["errors"] + o["warnings"] + [i.get("shape")]' '[None]'
# What cloud-init failed at: a boot in which it was to run.
touch "$NODE/run/cloud-init/enabled"
state() { echo "{\"v1\":{\"init-local\":{\"errors\":[],\"recoverable_errors\":{}},\"init\":{$1},\"modules-config\":{$2}}}" >"$NODE/run/cloud-init/status.json"; }
state '"errors":[],"recoverable_errors":{"DEPRECATED":["old user-data"],"WARNING":["No instance datasource found"]}' '"errors":[]'
check "what cloud-init says of other things is no matter" gives 'o["errors"] + o["warnings"]' '[]'
state '"errors":[],"recoverable_errors":{"WARNING":["a","b","c","d","e","f","Failed loading yaml blob. Invalid format at line 4 column 3: \"while\nscanning\u001b[31m\u009b2J\"","Unhandled non-multipart (text/x-not-multipart) userdata: \u0027b\u0027password: hunter2\u0027...\u0027"]}' '"errors":["(\"write_files\", OSError())"]'
check "user data that it did not understand is told" gives 'str(len(o["errors"])) + str(len(o["warnings"])) + str("line 4 column 3;" in o["warnings"][0] and "stage init" in o["warnings"][0])' "03True"
check "none of its text goes along: that may be a password" gives '[w for w in o["warnings"] if "scanning" in w or "hunter2" in w]' '[]'
check "so is a stage that failed" gives '"write_files" in o["warnings"][2] and "stage modules-config" in o["warnings"][2]' True
twice='{"errors":[],"recoverable_errors":{"WARNING":["Failed loading yaml blob. Invalid format at line 4 column 3: \"x\""]}}'
echo "{\"v1\":{\"init-local\":$twice,\"init\":$twice,\"modules-config\":$twice}}" >"$NODE/run/cloud-init/status.json"
check "what three stages say is told once" gives 'len(o["warnings"])' 1
state '"errors":["a\u001b[31m\u009b2J\nb", "'"$(printf 'ä%.0s' {1..300})"'"]' '"errors":[]'
check "words without end, and what a terminal obeys, are cut to a line" gives '"a [31m  2J b;" in o["warnings"][0] and max(len(w) for w in o["warnings"]) < 300' True
for odd in '{"v1":{"init":[1]}}' '{"v1":{"init":{"errors":{},"recoverable_errors":{"WARNING":[7,null]}}}}' '[]' '{"v1":7}'; do
        echo "$odd" >"$NODE/run/cloud-init/status.json"
        check "its state in another form is no matter: $odd" gives 'o["errors"] + o["warnings"]' '[]'
done
echo '{' >"$NODE/run/cloud-init/status.json"
check "nor is half a file, but told" gives 'str(len(o["errors"])) + str(len(o["warnings"]))' "01"
rm "$NODE"/run/cloud-init/{status,instance-data}.json
check "where it read no user data, the configuration is not whole" gives 'len(o["errors"]) == 1 and "cloud-init failed" in o["errors"][0]' True
rm "$NODE/run/cloud-init/enabled"
check "where it was not to run, it is" gives 'o["errors"] + o["warnings"]' '[]'
node_json_file '{"scratch":{"lable":1}}'
"$node_build/firstboot-helper" check >"$NODE/faults"
check "an image's configuration can be checked by itself" bash -c '[[ $1 == 1 ]] && grep -q "scratch.lable: unknown key" "$2"' - $? "$NODE/faults"

# cloud-init's word alone: the service, which is away, would be waited for each time.
node_json_file '{"metadata":{"provider":"none"}}'
for id in '"instance_id":"iid-datasource-none","cloud_name":"none"' '"instance_id":"nocloud","platform":"nocloud"' '"instance_id":"iid-local01","cloud_name":"openstack"'; do
        echo "{\"v1\":{$id}}" >"$NODE/run/cloud-init/instance-data.json"
        check "no instance by $id" gives 'i.get("id")' None
done
echo '{"v1":{"instance_id":"b5c1","platform":"openstack"}}' >"$NODE/run/cloud-init/instance-data.json"
check "one by an id of the cloud's own" gives 'i["id"]' b5c1

# What the site is told.
dmi
node_json_file '{}'
cat >"$NODE/hook" <<'HOOK'
#!/bin/sh
cat >"$FIRSTBOOT_ROOT/hook.got"
HOOK
chmod +x "$NODE/hook"
echo '{"node":"ready"}' >"$NODE/run/firstboot/status.json"
echo "{\"config\":{\"ready\":{\"command\":[\"$NODE/hook\"],\"timeout\":\"5s\"}}}" >"$NODE/run/firstboot/config.json"
"$node_build/firstboot-helper" notify
check "the ready command gets the status on its standard input" grep -q '"node":"ready"' "$NODE/hook.got"
echo '{"config":{"ready":{"command":["/bin/false"],"url":"http://127.0.0.1:1/x","timeout":"1s"}}}' >"$NODE/run/firstboot/config.json"
check "a command and an URL that fail are reported" bash -c '! "$1/firstboot-helper" notify 2>"$2"; grep -q "/bin/false ended with exit code 1" "$2" && grep -q "ready.url" "$2"' - "$node_build" "$NODE/said"
[[ -z $failed ]]
