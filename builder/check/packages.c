/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The packages of the tree: dpkg's, of its status file; rpm's, of what rpm itself said
 * (commands.c), for its database is nobody else's to read. */

#include "check/internal.h"

#include "common/dpkg-status.h"
#include "common/rpm-list.h"
#include "shared/file-util.h"

#define STATUS_MAX (64u * 1024 * 1024)

#define WORDS 5 /* name, version, architecture, source, its version */

/* Some may be NULL. They are a stranger's words, and go into the manifest. */
static int add_package(Tree *t, const char *const words[static WORDS], bool held) {
        InstalledPackage p = { .held = held }, *grown = NULL;
        char **const copies[WORDS] = { &p.name, &p.version, &p.arch, &p.source, &p.source_version };
        bool whole = true;

        for (size_t i = 0; i < WORDS; i++) {
                *copies[i] = words[i] ? strdup(words[i]) : NULL;
                if (*copies[i])
                        json_clean_utf8(*copies[i]);
                whole = whole && !words[i] == !*copies[i];
        }
        if (whole)
                grown = reallocarray(t->packages, t->n_packages + 1, sizeof(*grown));
        if (!grown) {
                installed_package_done(&p);
                return -ENOMEM;
        }
        t->packages = grown;
        t->packages[t->n_packages++] = p;
        return 0;
}

static int add_deb(const DpkgPackage *p, void *userdata) {
        _cleanup_free_ char *source = NULL, *version = NULL;

        if (!p->installed)
                return 0;
        if (p->source && dpkg_source_split(p->source, &source, &version) < 0)
                return -ENOMEM;
        return add_package(userdata,
                        (const char *[WORDS]) { p->name, p->version, p->arch, source, version },
                        p->held);
}

static int add_rpm(const RpmPackage *p, void *userdata) {
        return add_package(userdata,
                        (const char *[WORDS]) { p->name, p->version, p->arch, p->source,
                                        p->source_version },
                        false);
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

int tree_read_packages(Tree *t) {
        return t->rpms ? rpm_list_read(t->rpms, add_rpm, t) : read_dpkg(t);
}

const InstalledPackage *tree_package(const Tree *t, const char *name) {
        for (size_t i = 0; i < t->n_packages; i++)
                if (streq(t->packages[i].name, name))
                        return t->packages + i;
        return NULL;
}
