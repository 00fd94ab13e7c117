/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The versions that the manifest tells: kernel, driver, and some packages'. CUDA's and NCCL's are
 * added by the rules that look at their libraries. */

#include "check/internal.h"

/* Facts that are a package's version. */
static const struct {
        const char *fact, *package;
} package_facts[] = {
        { "systemd", "systemd" },
        { "cloud-init", "cloud-init" },
        { "openssh", "openssh-server" },
        { "slurm", "slurmd" },
        { "slurm", "slurm-slurmd" }, /* of family el */
        { "munge", "munge" },
        { "sssd", "sssd-common" },
        { "lvm2", "lvm2" },
        { "rdma-core", "rdma-core" },
        { "containerd", "containerd" },
        { "containerd", "containerd.io" }, /* of Docker's repositories */
        { "runc", "runc" },
        { "container-toolkit", "nvidia-container-toolkit" },
        { "enroot", "enroot" },
};

int check_facts(const Tree *t, Findings *f) {
        int r;

        if (t->kernels) {
                _cleanup_free_ char *kernels = strv_join(t->kernels, " ");

                if (!kernels)
                        return -ENOMEM;
                r = findings_fact(f, "kernel", kernels);
                if (r < 0)
                        return r;
        }
        if (tree_driver_version(t)) {
                r = findings_fact(f, "driver", tree_driver_version(t));
                if (r < 0)
                        return r;
        }
        for (size_t i = 0; i < ELEMENTSOF(package_facts); i++) {
                const InstalledPackage *p = tree_package(t, package_facts[i].package);

                if (!p)
                        continue;
                r = findings_fact(f, package_facts[i].fact, p->version);
                if (r < 0)
                        return r;
        }
        return 0;
}
