/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The packages of the tree: dpkg's, of its status file; rpm's, of what rpm itself said
 * (commands.c), for its database is nobody else's to read. */

#include "check/internal.h"

#include "common/dpkg-status.h"
#include "shared/file-util.h"

#define STATUS_MAX (64u * 1024 * 1024)

static int add_package(
                Tree *t, const char *name, const char *version, const char *arch, bool held) {
        InstalledPackage p = { strdup(name), strdup(version), arch ? strdup(arch) : NULL, held },
                         *grown = NULL;

        if (p.name && p.version && !arch == !p.arch)
                grown = reallocarray(t->packages, t->n_packages + 1, sizeof(*grown));
        if (!grown) {
                free(p.name);
                free(p.version);
                free(p.arch);
                return -ENOMEM;
        }
        /* They are a stranger's words, and go into the manifest. */
        json_clean_utf8(p.name);
        json_clean_utf8(p.version);
        if (p.arch)
                json_clean_utf8(p.arch);
        t->packages = grown;
        t->packages[t->n_packages++] = p;
        return 0;
}

static int add_deb(const DpkgPackage *package, void *userdata) {
        return package->installed ? add_package(userdata, package->name, package->version,
                                                    package->arch, package->held)
                                  : 0;
}

static int read_dpkg(Tree *t) {
        _cleanup_close_ int fd = -EBADF;
        size_t size;

        fd = tree_open_regular(t, "var/lib/dpkg/status", STATUS_MAX, &size);
        if (fd == -ENOENT)
                return 0;
        if (fd < 0)
                return fd;

        _cleanup_fclose_ FILE *f = fdopen(fd, "r");
        if (!f)
                return -errno;
        (void) TAKE_FD(fd); /* f closes it */
        return dpkg_status_read(f, add_deb, t);
}

/* What else it may have printed, warnings, has no tab. */
static int read_rpm(Tree *t) {
        _cleanup_free_ char *text = strdup(t->rpms);
        char *rest = text;

        if (!text)
                return -ENOMEM;
        for (char *line; (line = strsep(&rest, "\n"));) {
                const char *name = strsep(&line, "\t"), *version;
                int r;

                if (!line || isempty(name) || streq(name, "gpg-pubkey"))
                        continue;
                version = strsep(&line, "\t");
                r = add_package(t, name, version, line, false);
                if (r < 0)
                        return r;
        }
        return 0;
}

int tree_read_packages(Tree *t) {
        return t->rpms ? read_rpm(t) : read_dpkg(t);
}

const InstalledPackage *tree_package(const Tree *t, const char *name) {
        for (size_t i = 0; i < t->n_packages; i++)
                if (streq(t->packages[i].name, name))
                        return t->packages + i;
        return NULL;
}
