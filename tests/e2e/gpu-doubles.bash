# Sourced after lib.bash: eight GPUs that are doubles (NVML, CUDA, NCCL, a sysfs tree), in images and on machines.
#
#   gpu_doubles      two overlays of $PROJECT: gpu-libraries, the doubles' libraries alone; gpu-doubles, whose image finds eight GPUs by its agent's
#                    steps gpu and nccl. All else on the machine sees none
source "$TOP/tests/fixtures/gpu-sysfs.bash"

gpu_doubles() {
        local overlay=$PROJECT/overlays/gpu-doubles files root=$E2E/gpu i d
        files=$overlay/files
        mkdir -p "$PROJECT/overlays/gpu-libraries/files/opt/gpu/lib" "$files"/etc/{systemd/system,firstboot/shapes.d} "$files/opt/gpu/bin"
        echo '{ "description": "Doubles of the libraries for GPUs" }' >"$PROJECT/overlays/gpu-libraries/overlay.json"
        cp "$TOP/$BUILD"/tests/nvml-double/libnvidia-ml.so.1 "$TOP/$BUILD"/tests/nccl-double/lib{cuda.so.1,nccl.so.2} "$PROJECT/overlays/gpu-libraries/files/opt/gpu/lib/"
        rm -rf "$root" && mkdir -p "$root"/sys/class/dmi/id
        gpu_devices "$root"
        for i in 0 1 2 3; do nvswitch_device "$root" $i; done
        for d in dev etc proc run usr var; do ln -s "/$d" "$root/$d"; done
        tar -C "$root" -czf "$files/opt/gpu/root.tar.gz" .
        cat >"$overlay/overlay.json" <<'O'
{ "description": "Doubles of eight GPUs",
  "requires": ["gpu-libraries", "firstboot"],
  "run": ["double.sh"],
  "node": { "gpu": { "load": false }, "shape": { "name": "doubles.8" },
            "nccl": { "cuda_runtime": "off", "cuda_library": "/opt/gpu/lib/libcuda.so.1", "nccl_library": "/opt/gpu/lib/libnccl.so.2" } } }
O
        cat >"$files/etc/firstboot/shapes.d/doubles.json" <<'O'
{ "sources": { "doubles": "what the doubles are" },
  "shapes": [ { "name": "doubles.8", "gpus": { "count": 8, "models": [ "*H100 80GB HBM3*" ], "source": "doubles" },
    "nvlink": { "links": 18, "gbps": 25, "source": "doubles" },
    "busbw": [ { "nodes": 1, "size": "4K", "gbps": 0.000001, "kind": "gate", "source": "doubles" } ] } ] }
O
        printf '#!/bin/sh\necho "Fabric Manager version is : 550.54.15"\n' >"$files/opt/gpu/bin/nv-fabricmanager"
        printf '#!/bin/sh\nset -eu\nmv /usr/lib/firstboot/firstboot-step /opt/gpu/firstboot-step\nmv /opt/gpu/step /usr/lib/firstboot/firstboot-step\n' >"$overlay/double.sh"
        chmod +x "$overlay/double.sh"
        # The agent's probes of these two steps find the doubles; all else is the machine's.
        cat >"$files/opt/gpu/step" <<'E'
#!/bin/sh
case $1 in
gpu | nccl)
        [ -e /run/gpu ] || { mkdir /run/gpu && tar -C /run/gpu -xzf /opt/gpu/root.tar.gz; }
        export FIRSTBOOT_ROOT=/run/gpu LD_LIBRARY_PATH=/opt/gpu/lib CUDA_DOUBLE_DEVICES=8 PATH=/opt/gpu/bin:/usr/sbin:/usr/bin
        ;;
esac
exec /opt/gpu/firstboot-step "$@"
E
        chmod +x "$files/opt/gpu/step" "$files/opt/gpu/bin/nv-fabricmanager"
        for i in nvidia-persistenced nvidia-fabricmanager; do printf '[Service]\nExecStart=/usr/bin/sleep infinity\n' >"$files/etc/systemd/system/$i.service"; done
}
