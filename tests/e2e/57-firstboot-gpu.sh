#!/bin/bash
# A booted node whose GPUs are doubles (NVML, CUDA, NCCL, a sysfs tree), against the head node: in service only when GPUs and
# NCCL are well, drained with the reason otherwise, from the first boot on.
#
# lane: machine
# after: e2e/10 cli unit
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/head.bash"
source "$TOP/tests/e2e/vm.bash"
source "$TOP/tests/fixtures/gpu-sysfs.bash"
vm_suite "$@"

# What a GPU node has and this machine has not, as one archive: the libraries' doubles, a sysfs tree with eight GPUs and
# four NVSwitches, links for the rest. The two steps have it as their root.
gpus() {
        local root=$VM/gpu i d
        rm -rf "$root" && mkdir -p "$root"/opt/gpu/{lib,bin,sys/class/dmi/id}
        cp "$TOP/$BUILD"/tests/nvml-double/libnvidia-ml.so.1 "$TOP/$BUILD"/tests/nccl-double/lib{cuda.so.1,nccl.so.2} \
                "$root/opt/gpu/lib/" || return 1
        gpu_devices "$root/opt/gpu" || return 1
        for i in 0 1 2 3; do nvswitch_device "$root/opt/gpu" $i; done
        for d in dev etc proc run usr var; do ln -s "/$d" "$root/opt/gpu/$d"; done
        printf '#!/bin/sh\necho "Fabric Manager version is : 550.54.15"\n' >"$root/opt/gpu/bin/nv-fabricmanager"
        chmod +x "$root/opt/gpu/bin/nv-fabricmanager"
        tar -C "$root" -czf "$VM/gpu.tar.gz" opt
}
drop_in() {
        cat <<'E'
[Service]
Environment=FIRSTBOOT_ROOT=/opt/gpu LD_LIBRARY_PATH=/opt/gpu/lib CUDA_DOUBLE_DEVICES=8 NVML_DOUBLE=/etc/nvml-double.conf
Environment=PATH=/opt/gpu/bin:/usr/sbin:/usr/bin
EnvironmentFile=-/etc/nccl-double.env
ExecStartPre=/bin/sh -c 'FIRSTBOOT_ROOT= LD_LIBRARY_PATH=; [ -e /opt/gpu/run ] || tar -C / -xzf /opt/gpu.tar.gz; cp -u /usr/lib/firstboot/firstboot-step /opt/gpu/'
E
}
# Checks start the probes of all steps themselves: those of these two find the doubles.
check_wrapper() {
        cat <<'E'
#!/bin/sh
case $FIRSTBOOT_CHECK:$1 in
?*:gpu | ?*:nccl)
        export FIRSTBOOT_ROOT=/opt/gpu LD_LIBRARY_PATH=/opt/gpu/lib CUDA_DOUBLE_DEVICES=8 NVML_DOUBLE=/etc/nvml-double.conf
        PATH=/opt/gpu/bin:/usr/sbin:/usr/bin
        ;;
esac
exec /opt/gpu/firstboot-step "$@"
E
}
node() { # FAULTS: what the doubles are told from the start
        vm_config "$(node_config '{"gpu": {"load": false}, "nccl": {"cuda_library": "/opt/gpu/lib/libcuda.so.1",
                "nccl_library": "/opt/gpu/lib/libnccl.so.2"}, "shape": {"name": "doubles.8"}}')"
        vm_file /opt/gpu.tar.gz <"$VM/gpu.tar.gz"
        for s in gpu nccl; do drop_in | vm_file "/etc/systemd/system/firstboot@$s.service.d/50-double.conf"; done
        check_wrapper | vm_file /opt/gpu-step
        chmod +x "$VM/files/opt/gpu-step"
        for s in firstboot@slurm firstboot-check@; do
                printf '[Service]\nBindReadOnlyPaths=/opt/gpu-step:/usr/lib/firstboot/firstboot-step\n' |
                        vm_file "/etc/systemd/system/$s.service.d/50-double.conf"
        done
        for s in nvidia-persistenced nvidia-fabricmanager; do
                printf '[Service]\nExecStart=/usr/bin/sleep infinity\n' | vm_file "/etc/systemd/system/$s.service"
        done
        vm_file /etc/firstboot/shapes.d/doubles.json <<'E'
{ "sources": { "doubles": "what the doubles are" },
  "shapes": [ { "name": "doubles.8", "gpus": { "count": 8, "models": [ "*H100 80GB HBM3*" ], "source": "doubles" },
    "nvlink": { "links": 18, "gbps": 25, "source": "doubles" },
    "busbw": [ { "nodes": 1, "size": "4K", "gbps": 0.000001, "kind": "gate", "source": "doubles" } ] } ] }
E
        printf '%s\n' "$@" | vm_file /etc/nvml-double.conf
}
# rerun STEP: again, in whatever it ends.
rerun() { vm "firstbootctl rerun --wait --timeout 15min $1" >"$VM/answers" 2>&1; vm_status; }
step_is() { vm_is "o[\"step\"][\"$1\"][\"result\"].get(\"code\") or o[\"step\"][\"$1\"][\"status\"]" "$2"; }

head_make && head_start "${HEAD_SERVICES[@]}"
check "the head node serves LDAP over TLS, NFS, munge and Slurm" $?
vm_fresh
gpus
check "the doubles are built" $?

# Seven of eight GPUs, from the first boot on.
node gpus=7
vm_resume && vm_reaches multi-user.target || exit 1
check "a node with seven of eight GPUs boots" $?
[[ $(vm_settles 900) == failed ]]
check "and is not ready" $?
vm_status
step_is gpu gpu.count
check "because of the GPU that is missing: gpu.count" $?
vm_is 'o["step"]["nccl"]["status"]' blocked
check "NCCL is not tried on what is left" $?
[[ $(vm 'cat /run/firstboot/ready 2>/dev/null; systemctl is-active node-ready.target') == inactive ]]
check "there is no ready file, and no node-ready.target" $?
head_shows drained '[firstboot] gpu.count'
check "the controller shows it drained, with the reason" $?

# The GPU is back.
vm ': >/etc/nvml-double.conf'
rerun gpu
[[ $(vm_settles 900) == ready ]]
check "with all GPUs the node is ready" $?
vm_status
step_is gpu "done" && step_is nccl "done"
check "GPUs and NCCL are well" $?
[[ $rc -eq 0 ]] || { vm_py '[(s["name"], s["status"], s["result"]) for s in o["steps"]]'; vm 'journalctl -b -u "firstboot@*" -o cat | tail -n 40'; }
head_shows idle
check "and the controller has it back in service" $?

# Two tasks of a real job, which meet by what srun tells them.
head_run timeout 180 srun --ntasks=2 --overcommit \
        env NCCLBENCH_SECRET=of-this-job-alone-0123 CUDA_DOUBLE_DEVICES=2 LD_LIBRARY_PATH=/opt/gpu/lib \
        ncclbench all_reduce -b 1K -e 64K -f 8 -n 2 --cuda-library=/opt/gpu/lib/libcuda.so.1 \
        --nccl-library=/opt/gpu/lib/libnccl.so.2 >"$VM/srun" 2>&1
grep -q '^# 2 ranks in 2 processes (srun)' "$VM/srun" && grep -q '^# Verdict: pass' "$VM/srun" &&
        [[ $(grep -c "on  *$NODE  *device" "$VM/srun") -eq 2 ]]
check "srun starts ncclbench as two ranks that find each other" $?
[[ $rc -eq 0 ]] || cat "$VM/srun"

# One fault of each kind, on the running node.
fault() { # STEP CODE COMMAND
        vm "$3"
        rerun "$1"
        step_is "$1" "$2" && vm_is 'o["node"]' failed
        check "$2: the node is not ready any more" $?
        head_shows drained "[firstboot] $2"
        check "$2: drained with the reason" $?
        vm 'firstbootctl explain' >"$VM/explain" 2>&1
        grep -qF "$2" "$VM/explain"
        check "$2: explained" $?
}
fault gpu gpu.nvlink-down 'echo 2.link.11.active=0 >/etc/nvml-double.conf'
vm ': >/etc/nvml-double.conf'
rerun gpu
fault nccl nccl.wrong-result 'echo NCCL_DOUBLE_WRONG=3:5 >/etc/nccl-double.env'
fault nccl nccl.timeout 'echo NCCL_DOUBLE_HANG=stream >/etc/nccl-double.env'
vm 'rm /etc/nccl-double.env'
rerun nccl
[[ $(vm_settles 900) == ready ]] && head_shows idle
check "without faults it is in service again" $?
exit $rc
