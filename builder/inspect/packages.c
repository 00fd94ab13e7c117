/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The packages of an image. dpkg's status file is read here, for it has the sizes; everything else
 * comes from libguestfs' own reader, which knows rpm, apk, pacman and more, without sizes. */

#include "inspect/internal.h"

#include "common/dpkg-status.h"

#include <inttypes.h>

#define DPKG_STATUS "/var/lib/dpkg/status"

/* size: bytes, negative where it is not known. */
static int add_package(json_object *packages, const char *name, const char *version,
                const char *arch, int64_t size) {
        json_object *o = NULL;
        int r;

        r = json_append_object(packages, &o);
        if (r < 0)
                return r;
        r = json_set_fields(o, JSON_STRING("name", name), JSON_STRING("version", version),
                        JSON_STRING("arch", arch));
        if (r < 0)
                return r;
        return size >= 0 ? json_set_int(o, "size", size) : 0;
}

int inspect_by_name(const void *a, const void *b) {
        json_object *const *x = a, *const *y = b;
        int r = strcmp(strempty(json_get_string(*x, "name")),
                        strempty(json_get_string(*y, "name")));

        return r != 0 ? r
                      : strcmp(strempty(json_get_string(*x, "arch")),
                                        strempty(json_get_string(*y, "arch")));
}

static int set_source(json_object *o, const char *source) {
        _cleanup_free_ char *name = NULL, *version = NULL;

        if (dpkg_source_split(source, &name, &version) < 0)
                return -ENOMEM;
        return json_set_fields(
                        o, JSON_STRING("source", name), JSON_STRING("source_version", version));
}

static int add_installed(const DpkgPackage *p, void *userdata) {
        json_object *packages = userdata;
        int r;

        if (!p->installed)
                return 0;
        r = add_package(packages, p->name, p->version, p->arch, p->size);
        if (r < 0 || !p->source)
                return r;
        return set_source(json_object_array_get_idx(packages, json_array_length(packages) - 1),
                        p->source);
}

int inspect_parse_dpkg(FILE *f, json_object *packages) {
        int r;

        r = dpkg_status_read(f, add_installed, packages);
        if (r < 0)
                return r;
        json_object_array_sort(packages, inspect_by_name);
        return 0;
}

static int read_dpkg(guestfs_h *g, json_object *packages) {
        _cleanup_close_ int fd = -EBADF;
        int r;

        r = guest_open_file(g, DPKG_STATUS, &fd);
        if (r < 0)
                return r;
        _cleanup_fclose_ FILE *f = fdopen(fd, "r");
        if (!f)
                return -ENOMEM;
        (void) TAKE_FD(fd); /* f closes it */
        return inspect_parse_dpkg(f, packages);
}

/* "EPOCH:VERSION-RELEASE", as a lock has it, each part where there is one. */
static char *application_version(const struct guestfs_application2 *a) {
        _cleanup_free_ char *epoch =
                        a->app2_epoch > 0 ? strf("%" PRIi32 ":", a->app2_epoch) : strdup("");

        return epoch ? strf("%s%s%s%s", epoch, a->app2_version, isempty(a->app2_release) ? "" : "-",
                                       a->app2_release)
                     : NULL;
}

static int add_application(json_object *packages, const struct guestfs_application2 *a) {
        _cleanup_free_ char *version = application_version(a);

        if (!version)
                return -ENOMEM;
        return add_package(packages, a->app2_name, version, a->app2_arch, -1);
}

static void application_listp(struct guestfs_application2_list **l) {
        if (*l)
                guestfs_free_application2_list(*l);
}

/* SQLite, in which rpm keeps its database, wants to write beside it even for a reader. The drive is
 * an overlay that is thrown away; but what lies there afterwards is no file of the image's. */
static const char *const rpm_leaves[] = { "/var/lib/rpm/rpmdb.sqlite-shm",
        "/var/lib/rpm/rpmdb.sqlite-wal", "/var/lib/rpm/.rpm.lock",
        "/usr/lib/sysimage/rpm/rpmdb.sqlite-shm", "/usr/lib/sysimage/rpm/rpmdb.sqlite-wal",
        "/usr/lib/sysimage/rpm/.rpm.lock" };

/* Those that are no mount points are passed over. */
static void make_writable(guestfs_h *g, bool writable) {
        static const char *const places[] = { "/", "/usr", "/var", "/var/lib" };

        for (size_t i = 0; i < ELEMENTSOF(places); i++)
                (void) guestfs_remount(g, places[i], GUESTFS_REMOUNT_RW, writable, -1);
}

static struct guestfs_application2_list *list_rpm(guestfs_h *g, const char *root) {
        struct guestfs_application2_list *l;
        bool there[ELEMENTSOF(rpm_leaves)];

        for (size_t i = 0; i < ELEMENTSOF(rpm_leaves); i++)
                there[i] = guestfs_exists(g, rpm_leaves[i]) != 0;
        make_writable(g, true);
        l = guestfs_inspect_list_applications2(g, root);
        if (!l) /* what went wrong is the last that was said */
                return NULL;
        for (size_t i = 0; i < ELEMENTSOF(rpm_leaves); i++)
                if (!there[i])
                        (void) guestfs_rm_f(g, rpm_leaves[i]);
        make_writable(g, false);
        return l;
}

static int read_other(guestfs_h *g, const char *root, const char *kind, json_object *packages) {
        _cleanup_(application_listp) struct guestfs_application2_list *l =
                        streq_ptr(kind, "rpm") ? list_rpm(g, root)
                                               : guestfs_inspect_list_applications2(g, root);

        if (!l)
                return -EIO;
        for (uint32_t i = 0; i < l->len; i++) {
                int r = add_application(packages, l->val + i);
                if (r < 0)
                        return r;
        }
        json_object_array_sort(packages, inspect_by_name);
        return 0;
}

int inspect_packages(guestfs_h *g, const char *root, json_object *o) {
        _cleanup_free_ char *kind = guestfs_inspect_get_package_format(g, root);
        json_object *packages = NULL;
        int r;

        r = json_add_array(o, "packages", &packages);
        if (r < 0)
                return r;
        if (streq_ptr(kind, "deb") || guestfs_is_file(g, DPKG_STATUS) == 1)
                r = read_dpkg(g, packages);
        else
                r = read_other(g, root, kind, packages);
        if (r == -EIO)
                return inspect_problem(o, "packages", guestfs_last_error(g));
        if (r == -EFBIG) /* a line that no package manager writes */
                return inspect_problem(o, "packages", strerror(EFBIG));
        return r;
}
