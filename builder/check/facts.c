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

/* No lock tells what a vendor's image brings, nor what a package was made from. */
static int list_installed(const Tree *t, Findings *f) {
        f->installed = json_object_new_array();
        if (!f->installed)
                return -ENOMEM;
        for (size_t i = 0; i < t->n_packages; i++) {
                const InstalledPackage *p = t->packages + i;
                json_object *o = NULL;

                if (json_append_object(f->installed, &o) < 0 ||
                                json_set_fields(o, JSON_STRING("name", p->name),
                                                JSON_STRING("version", p->version),
                                                JSON_STRING("arch", p->arch),
                                                JSON_STRING("source", p->source),
                                                JSON_STRING("source_version", p->source_version)) <
                                                0)
                        return -ENOMEM;
        }
        return 0;
}

int check_facts(const Tree *t, Findings *f) {
        int r;

        r = list_installed(t, f);
        if (r < 0)
                return r;
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
