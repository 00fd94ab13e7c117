/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The versions an admin of GPU nodes asks for. A package names its version; what came without a
 * package (a runfile, a source build) is found by its libraries' file names, and the kernel
 * modules say theirs themselves. */

#include "inspect/inspect.h"

#include "shared/file-util.h"
#include "common/module-info.h"

#include <fnmatch.h>

/* In the order they are shown. Packages and files are tried from left to right; a version of a
 * file is the digits of its name, "unknown" where there are none. Package names are patterns. */
static const struct {
        const char *key, *label;
        const char *packages[6], *files[6];
} software[] = {
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
        { "firstbootd", "firstbootd", {},
                        { "/usr/lib/firstboot/firstbootd", "/usr/libexec/firstbootd",
                                        "/usr/sbin/firstbootd" } },
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
        size_t n = json_object_is_type(packages, json_type_array)
                                   ? json_object_array_length(packages)
                                   : 0;

        for (size_t i = 0; i < n; i++) {
                json_object *p = json_object_array_get_idx(packages, i);
                if (fnmatch(pattern, strempty(json_get_string(p, "name")), 0) == 0)
                        return json_get_string(p, "version");
        }
        return NULL;
}

/* The version in the longest name that fits: libnccl.so.2 is a link to libnccl.so.2.21.5. */
static char *file_version(guestfs_h *g, const char *pattern) {
        _cleanup_strv_free_ char **paths = inspect_take_list(guestfs_glob_expand_opts(
                        g, pattern, GUESTFS_GLOB_EXPAND_OPTS_DIRECTORYSLASH, 0, -1));
        const char *best = NULL;

        if (!paths || !paths[0])
                return NULL;
        STRV_FOREACH (p, paths) {
                const char *v = inspect_library_version(*p);
                if (v && (!best || strlen(v) > strlen(best)))
                        best = v;
        }
        return strdup(best ? best : "unknown");
}

int inspect_software(guestfs_h *g, json_object *o) {
        json_object *found = json_object_new_object(), *packages = json_get(o, "packages");
        int r = found ? json_set(o, "software", found) : -ENOMEM;

        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(software); i++) {
                _cleanup_free_ char *version = NULL;

                for (size_t p = 0; p < ELEMENTSOF(software[i].packages) &&
                                   software[i].packages[p] && !version;
                                p++) {
                        const char *v = package_version(packages, software[i].packages[p]);
                        if (v && !(version = strdup(v)))
                                return -ENOMEM;
                }
                for (size_t f = 0; f < ELEMENTSOF(software[i].files) && software[i].files[f] &&
                                   !version;
                                f++)
                        version = file_version(g, software[i].files[f]);
                if (!version)
                        continue;
                json_object *s = json_object_new_object();
                if (!s || json_set(found, software[i].key, s) < 0)
                        return -ENOMEM;
                r = json_set_string(s, "label", software[i].label);
                if (r >= 0)
                        r = json_set_string(s, "version", version);
        }
        return r;
}

/* "kernel/drivers/video/nvidia.ko.xz" → whether it is the module `name`. */
static bool is_module(const char *path, const char *name) {
        const char *rest = startswith(path_basename(path), name);

        return rest && startswith(rest, ".ko") && (rest[3] == '\0' || rest[3] == '.');
}

static int add_nvidia(guestfs_h *g, const char *release, const char *folder, json_object *o,
                json_object *kernel) {
        _cleanup_strv_free_ char **files = inspect_take_list(guestfs_find(g, folder));

        STRV_FOREACH (f, files) {
                _cleanup_free_ char *path = NULL;
                _cleanup_close_ int fd = -EBADF;
                ModuleInfo info = {};
                int r;

                if (!is_module(*f, "nvidia"))
                        continue;
                path = path_join(folder, *f);
                if (!path)
                        return -ENOMEM;
                r = inspect_open_file(g, path, &fd);
                if (r >= 0)
                        r = module_info_read(fd, &info);
                if (r < 0)
                        return inspect_problem(o, path, strerror(-r));
                r = json_set_string(kernel, "nvidia", strempty(info.version));
                if (r >= 0)
                        r = json_set_string(kernel, "nvidia_module", path);
                /* "6.12.57+deb13-amd64 SMP preempt …": built for another kernel, it will not
                 * load. */
                const char *rest = info.vermagic ? startswith(info.vermagic, release) : NULL;
                if (r >= 0 && info.vermagic && !(rest && (*rest == ' ' || *rest == '\0')))
                        r = inspect_problem(o, path, "it was built for another kernel");
                module_info_done(&info);
                return r;
        }
        return 0;
}

int inspect_kernels(guestfs_h *g, json_object *o) {
        json_object *kernels = json_object_new_array();
        _cleanup_strv_free_ char **folders = NULL;
        int r = kernels ? json_set(o, "kernels", kernels) : -ENOMEM;

        if (r < 0)
                return r;
        folders = inspect_take_list(guestfs_glob_expand_opts(
                        g, "/lib/modules/*", GUESTFS_GLOB_EXPAND_OPTS_DIRECTORYSLASH, 0, -1));
        STRV_FOREACH (folder, folders) {
                const char *release = path_basename(*folder);
                _cleanup_free_ char *boot = strf("/boot/vmlinuz-%s", release),
                                    *image = strf("%s/vmlinuz", *folder),
                                    *builtin = strf("%s/modules.builtin", *folder);
                json_object *k = json_object_new_object();

                if (!boot || !image || !builtin || !k || json_object_array_add(kernels, k) < 0)
                        return -ENOMEM;
                bool bootable = guestfs_is_file_opts(g, boot, GUESTFS_IS_FILE_OPTS_FOLLOWSYMLINKS,
                                                1, -1) == 1 ||
                                guestfs_is_file_opts(g, image, GUESTFS_IS_FILE_OPTS_FOLLOWSYMLINKS,
                                                1, -1) == 1;
                r = json_set_string(k, "release", release);
                if (r >= 0)
                        r = json_set(k, "bootable", json_object_new_boolean(bootable));
                if (r >= 0)
                        r = add_nvidia(g, release, *folder, o, k);
                if (r < 0)
                        return r;
        }
        return 0;
}
