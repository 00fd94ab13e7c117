/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The packages of an image. dpkg's status file is read here, for it has the sizes; everything else
 * comes from libguestfs' own reader, which knows rpm, apk, pacman and more, without sizes. */

#include "inspect/inspect.h"

static int add_package(json_object *packages, const char *name, const char *version,
                const char *arch, int64_t size) {
        json_object *o = json_object_new_object();

        if (!o || json_object_array_add(packages, o) < 0) {
                json_object_put(o);
                return -ENOMEM;
        }
        int r = json_set_string(o, "name", name);
        if (r >= 0)
                r = json_set_string(o, "version", version);
        if (r >= 0)
                r = json_set_string(o, "arch", arch);
        if (r >= 0 && size >= 0)
                r = json_set_int(o, "size", size);
        return r;
}

static int by_name(const void *a, const void *b) {
        json_object *const *x = a, *const *y = b;
        int r = strcmp(strempty(json_get_string(*x, "name")),
                        strempty(json_get_string(*y, "name")));

        return r != 0 ? r
                      : strcmp(strempty(json_get_string(*x, "arch")),
                                        strempty(json_get_string(*y, "arch")));
}

typedef struct Paragraph {
        char *name, *version, *arch;
        int64_t size; /* bytes */
        bool installed;
} Paragraph;

static void paragraph_done(Paragraph *p) {
        free(p->name);
        free(p->version);
        free(p->arch);
        *p = (Paragraph) { .size = -1 };
}

static int paragraph_end(Paragraph *p, json_object *packages) {
        int r = p->installed && p->name && p->version
                                ? add_package(packages, p->name, p->version, p->arch, p->size)
                                : 0;

        paragraph_done(p);
        return r;
}

static int keep(char **field, const char *value) {
        free(*field);
        *field = strdup(value);
        return *field ? 0 : -ENOMEM;
}

int inspect_parse_dpkg(FILE *f, json_object *packages) {
        _cleanup_(paragraph_done) Paragraph p = { .size = -1 };
        _cleanup_free_ char *line = NULL;
        size_t allocated = 0;
        ssize_t n;
        int r = 0;

        while (r >= 0 && (n = getline(&line, &allocated, f)) >= 0) {
                const char *v;

                while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r'))
                        line[--n] = '\0';
                if (n == 0)
                        r = paragraph_end(&p, packages);
                else if ((v = startswith(line, "Package: ")))
                        r = keep(&p.name, v);
                else if ((v = startswith(line, "Version: ")))
                        r = keep(&p.version, v);
                else if ((v = startswith(line, "Architecture: ")))
                        r = keep(&p.arch, v);
                else if ((v = startswith(line, "Installed-Size: ")))
                        p.size = strtoll(v, NULL, 10) *
                                 1024; /* deb-control(5): in units of 1024 bytes */
                else if ((v = startswith(line, "Status: ")))
                        p.installed = endswith(v, " installed");
        }
        if (r >= 0)
                r = paragraph_end(&p, packages);
        if (r < 0)
                return r;
        json_object_array_sort(packages, by_name);
        return 0;
}

static int read_dpkg(guestfs_h *g, json_object *packages) {
        int fd, r;

        r = inspect_open_file(g, "/var/lib/dpkg/status", &fd);
        if (r < 0)
                return r;
        _cleanup_fclose_ FILE *f = fdopen(fd, "r");
        if (!f) {
                safe_close(fd);
                return -ENOMEM;
        }
        return inspect_parse_dpkg(f, packages);
}

static int read_other(guestfs_h *g, const char *root, json_object *packages) {
        struct guestfs_application2_list *l = guestfs_inspect_list_applications2(g, root);
        int r = 0;

        if (!l)
                return -EIO;
        for (uint32_t i = 0; r >= 0 && i < l->len; i++) {
                const struct guestfs_application2 *a = l->val + i;
                _cleanup_free_ char *version =
                                isempty(a->app2_release)
                                                ? strdup(a->app2_version)
                                                : strf("%s-%s", a->app2_version, a->app2_release);
                r = version ? add_package(packages, a->app2_name, version, a->app2_arch, -1)
                            : -ENOMEM;
        }
        guestfs_free_application2_list(l);
        json_object_array_sort(packages, by_name);
        return r;
}

int inspect_packages(guestfs_h *g, const char *root, json_object *o) {
        json_object *packages = json_object_new_array();
        _cleanup_free_ char *kind = guestfs_inspect_get_package_format(g, root);
        int r;

        if (!packages)
                return -ENOMEM;
        r = json_set(o, "packages", packages);
        if (r < 0)
                return r;
        r = streq_ptr(kind, "deb") || guestfs_is_file(g, "/var/lib/dpkg/status") == 1
                            ? read_dpkg(g, packages)
                            : read_other(g, root, packages);
        if (r == -EIO)
                return inspect_problem(o, "packages", guestfs_last_error(g));
        return r;
}
