/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The versions an admin of GPU nodes asks for. A package names its version; what came without a
 * package (a runfile, a source build) is found by its libraries' file names. */

#include "inspect/internal.h"

#include <fnmatch.h>

typedef struct Software {
        const char *key, *label;
        const char *packages[6], *files[6];
        bool noted; /* the file has its version in a note: shared/package-note.h */
} Software;

/* In the order they are shown. Packages and files are tried from left to right; a version of a file
 * is the digits of its name, "unknown" where there are none. Package names are patterns. */
static const Software software[] = {
        { "nvidia_userspace", "NVIDIA libraries", {},
                        { "/usr/lib/x86_64-linux-gnu/libcuda.so.*.*",
                                        "/usr/lib/x86_64-linux-gnu/nvidia/current/libcuda.so.*.*",
                                        "/usr/lib64/libcuda.so.*.*", "/usr/lib/libcuda.so.*.*" } },
        { "cuda_runtime", "CUDA runtime",
                        { "cuda-cudart-[0-9]*", "libcudart[0-9]*", "libcudart[0-9]*.*" },
                        { "/usr/local/cuda*/lib64/libcudart.so.*.*",
                                        "/usr/local/cuda*/targets/x86_64-linux/lib/libcudart.so.*.*",
                                        "/usr/lib/x86_64-linux-gnu/libcudart.so.*.*",
                                        "/usr/lib64/libcudart.so.*.*" } },
        { "nccl", "NCCL", { "libnccl2", "libnccl" },
                        { "/usr/lib/x86_64-linux-gnu/libnccl.so.*.*", "/usr/lib64/libnccl.so.*.*",
                                        "/usr/local/lib/libnccl.so.*.*",
                                        "/usr/local/nccl*/lib/libnccl.so.*.*" } },
        { "fabric_manager", "Fabric Manager", { "nvidia-fabricmanager*" },
                        { "/usr/bin/nv-fabricmanager" } },
        { "dcgm", "DCGM", { "datacenter-gpu-manager*" }, {} },
        { "container_toolkit", "NVIDIA container toolkit", { "nvidia-container-toolkit" },
                        { "/usr/bin/nvidia-ctk" } },
        { "containerd", "containerd", { "containerd.io", "containerd" },
                        { "/usr/bin/containerd", "/usr/local/bin/containerd" } },
        { "runc", "runc", { "runc" }, { "/usr/bin/runc", "/usr/sbin/runc" } },
        { "docker", "Docker", { "docker-ce", "docker.io", "moby-engine" }, { "/usr/bin/dockerd" } },
        { "nerdctl", "nerdctl", { "nerdctl" }, { "/usr/local/bin/nerdctl", "/usr/bin/nerdctl" } },
        { "enroot", "Enroot", { "enroot", "enroot-hardened" },
                        { "/usr/bin/enroot", "/usr/local/bin/enroot" } },
        { "pyxis", "Pyxis", { "nvslurm-plugin-pyxis", "pyxis" },
                        { "/usr/lib/x86_64-linux-gnu/slurm*/spank_pyxis.so",
                                        "/usr/lib64/slurm/spank_pyxis.so",
                                        "/usr/local/lib/slurm/spank_pyxis.so",
                                        "/usr/local/share/pyxis/pyxis.conf" } },
        { "slurm", "Slurm",
                        { "slurmd", "slurm-smd-slurmd", "slurm-slurmd", "slurm",
                                        "slurm-wlm-basic-plugins" },
                        { "/usr/sbin/slurmd", "/usr/local/sbin/slurmd",
                                        "/opt/slurm*/sbin/slurmd" } },
        { "kubelet", "kubelet", { "kubelet" }, { "/usr/bin/kubelet", "/usr/local/bin/kubelet" } },
        { "rdma_core", "rdma-core", { "rdma-core" }, {} },
        { "ofed", "Vendor OFED",
                        { "mlnx-ofed-kernel-utils", "mlnx-ofa_kernel", "doca-ofed*",
                                        "ofed-scripts" },
                        {} },
        { "efa", "EFA", { "efa", "efa-config" }, { "/opt/amazon/efa/bin/fi_info" } },
        { "libfabric", "libfabric", { "libfabric1", "libfabric", "libfabric-aws" },
                        { "/opt/amazon/efa/lib*/libfabric.so.*.*" } },
        { "lustre", "Lustre client",
                        { "lustre-client-modules-[0-9]*", "lustre-client", "kmod-lustre-client" },
                        {} },
        { "cloud_init", "cloud-init", { "cloud-init" }, { "/usr/bin/cloud-init" } },
        { "systemd", "systemd", { "systemd" }, {} },
        { "firstbootd", "firstbootd", { "firstboot" }, { "/usr/lib/firstboot/firstbootd" },
                        .noted = true },
        { "ncclbench", "ncclbench", {}, { "/usr/bin/ncclbench" }, .noted = true },
};

const char *inspect_library_version(const char *path) {
        const char *so = strstr(path, ".so.");

        if (!so || so[4] < '0' || so[4] > '9')
                return NULL;
        for (const char *c = so + 4; *c; c++)
                if ((*c < '0' || *c > '9') && *c != '.')
                        return NULL;
        return so + 4;
}

static const char *package_version(json_object *packages, const char *pattern) {
        size_t n = json_array_length(packages);

        for (size_t i = 0; i < n; i++) {
                json_object *p = json_object_array_get_idx(packages, i);
                if (fnmatch(pattern, strempty(json_get_string(p, "name")), 0) == 0)
                        return json_get_string(p, "version");
        }
        return NULL;
}

/* The version in the longest name that fits: libnccl.so.2 is a link to libnccl.so.2.21.5. NULL
 * where no file does. */
static int file_version(guestfs_h *g, const char *pattern, char **ret) {
        _cleanup_strv_free_ char **paths = guestfs_glob_expand_opts(
                        g, pattern, GUESTFS_GLOB_EXPAND_OPTS_DIRECTORYSLASH, 0, -1);
        const char *best = NULL;

        *ret = NULL;
        if (!paths || !paths[0])
                return 0;
        STRV_FOREACH (p, paths) {
                const char *v = inspect_library_version(*p);
                if (v && (!best || strlen(v) > strlen(best)))
                        best = v;
        }
        *ret = strdup(best ? best : "unknown");
        return *ret ? 0 : -ENOMEM;
}

/* Puts the note's version in place of *version, where there is a note. */
static int read_note(guestfs_h *g, const char *path, char **version) {
        _cleanup_close_ int fd = -EBADF;
        char *noted;
        int r;

        if (guestfs_is_file(g, path) <= 0 || guest_open_file(g, path, &fd) < 0)
                return 0;
        r = inspect_note_version(fd, &noted);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        free(*version);
        *version = noted;
        return 0;
}

/* NULL where it is not there. */
static int find_version(guestfs_h *g, json_object *packages, const Software *s, char **ret) {
        *ret = NULL;
        for (size_t i = 0; i < ELEMENTSOF(s->packages) && s->packages[i]; i++) {
                const char *v = package_version(packages, s->packages[i]);

                if (!v)
                        continue;
                *ret = strdup(v);
                return *ret ? 0 : -ENOMEM;
        }
        for (size_t i = 0; i < ELEMENTSOF(s->files) && s->files[i]; i++) {
                int r = file_version(g, s->files[i], ret);

                if (r < 0)
                        return r;
                if (*ret)
                        return s->noted ? read_note(g, s->files[i], ret) : 0;
        }
        return 0;
}

int inspect_software(guestfs_h *g, json_object *o) {
        json_object *found = NULL;
        int r;

        r = json_add_object(o, "software", &found);
        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(software); i++) {
                _cleanup_free_ char *version = NULL;

                r = find_version(g, json_get(o, "packages"), software + i, &version);
                if (r < 0)
                        return r;
                if (!version)
                        continue;
                r = inspect_add_software(found, software[i].key, software[i].label, version);
                if (r < 0)
                        return r;
        }
        return inspect_python(g, found);
}
