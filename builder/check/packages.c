/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The packages of the tree: dpkg's, of its status file; rpm's, of what rpm itself said
 * (commands.c), for its database is nobody else's to read. */

#include "check/internal.h"

#include "common/dpkg-status.h"
#include "common/rpm-version.h"
#include "shared/file-util.h"

#define STATUS_MAX (64u * 1024 * 1024)

/* They are a stranger's words, and go into the manifest. */
static void clean(InstalledPackage *p) {
        char *const words[] = { p->name, p->version, p->arch, p->source, p->source_version };

        for (size_t i = 0; i < ELEMENTSOF(words); i++)
                if (words[i])
                        json_clean_utf8(words[i]);
}

/* Takes what *p has. */
static int add_package(Tree *t, InstalledPackage *p) {
        InstalledPackage *grown = NULL;

        if (p->name && p->version)
                grown = reallocarray(t->packages, t->n_packages + 1, sizeof(*grown));
        if (!grown) {
                installed_package_done(p);
                return -ENOMEM;
        }
        clean(p);
        t->packages = grown;
        t->packages[t->n_packages++] = *p;
        return 0;
}

static int add_deb(const DpkgPackage *package, void *userdata) {
        InstalledPackage p = { .held = package->held };

        if (!package->installed)
                return 0;
        if (package->source && dpkg_source_split(package->source, &p.source, &p.source_version) < 0)
                return -ENOMEM;
        p.name = strdup(package->name);
        p.version = strdup(package->version);
        p.arch = package->arch ? strdup(package->arch) : NULL;
        return add_package(userdata, &p);
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

/* `file`: of the source RPM, or NULL. */
static int take_source(
                const char *file, const char *name, const char *version, InstalledPackage *p) {
        int r = file ? rpm_source_split(file, &p->source, &p->source_version) : 0;

        if (r < 0 || !p->source || !version ||
                        !rpm_source_is_own(p->source, p->source_version, name, version))
                return r;
        free(TAKE_PTR(p->source));
        free(TAKE_PTR(p->source_version));
        return 0;
}

/* What else it may have printed, warnings, has no tab. */
static int read_rpm(Tree *t) {
        _cleanup_free_ char *text = strdup(t->rpms);
        char *rest = text;

        if (!text)
                return -ENOMEM;
        for (char *line; (line = strsep(&rest, "\n"));) {
                const char *name = strsep(&line, "\t"), *version, *arch;
                InstalledPackage p = {};

                if (!line || isempty(name) || streq(name, "gpg-pubkey"))
                        continue;
                version = strsep(&line, "\t");
                arch = strsep(&line, "\t"); /* what is left is the source RPM */
                if (take_source(line, name, version, &p) < 0)
                        return -ENOMEM;
                p.name = strdup(name);
                p.version = strdup(version);
                p.arch = arch ? strdup(arch) : NULL;
                if (add_package(t, &p) < 0)
                        return -ENOMEM;
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
