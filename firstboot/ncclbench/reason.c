/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The table of reasons, and what CUDA's errors mean in its terms. */

#include "ncclbench/reason.h"
#include "ncclbench/gpu-api.h"
#include "shared/strv.h"

#include <stdarg.h>

const ReasonInfo reason_table[_REASON_MAX] = {
        [REASON_NONE] = { "ok", "Nothing is wrong.", "" },
        [REASON_CUDA_NO_DRIVER] = { "cuda.no-driver", "The CUDA driver library cannot be loaded.",
                        "Install the NVIDIA driver's user-space library (libcuda.so.1), or set --cuda-library." },
        [REASON_CUDA_NO_DEVICE] = { "cuda.no-device",
                        "CUDA sees no GPU, or fewer than were asked for.",
                        "Compare `lspci -d 10de:` with `nvidia-smi -L`; see `journalctl -k -g NVRM`; check CUDA_VISIBLE_DEVICES and the job's --gpus." },
        [REASON_CUDA_FABRIC_NOT_READY] = { "cuda.fabric-not-ready",
                        "CUDA error 802: the NVSwitch fabric is not set up yet.",
                        "See `systemctl status nvidia-fabricmanager` and that its version is the driver's." },
        [REASON_CUDA_OUT_OF_MEMORY] = { "cuda.out-of-memory", "A GPU has too little free memory.",
                        "See `nvidia-smi` for who uses it, or lower -e." },
        [REASON_CUDA_TIMEOUT] = { "cuda.timeout", "The CUDA driver did not answer in time.",
                        "See `journalctl -k -g 'Xid|NVRM'` and that nvidia-persistenced runs; reboot the node." },
        [REASON_CUDA_ERROR] = { "cuda.error", "A CUDA call failed.",
                        "See `journalctl -k -g Xid`; reset the GPU or reboot the node." },
        [REASON_CUDA_WRONG_RESULT] = { "cuda.wrong-result",
                        "A GPU copied or computed something wrong.",
                        "Take the node out of service; run `dcgmi diag -r 3`; see ECC, remapped rows and NVLink error counters." },
        [REASON_CUDA_RUNTIME_MISSING] = { "cuda.runtime-missing",
                        "No CUDA runtime (libcudart) is found where programs look for it.",
                        "See `ldconfig -p | grep cudart`; install the CUDA runtime, or name its folder in /etc/ld.so.conf.d or in the cuda module, and run ldconfig." },
        [REASON_CUDA_RUNTIME_DOUBLED] = { "cuda.runtime-doubled",
                        "One CUDA runtime is installed twice: which one a program gets is chance.",
                        "See `ldconfig -p | grep cudart`; remove one of the two, or its line in /etc/ld.so.conf.d." },
        [REASON_CUDA_RUNTIME_TOO_NEW] = { "cuda.runtime-too-new",
                        "The CUDA runtime is of a newer major version than the driver knows.",
                        "Install a newer driver or cuda-compat, or a CUDA runtime of the driver's version (see the head of `nvidia-smi`)." },
        [REASON_CUDA_RUNTIME_ERROR] = { "cuda.runtime-error",
                        "A call of the CUDA runtime failed, or its result was wrong.",
                        "See the call in the message and `journalctl -k -g 'Xid|NVRM'`; compare `ldconfig -p | grep cudart` with the driver's version." },
        [REASON_DRIVER_LIBRARY_MISMATCH] = { "driver.library-mismatch",
                        "The kernel module and the CUDA or NCCL library do not go together.",
                        "Compare /proc/driver/nvidia/version with the installed libcuda and the CUDA version NCCL was built for; reboot after a driver update." },
        [REASON_NCCL_NO_LIBRARY] = { "nccl.no-library", "The NCCL library cannot be loaded.",
                        "Install libnccl2, or set --nccl-library or LD_LIBRARY_PATH." },
        [REASON_NCCL_TOO_OLD] = { "nccl.too-old",
                        "The NCCL library lacks a function that is needed.",
                        "Install NCCL 2.14 or newer (2.24 for 8-bit floats)." },
        [REASON_NCCL_INIT_FAILED] = { "nccl.init-failed", "NCCL could not set up its communicator.",
                        "Run again with NCCL_DEBUG=INFO; check NCCL_SOCKET_IFNAME, NCCL_IB_HCA and /etc/nccl.conf." },
        [REASON_NCCL_DUPLICATE_GPU] = { "nccl.duplicate-gpu", "Two ranks were given the same GPU.",
                        "Start no more processes on a node than it has GPUs (mpirun --map-by ppr:N:node, srun --ntasks-per-node=N); see that CUDA_VISIBLE_DEVICES, NCCL_TESTS_DEVICE or the job's --gpus-per-task give each its own." },
        [REASON_NCCL_INIT_TIMEOUT] = { "nccl.init-timeout",
                        "NCCL's communicator was not ready in time.",
                        "Run again with NCCL_DEBUG=INFO; check that all ranks reach each other over NCCL_SOCKET_IFNAME and that no firewall is between them." },
        [REASON_NCCL_TIMEOUT] = { "nccl.timeout", "An operation did not end in time.",
                        "Run again with NCCL_DEBUG=INFO; see `journalctl -k -g Xid`, `nvidia-smi nvlink -s` and the RDMA port counters; "
                        "find the node with `ncclbench pairs`." },
        [REASON_NCCL_ERROR] = { "nccl.error", "NCCL reported an error during an operation.",
                        "Run again with NCCL_DEBUG=INFO; see `journalctl -k -g Xid` on the rank named." },
        [REASON_NCCL_WRONG_RESULT] = { "nccl.wrong-result",
                        "Elements of a result are not what the operation must give.",
                        "Take the node out of service; run `dcgmi diag -r 3`; see ECC and NVLink error counters." },
        [REASON_NCCL_SLOW] = { "nccl.slow", "The bus bandwidth is below what was asked for.",
                        "See `nvidia-smi -q -d PERFORMANCE`, `nvidia-smi topo -m`, active NVLinks and RDMA port rates; find the node with `ncclbench pairs`." },
        [REASON_RENDEZVOUS_TIMEOUT] = { "rendezvous.timeout",
                        "Not all ranks came together in time.",
                        "See which ranks are missing; check the address and port of rank 0 and the firewall." },
        [REASON_RENDEZVOUS_REFUSED] = { "rendezvous.refused",
                        "The shared secret, the world size or the program's version differ between ranks.",
                        "Give all ranks the same NCCLBENCH_SECRET (or --secret-file) and the same binary." },
        [REASON_RENDEZVOUS_ERROR] = { "rendezvous.error",
                        "The connection between the ranks cannot be made or broke.",
                        "Check the address and port of rank 0; another program may hold the port (--master)." },
        [REASON_PEER_FAILED] = { "peer.failed",
                        "Another rank failed; its own message names the reason.",
                        "See the output of the rank named." },
        [REASON_PAIRS_NO_REFERENCE] = { "pairs.no-reference",
                        "No node passed, so none can clear or accuse another.",
                        "Run it on more nodes, or on each node alone with `ncclbench`." },
        [REASON_WORKER_DIED] = { "worker.died", "The measuring process was killed or crashed.",
                        "See `journalctl -k` (out of memory, Xid) and `coredumpctl`." },
        [REASON_WORKER_STUCK] = { "worker.stuck",
                        "The measuring process cannot be killed: it hangs in the kernel.",
                        "See `journalctl -k -g 'Xid|NVRM'`; reboot the node." },
        [REASON_INTERRUPTED] = { "interrupted", "A signal ended the run.", "Run it again." },
        [REASON_INTERNAL] = { "internal.error", "A system call or an allocation failed.",
                        "See the message; check the limits on memory, processes and files." },
};

Reason reason_from_code(const char *code) {
        if (!code)
                return REASON_NONE;
        for (Reason r = 0; r < _REASON_MAX; r++)
                if (streq(reason_table[r].code, code))
                        return r;
        return REASON_INTERNAL;
}

Reason reason_from_cuda(int error) {
        switch (error) {
        case CUDA_ERROR_NO_DEVICE:
                return REASON_CUDA_NO_DEVICE;
        case CUDA_ERROR_SYSTEM_NOT_READY:
                return REASON_CUDA_FABRIC_NOT_READY;
        case CUDA_ERROR_STUB_LIBRARY:
        case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
        case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
        case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
                return REASON_DRIVER_LIBRARY_MISMATCH;
        case CUDA_ERROR_OUT_OF_MEMORY:
                return REASON_CUDA_OUT_OF_MEMORY;
        default:
                return REASON_CUDA_ERROR;
        }
}

int failure_set(Failure *f, Reason reason, const char *format, ...) {
        va_list ap;

        if (f->reason != REASON_NONE)
                return -EIO;
        f->reason = reason;
        va_start(ap, format);
        f->text = vstrf(format, ap);
        va_end(ap);
        return -EIO;
}

void failure_done(Failure *f) {
        free(f->text);
        *f = (Failure) {};
}
