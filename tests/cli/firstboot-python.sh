#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The python step as a program: real environments of the host's Python, with a torch of the test's own that counts as it is told,
# beside a double of NVML.
set -u
source tests/fixtures/node.bash
trap node_end EXIT
failed=
doubles=$(realpath "$BUILD")/tests/nvml-double

node_new
mkdir -p "$NODE/run/firstboot/results"
# environment NAME: an empty one; packages come by hand.
environment() {
        python3 -m venv --without-pip "$NODE/opt/ml/$1" || exit 1
        site=$(echo "$NODE/opt/ml/$1"/lib/python3*/site-packages)
}
# package NAME: into the environment made last; its code on standard input.
package() { mkdir -p "$site/$1"; cat >"$site/$1/__init__.py"; }
# python ENVIRONMENTS [KEYS] [SECTIONS]
python() {
        echo "{\"config\":{\"python\":{\"enabled\":true,\"environments\":$1${2:+,$2}}${3:+,$3}},\"instance\":{}}" >"$NODE/run/firstboot/config.json"
        run_step
}
run_step() {
        rm -f "$NODE/run/firstboot/results/python.json"
        # What the caller's environment has must not matter.
        PYTHONPATH=$NODE/astray NVML_DOUBLE=$NODE/nvml.conf LD_LIBRARY_PATH=$doubles timeout -s KILL 120 "$node_build/firstboot-step" python >"$NODE/agent.log" 2>&1
        rc=$?
}
result() { python3 -c 'import json,sys; o=json.load(open(sys.argv[1]+"/run/firstboot/results/python.json")); f=o.get("figures",{}); print(eval(sys.argv[2]))' "$NODE" "$1" 2>&1; }
verdict() { local got; got=$(result '" ".join(filter(None,[o.get("status"),o.get("code")]))'); [[ "$got $rc" == "$1" ]] || { echo "# $got $rc: $(result 'o.get("message")')"; return 1; }; }
message_has() { [[ $(result 'o["message"]') == *"$1"* ]] || { echo "# $(result 'o["message"]')"; return 1; }; }
# gpus N: the machine has as many, by PCI and by NVML.
gpus() {
        local i
        rm -rf "${NODE:?}/sys"
        for ((i = 0; i < $1; i++)); do
                mkdir -p "$NODE/sys/bus/pci/devices/0000:0$i:00.0"
                echo 0x10de >"$NODE/sys/bus/pci/devices/0000:0$i:00.0/vendor"
                echo 0x030200 >"$NODE/sys/bus/pci/devices/0000:0$i:00.0/class"
        done
        echo "gpus=$1" >"$NODE/nvml.conf"
}

environment torch
package torch <<'P'
print("firstboot-python: is no word of the step's")
__version__ = "2.6.0+double"
import os
from types import SimpleNamespace
def told(name):
    return int(open(os.environ["FIRSTBOOT_ROOT"] + "/" + name).read())
cuda = SimpleNamespace(device_count=lambda: told("torch-count"))
_C = SimpleNamespace(_cuda_getDeviceCount=lambda: told("cuda-count"))
P
package noisy <<<'import sys; print("firstboot-python: {"); print("hello", file=sys.stderr)'
package crashes <<<'import os; os.kill(os.getpid(), 11)'
package ends <<<'import os; os._exit(0)'
package sleeps <<<'import time; time.sleep(3600)'
package lacks <<<'import no_such_thing'
mkdir -p "$NODE/astray/stray"; : >"$NODE/astray/stray/__init__.py"
told() { echo "$1" >"$NODE/torch-count"; echo "${2:-$1}" >"$NODE/cuda-count"; }
gpus 0; told 0

# --- whom it concerns ---------------------------------------------------------------------------------------------------
echo '{"config":{"python":{"environments":{"/opt/ml/nowhere":"x"}}},"instance":{}}' >"$NODE/run/firstboot/config.json"; run_step
check "environments alone: off" verdict "skipped 0"
python '{}'
check "no environment: skipped" verdict "skipped 0"
FIRSTBOOT_CHECK=quick "$node_build/firstboot-step" python >"$NODE/check" 2>&1
check "a quick check imports nothing" grep -q '"status":"skipped"' "$NODE/check"

# --- imports --------------------------------------------------------------------------------------------------------------
python '{"/opt/ml/torch":"torch noisy json"}'
check "all modules can be imported: done" verdict "done 0"
check "what they print is in the log" grep -q '  hello' "$NODE/agent.log"
check "the figures have versions and times" test "$(result '[(m["environment"], m["module"], m.get("version"), m["seconds"] >= 0) for m in f["modules"]][:2]')" = "[('/opt/ml/torch', 'torch', '2.6.0+double', True), ('/opt/ml/torch', 'noisy', None, True)]"
check "on a node without GPUs none are counted" test "$(result '"torch_devices" in f')" = False
check "nothing was written into the environment" test -z "$(find "$NODE/opt/ml/torch" -name '*.pyc')"
python '{"/opt/ml/torch":"stray"}'
check "PYTHONPATH brings nothing in" verdict "failed python.import 1"
python '{"/opt/ml/torch":"lacks torch"}'
check "a module that lacks another: python.import" verdict "failed python.import 1"
check "with Python's own words" message_has "import lacks: ModuleNotFoundError: No module named 'no_such_thing'"
check "those behind it are imported all the same" test "$(result '[m["module"] for m in f["modules"]]')" = "['torch']"
python '{"/opt/ml/torch":"crashes"}'
check "one that crashes may pass" verdict "failed python.import 75"
check "and is told from one that says why" message_has "killed by signal 11"
python '{"/opt/ml/torch":"ends"}'
check "one that ends Python has not been imported" message_has "exit code 0 and no word"
python '{"/opt/ml/torch":"sleeps"}' '"timeout":"1s"'
check "one that does not end: python.timeout" verdict "failed python.timeout 75"
python '{"/opt/ml/nowhere":"torch"}'
check "a folder that is not there: python.no-environment" verdict "failed python.no-environment 1"
check "named with its Python" message_has "/opt/ml/nowhere/bin/python: No such file"

# --- GPUs -----------------------------------------------------------------------------------------------------------------
gpus 4; told 4
python '{"/opt/ml/torch":"torch"}'
check "torch sees as many GPUs as NVML: done" verdict "done 0"
check "both numbers are figures" test "$(result 'f["torch_devices"], f["nvml_devices"]')" = "(4, 4)"
told 4 3
python '{"/opt/ml/torch":"torch"}'
check "CUDA sees fewer than torch was told by NVML: python.gpus" verdict "failed python.gpus 1"
check "with both numbers" message_has "torch 2.6.0+double sees 3 GPUs, NVML 4"
FIRSTBOOT_CHECK=full NVML_DOUBLE=$NODE/nvml.conf LD_LIBRARY_PATH=$doubles "$node_build/firstboot-step" python >"$NODE/check" 2>&1
check "a full check finds it too" grep -q '"code":"python.gpus"' "$NODE/check"
told 0
python '{"/opt/ml/torch":"torch"}'
check "a torch that is built for the CPU: python.gpus" verdict "failed python.gpus 1"
python '{"/opt/ml/torch":"torch"}' '' '"gpu":{"mig":"on"}'
check "instances of MIG are not counted" verdict "done 0"
python '{"/opt/ml/torch":"json"}'
check "nor is anything where torch is not among the modules" verdict "done 0"
told 4
doubles=$doubles/no-count
python '{"/opt/ml/torch":"torch"}'
check "NVML that cannot be asked is no pass" verdict "failed python.gpus 75"
check "and is named" message_has "nvml: AttributeError"
[[ -z $failed ]]
