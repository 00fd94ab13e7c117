/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is installed, from dpkg's status file, and the versions that the manifest tells. */

#include "check/internal.h"

#define STATUS_MAX (64u * 1024 * 1024)

static const char *field(const char *line, const char *name) {
        const char *value = startswith(line, name);
        return value && value[0] == ':' && value[1] == ' ' ? value + 2 : NULL;
}

static int package_add(Tree *t, const char *name, const char *version, bool held) {
        InstalledPackage *grown = reallocarray(t->packages, t->n_packages + 1, sizeof(*grown));
        InstalledPackage p = { strdup(name), strdup(version), held };

        if (grown)
                t->packages = grown;
        if (!grown || !p.name || !p.version) {
                free(p.name);
                free(p.version);
                return -ENOMEM;
        }
        t->packages[t->n_packages++] = p;
        return 0;
}

int tree_read_packages(Tree *t) {
        _cleanup_free_ char *text = NULL;
        const char *name = NULL, *status = NULL, *version = NULL;
        int r = tree_read(t, "var/lib/dpkg/status", STATUS_MAX, &text);

        if (r == -ENOENT)
                return 0;
        if (r < 0)
                return r;
        for (char *line = text, *next; line; line = next) {
                const char *v;

                next = strchr(line, '\n');
                if (next)
                        *next++ = '\0';
                if ((v = field(line, "Package")))
                        name = v;
                else if ((v = field(line, "Status")))
                        status = v;
                else if ((v = field(line, "Version")))
                        version = v;
                if (*line == '\0' || !next) {
                        if (name && version && status && endswith(status, " installed")) {
                                r = package_add(t, name, version, startswith(status, "hold "));
                                if (r < 0)
                                        return r;
                        }
                        name = status = version = NULL;
                }
        }
        return 0;
}

const InstalledPackage *tree_package(const Tree *t, const char *name) {
        for (size_t i = 0; i < t->n_packages; i++)
                if (streq(t->packages[i].name, name))
                        return t->packages + i;
        return NULL;
}

/* Facts of the manifest that are a package's version. Driver, CUDA and NCCL come from the files
 * themselves. */
static const struct {
        const char *fact, *package;
} package_facts[] = {
        { "systemd", "systemd" },
        { "cloud-init", "cloud-init" },
        { "openssh", "openssh-server" },
        { "slurm", "slurmd" },
        { "munge", "munge" },
        { "sssd", "sssd-common" },
        { "lvm2", "lvm2" },
        { "rdma-core", "rdma-core" },
        { "containerd", "containerd" },
        { "container-toolkit", "nvidia-container-toolkit" },
        { "enroot", "enroot" },
};

int check_facts(const Tree *t, Findings *f) {
        int r;

        if (t->kernels) {
                _cleanup_free_ char *kernels = strv_join(t->kernels, " ");
                r = kernels ? findings_fact(f, "kernel", kernels) : -ENOMEM;
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
                if (p) {
                        r = findings_fact(f, package_facts[i].fact, p->version);
                        if (r < 0)
                                return r;
                }
        }
        return 0;
}
