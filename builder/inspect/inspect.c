/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The facts of an image, part by part; its system is found and mounted here. Nothing of the image
 * is ever executed, not even rpm. */

#include "inspect/internal.h"
#include "plan/plan.h"

#include "shared/log.h"

#include <sys/stat.h>

#define MARK "/" PLAN_NETWORK_MARK
#define MARK_SIZE_MAX 65536

static int add_os(guestfs_h *g, const char *root, json_object *o) {
        _cleanup_free_ char *name = guestfs_inspect_get_product_name(g, root),
                            *distro = guestfs_inspect_get_distro(g, root),
                            *arch = guestfs_inspect_get_arch(g, root),
                            *hostname = guestfs_inspect_get_hostname(g, root),
                            *packages = guestfs_inspect_get_package_format(g, root);
        json_object *os = NULL;
        int r;

        r = json_add_object(o, "os", &os);
        if (r < 0)
                return r;
        return json_set_fields(os, JSON_STRING("name", unless_empty(name)),
                        JSON_STRING("distro", unless_empty(distro)),
                        JSON_INT("major", guestfs_inspect_get_major_version(g, root)),
                        JSON_INT("minor", guestfs_inspect_get_minor_version(g, root)),
                        JSON_STRING("arch", unless_empty(arch)),
                        JSON_STRING("hostname", unless_empty(hostname)),
                        JSON_STRING("package_format", unless_empty(packages)),
                        JSON_STRING("root", root));
}

/* What os-release says, once the system is mounted: libguestfs' own name is, for some, a number
 * only, and of a release's name it knows nothing. */
static int add_release(guestfs_h *g, json_object *o) {
        static const struct {
                const char *field, *key;
        } taken[] = { { "PRETTY_NAME=", "name" }, { "VERSION_CODENAME=", "codename" } };
        _cleanup_strv_free_ char **lines = guestfs_read_lines(g, "/etc/os-release");
        int r;

        STRV_FOREACH (line, lines)
                for (size_t i = 0; i < ELEMENTSOF(taken); i++) {
                        const char *value = startswith(*line, taken[i].field);
                        _cleanup_free_ char *text = NULL;

                        if (!value)
                                continue;
                        value += strspn(value, "\"'");
                        text = strndup(value, strcspn(value, "\"'"));
                        if (!text)
                                return -ENOMEM;
                        r = json_set_string(json_get(o, "os"), taken[i].key, text);
                        if (r < 0)
                                return r;
                }
        return 0;
}

static int by_length(const void *a, const void *b) {
        const char *const *x = *(const char *const *const *) a,
                          *const *y = *(const char *const *const *) b;
        size_t n = strlen(*x), m = strlen(*y);

        return n < m ? -1 : n > m;
}

/* Notes in the list of file systems where one is mounted. */
static int note_mount_point(json_object *filesystems, const char *device, const char *path) {
        for (size_t i = 0; i < json_object_array_length(filesystems); i++) {
                json_object *f = json_object_array_get_idx(filesystems, i);
                int r;

                if (!streq_ptr(json_get_string(f, "device"), device))
                        continue;
                r = json_set_string(f, "mounted_at", path);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Mounts what the guest's fstab says, parents first. */
static int mount_os(guestfs_h *g, const char *root, json_object *o) {
        /* path, device, path, device … */
        _cleanup_strv_free_ char **points = guestfs_inspect_get_mountpoints(g, root);
        size_t n = strv_length(points) / 2;
        _cleanup_free_ char ***order = calloc(n + 1, sizeof(*order));

        if (!order)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                order[i] = points + 2 * i;
        qsort(order, n, sizeof(*order), by_length);

        for (size_t i = 0; i < n; i++) {
                const char *path = order[i][0], *device = order[i][1];
                int r;

                if (guestfs_mount_ro(g, device, path) < 0)
                        r = inspect_problem(o, device, guestfs_last_error(g));
                else
                        r = note_mount_point(json_get(o, "filesystems"), device, path);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* What the image says of itself: which stages of its build fetched what no lock pins. */
static int add_network_stages(guestfs_h *g, json_object *o) {
        _cleanup_strv_free_ char **lines = NULL;
        json_object *stages = NULL;
        int r;

        if (guestfs_is_file(g, MARK) <= 0 || guestfs_filesize(g, MARK) > MARK_SIZE_MAX)
                return 0;
        lines = guestfs_read_lines(g, MARK);
        if (!lines || !lines[0])
                return 0;
        r = json_set_fields(o, JSON_BOOL("reproducible", false));
        if (r < 0)
                return r;
        r = json_add_array(o, "network_stages", &stages);
        if (r < 0)
                return r;
        STRV_FOREACH (line, lines) {
                r = json_append(stages, json_object_new_string(*line));
                if (r < 0)
                        return r;
        }
        return 0;
}

static int describe_os(guestfs_h *g, const char *root, json_object *o) {
        int r;

        r = add_os(g, root, o);
        if (r < 0)
                return r;
        r = mount_os(g, root, o);
        if (r < 0)
                return r;
        r = add_release(g, o);
        if (r < 0)
                return r;

        r = add_network_stages(g, o);
        if (r < 0)
                return r;
        r = inspect_kernels(g, o);
        if (r < 0)
                return r;
        r = inspect_packages(g, root, o);
        if (r < 0)
                return r;
        r = inspect_software(g, o);
        return r < 0 ? r : inspect_support(o);
}

static bool has_filesystem(json_object *o) {
        json_object *filesystems = json_get(o, "filesystems");

        for (size_t i = 0; i < json_object_array_length(filesystems); i++) {
                const char *type =
                                json_get_string(json_object_array_get_idx(filesystems, i), "type");

                if (!streq_ptr(type, "unknown") && !streq_ptr(type, "swap"))
                        return true;
        }
        return false;
}

static int describe(guestfs_h *g, const char *path, const char *format, json_object *o) {
        _cleanup_strv_free_ char **roots = NULL;
        json_object *problems = NULL;
        struct stat st;
        int r;

        r = json_set_fields(o, JSON_STRING("image", path), JSON_STRING("format", format));
        if (r < 0)
                return r;
        if (stat(path, &st) >= 0) {
                r = json_set_int(o, "bytes_on_host", (int64_t) st.st_blocks * 512);
                if (r < 0)
                        return r;
        }
        r = json_add_array(o, "problems", &problems);
        if (r < 0)
                return r;
        r = inspect_disk(g, o);
        if (r < 0)
                return r;

        if (!has_filesystem(o))
                return 0; /* to look for a system takes seconds */
        roots = guestfs_inspect_os(g);
        if (!roots)
                log_debug("libguestfs: %s", strempty(guestfs_last_error(g)));
        if (!roots || !roots[0])
                return 0;
        if (roots[1]) {
                r = inspect_problem(
                                o, path, "several operating systems; only the first is described");
                if (r < 0)
                        return r;
        }
        return describe_os(g, roots[0], o);
}

int inspect_image(guestfs_h *g, const char *path, const char *format, json_object **ret) {
        _cleanup_json_ json_object *o = json_object_new_object();
        int r;

        if (!o)
                return log_oom();
        r = describe(g, path, format, o);
        if (r < 0)
                return log_error_errno(r, "Cannot inspect %s", path);
        *ret = TAKE_PTR(o);
        return 0;
}
