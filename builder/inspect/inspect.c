/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The facts of an image: its disk here, packages and versions in the files beside. Nothing of the
 * image is ever executed, not even rpm. */

#include "inspect/inspect.h"

#include "shared/log.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

int inspect_problem(json_object *o, const char *what, const char *why) {
        json_object *problems = json_get(o, "problems");
        _cleanup_free_ char *text = strf("%s: %s", what, isempty(why) ? "cannot be read" : why);
        json_object *s = text ? json_object_new_string(text) : NULL;

        if (!s || json_object_array_add(problems, s) < 0) {
                json_object_put(s);
                return -ENOMEM;
        }
        return 0;
}

char **inspect_take_list(char **l) {
        /* Both are malloc()ed arrays of malloc()ed strings that end with NULL. */
        return l;
}

int inspect_open_file(guestfs_h *g, const char *path, int *ret_fd) {
        _cleanup_close_ int fd = memfd_create("imgbuild-inspect", MFD_CLOEXEC);
        char target[64];

        if (fd < 0)
                return -errno;
        snprintf(target, sizeof(target), "/proc/self/fd/%d", fd);
        if (guestfs_download(g, path, target) < 0)
                return -EIO;
        if (lseek(fd, 0, SEEK_SET) < 0)
                return -errno;
        *ret_fd = TAKE_FD(fd);
        return 0;
}

void inspect_format_size(uint64_t bytes, char *ret, size_t size) {
        static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
        double n = (double) bytes;
        size_t unit = 0;

        for (; n >= 1000 && unit + 1 < ELEMENTSOF(units); unit++)
                n /= 1024;
        snprintf(ret, size, unit == 0 ? "%.0f %s" : "%.1f %s", n, units[unit]);
}

static int add_array(json_object *o, const char *key, json_object **ret) {
        json_object *a = json_object_new_array();

        if (!a)
                return -ENOMEM;
        int r = json_set(o, key, a);
        if (r >= 0)
                *ret = a;
        return r;
}

static int add_object(json_object *array, json_object **ret) {
        json_object *o = json_object_new_object();

        if (!o || json_object_array_add(array, o) < 0) {
                json_object_put(o);
                return -ENOMEM;
        }
        *ret = o;
        return 0;
}

/* A text of libguestfs, freed here; an empty one is left out. */
static int set_taken(json_object *o, const char *key, char *value) {
        int r = isempty(value) ? 0 : json_set_string(o, key, value);

        free(value);
        return r;
}

static int add_partitions(guestfs_h *g, json_object *disk, const char *device) {
        struct guestfs_partition_list *l = guestfs_part_list(g, device);
        json_object *partitions = NULL;
        bool gpt;
        int r;

        if (!l)
                return 0; /* no partition table: one file system, LVM, or nothing */
        char *type = guestfs_part_get_parttype(g, device);
        gpt = streq_ptr(type, "gpt");
        r = set_taken(disk, "partition_table", type);
        if (r >= 0)
                r = add_array(disk, "partitions", &partitions);
        for (uint32_t i = 0; r >= 0 && i < l->len; i++) {
                int n = l->val[i].part_num;
                json_object *p;

                r = add_object(partitions, &p);
                if (r >= 0)
                        r = json_set_int(p, "number", n);
                if (r >= 0)
                        r = json_set_int(p, "start", (int64_t) l->val[i].part_start);
                if (r >= 0)
                        r = json_set_int(p, "size", (int64_t) l->val[i].part_size);
                if (r >= 0 && gpt)
                        r = set_taken(p, "type", guestfs_part_get_gpt_type(g, device, n));
                if (r >= 0 && gpt)
                        r = set_taken(p, "name", guestfs_part_get_name(g, device, n));
                int id = gpt ? -1 : guestfs_part_get_mbr_id(g, device, n);
                if (r >= 0 && id >= 0) {
                        char text[16];
                        snprintf(text, sizeof(text), "0x%02x", (unsigned) id);
                        r = json_set_string(p, "type", text);
                }
        }
        guestfs_free_partition_list(l);
        return r;
}

static int add_use(guestfs_h *g, json_object *filesystem, const char *at) {
        struct guestfs_statvfs *s = guestfs_statvfs(g, at);
        int r;

        if (!s)
                return 0;
        r = json_set_int(filesystem, "size", s->blocks * s->frsize);
        if (r >= 0)
                r = json_set_int(filesystem, "used", (s->blocks - s->bfree) * s->frsize);
        if (r >= 0)
                r = json_set_int(filesystem, "free", s->bavail * s->frsize);
        if (r >= 0 && s->files > 0)
                r = json_set_int(filesystem, "inodes_used", s->files - s->ffree);
        guestfs_free_statvfs(s);
        return r;
}

static int add_filesystem(guestfs_h *g, json_object *filesystems, const char *device,
                const char *type, json_object *o) {
        static const char *const not_mountable[] = { "swap", "unknown", "crypto_LUKS",
                "LVM2_member", "linux_raid_member" };
        bool mountable = true;
        json_object *f;
        int r;

        for (size_t i = 0; i < ELEMENTSOF(not_mountable); i++)
                mountable = mountable && !streq(type, not_mountable[i]);
        r = add_object(filesystems, &f);
        if (r >= 0)
                r = json_set_string(f, "device", device);
        if (r >= 0)
                r = json_set_string(f, "type", type);
        if (r >= 0)
                r = set_taken(f, "label", guestfs_vfs_label(g, device));
        if (r >= 0)
                r = set_taken(f, "uuid", guestfs_vfs_uuid(g, device));
        if (r < 0 || !mountable)
                return r;
        if (guestfs_mount_ro(g, device, "/") < 0)
                return inspect_problem(o, device, guestfs_last_error(g));
        r = add_use(g, f, "/");
        (void) guestfs_umount_all(g);
        return r;
}

int inspect_disks(guestfs_h *g, json_object *o) {
        _cleanup_strv_free_ char **found = NULL;
        json_object *filesystems = NULL;
        int r;

        int64_t size = guestfs_blockdev_getsize64(g, "/dev/sda");
        r = size >= 0 ? json_set_int(o, "virtual_size", size) : 0;
        if (r >= 0)
                r = add_partitions(g, o, "/dev/sda");
        if (r >= 0)
                r = add_array(o, "filesystems", &filesystems);
        if (r < 0)
                return r;
        found = inspect_take_list(guestfs_list_filesystems(g)); /* device, type, device, type … */
        if (!found)
                return inspect_problem(o, "file systems", guestfs_last_error(g));
        for (size_t i = 0; r >= 0 && found[i] && found[i + 1]; i += 2)
                r = add_filesystem(g, filesystems, found[i], found[i + 1], o);
        return r;
}

/* os-release's PRETTY_NAME, once the system is mounted: libguestfs' own name is, for some, a
 * number only. */
static int set_pretty_name(guestfs_h *g, json_object *o) {
        _cleanup_strv_free_ char **lines =
                        inspect_take_list(guestfs_read_lines(g, "/etc/os-release"));

        STRV_FOREACH (line, lines) {
                const char *value = startswith(*line, "PRETTY_NAME=");
                _cleanup_free_ char *text = NULL;

                if (!value)
                        continue;
                value += strspn(value, "\"'");
                text = strndup(value, strcspn(value, "\"'"));
                return text ? json_set_string(json_get(o, "os"), "name", text) : -ENOMEM;
        }
        return 0;
}

static int add_os(guestfs_h *g, const char *root, json_object *o) {
        json_object *os = json_object_new_object();
        int r = os ? json_set(o, "os", os) : -ENOMEM;

        if (r >= 0)
                r = set_taken(os, "name", guestfs_inspect_get_product_name(g, root));
        if (r >= 0)
                r = set_taken(os, "distro", guestfs_inspect_get_distro(g, root));
        if (r >= 0)
                r = json_set_int(os, "major", guestfs_inspect_get_major_version(g, root));
        if (r >= 0)
                r = json_set_int(os, "minor", guestfs_inspect_get_minor_version(g, root));
        if (r >= 0)
                r = set_taken(os, "arch", guestfs_inspect_get_arch(g, root));
        if (r >= 0)
                r = set_taken(os, "hostname", guestfs_inspect_get_hostname(g, root));
        if (r >= 0)
                r = set_taken(os, "package_format", guestfs_inspect_get_package_format(g, root));
        return r < 0 ? r : json_set_string(os, "root", root);
}

static int by_length(const void *a, const void *b) {
        const char *const *x = *(const char *const *const *) a,
                          *const *y = *(const char *const *const *) b;
        size_t n = strlen(*x), m = strlen(*y);

        return n < m ? -1 : n > m;
}

/* Mounts what the guest's fstab says, parents first, and notes where in the list of file
 * systems. */
static int mount_os(guestfs_h *g, const char *root, json_object *o) {
        _cleanup_strv_free_ char **points = inspect_take_list(
                        guestfs_inspect_get_mountpoints(g, root)); /* path, device … */
        json_object *filesystems = json_get(o, "filesystems");
        size_t n = strv_length(points) / 2;
        _cleanup_free_ char ***order = calloc(n + 1, sizeof(*order));

        if (!order)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                order[i] = points + 2 * i;
        qsort(order, n, sizeof(*order), by_length);
        for (size_t i = 0; i < n; i++) {
                const char *path = order[i][0], *device = order[i][1];

                if (guestfs_mount_ro(g, device, path) < 0) {
                        int r = inspect_problem(o, device, guestfs_last_error(g));
                        if (r < 0)
                                return r;
                        continue;
                }
                for (size_t f = 0; f < json_object_array_length(filesystems); f++) {
                        json_object *fs = json_object_array_get_idx(filesystems, f);
                        if (streq_ptr(json_get_string(fs, "device"), device) &&
                                        json_set_string(fs, "mounted_at", path) < 0)
                                return -ENOMEM;
                }
        }
        return 0;
}

int inspect_image(guestfs_h *g, const char *path, const char *format, json_object **ret) {
        _cleanup_json_ json_object *o = json_object_new_object();
        _cleanup_strv_free_ char **roots = NULL;
        json_object *problems = NULL;
        struct stat st;
        int r;

        if (!o)
                return log_oom();
        r = json_set_string(o, "image", path);
        if (r >= 0)
                r = json_set_string(o, "format", format);
        if (r >= 0 && stat(path, &st) >= 0)
                r = json_set_int(o, "bytes_on_host", (int64_t) st.st_blocks * 512);
        if (r >= 0)
                r = add_array(o, "problems", &problems);
        if (r >= 0)
                r = inspect_disks(g, o);
        if (r < 0)
                return log_error_errno(r, "Cannot inspect %s", path);

        roots = inspect_take_list(guestfs_inspect_os(g));
        if (!roots)
                log_debug("libguestfs: %s", strempty(guestfs_last_error(g)));
        if (roots && roots[0]) {
                if (roots[1])
                        r = inspect_problem(o, path,
                                        "several operating systems; only the first is described");
                if (r >= 0)
                        r = add_os(g, roots[0], o);
                if (r >= 0)
                        r = mount_os(g, roots[0], o);
                if (r >= 0)
                        r = set_pretty_name(g, o);
                if (r >= 0)
                        r = inspect_kernels(g, o);
                if (r >= 0)
                        r = inspect_packages(g, roots[0], o);
                if (r >= 0)
                        r = inspect_software(g, o);
        }
        if (r < 0)
                return log_error_errno(r, "Cannot inspect %s", path);
        *ret = TAKE_PTR(o);
        return 0;
}
