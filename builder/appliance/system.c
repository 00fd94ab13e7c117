/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The one operating system of an image: found, mounted as its own fstab says, and what a lock wants
 * to know of it. */

#include "appliance/internal.h"

#include "common/dpkg-status.h"
#include "common/version.h"
#include "shared/log.h"
#include "shared/strv.h"

/* Bytes; that of 1500 packages has a hundred million. */
#define RPMDB_SIZE_MAX (512 * 1024 * 1024)

#define BERKELEY_PACKAGES "/var/lib/rpm/Packages"
#define BERKELEY_HASH_MAGIC 0x061561

/* Family el, by os-release's ID. */
static const struct {
        const char *id, *name;
} el_distros[] = {
        { "ol", "oracle" },
        { "rhel", "rhel" },
        { "rocky", "rocky" },
        { "almalinux", "alma" },
};

void image_facts_done(ImageFacts *f) {
        free(f->distro);
        free(f->release);
        free(f->arch);
        free(f->kernel);
        free(f->packages);
        *f = (ImageFacts) {};
}

/* "/dev/sda1 (debian 13), /dev/sda2 (ubuntu 24.4)"; NULL on out of memory. */
static char *name_systems(guestfs_h *g, char *const *roots) {
        _cleanup_strv_free_ char **l = NULL;

        STRV_FOREACH (root, roots) {
                _cleanup_free_ char *name = guestfs_inspect_get_product_name(g, *root);

                if (strv_extendf(&l, "%s (%s)", *root, isempty(name) ? "unknown" : name) < 0)
                        return NULL;
        }
        return strv_join(l, ", ");
}

/* Of libguestfs' list of file systems such are left out. Takes `devices`; NULL: it is not
 * encrypted, as far as these are known. */
static char *find_encrypted(guestfs_h *g, char **devices) {
        _cleanup_strv_free_ char **owned = devices;

        STRV_FOREACH (device, owned) {
                _cleanup_free_ char *type = guestfs_vfs_type(g, *device);

                if (type && streq(type, "crypto_LUKS"))
                        return strdup(*device);
        }
        return NULL;
}

static int refuse_encrypted(guestfs_h *g, const char *image) {
        char **(*const lists[])(guestfs_h *) = { guestfs_list_partitions, guestfs_list_devices,
                guestfs_lvs };

        for (size_t i = 0; i < ELEMENTSOF(lists); i++) {
                _cleanup_free_ char *device = find_encrypted(g, lists[i](g));

                if (device)
                        return log_error_return(-EINVAL,
                                        "%s: %s is encrypted (LUKS): without its key nothing can be imported; take an image that is not, or decrypt it first",
                                        image, device);
        }
        return 0;
}

/* Why no system was found, as far as can be told. */
static int explain_none(guestfs_h *g, const char *image) {
        _cleanup_strv_free_ char **found = guestfs_list_filesystems(g);
        bool any = false;
        int r;

        r = refuse_encrypted(g, image);
        if (r < 0)
                return r;
        for (size_t i = 0; found && found[i] && found[i + 1]; i += 2) {
                const char *device = found[i], *type = found[i + 1];

                if (streq(type, "unknown") || streq(type, "swap"))
                        continue;
                any = true;
                if (guestfs_mount_ro(g, device, "/") < 0)
                        return log_error_return(-EINVAL,
                                        "%s: the %s file system on %s cannot be mounted, so it is damaged or was cut off: %s",
                                        image, type, device, strempty(guestfs_last_error(g)));
                (void) guestfs_umount_all(g);
        }
        return log_error_return(-EINVAL,
                        any ? "%s: there are file systems, but no operating system on them"
                            : "%s: there is no file system that could be read: it is empty, damaged or was cut off",
                        image);
}

static int choose(guestfs_h *g, const char *image, const char *wanted, char **ret_root) {
        _cleanup_strv_free_ char **roots = guestfs_inspect_os(g);
        _cleanup_free_ char *names = NULL;

        if (!roots || !roots[0])
                return explain_none(g, image);
        if (!wanted && !roots[1]) {
                *ret_root = strdup(roots[0]);
                return *ret_root ? 0 : log_oom();
        }
        if (wanted && strv_contains(roots, wanted)) {
                *ret_root = strdup(wanted);
                return *ret_root ? 0 : log_oom();
        }

        names = name_systems(g, roots);
        if (!names)
                return log_oom();
        return wanted ? log_error_return(-EINVAL,
                                        "%s: no system is on %s, but on %s: see base.root", image,
                                        wanted, names)
                      : log_error_return(-EINVAL,
                                        "%s: there are several systems: say in base.root which: %s",
                                        image, names);
}

/* The ESP's content is a boot loader's for another disk: ours gets its own. */
static bool is_esp(guestfs_h *g, const char *point, const char *device) {
        _cleanup_free_ char *type = streq(point, "/boot") ? NULL : guestfs_vfs_type(g, device);

        return type && streq(type, "vfat") && (strstr(point, "efi") || strstr(point, "EFI"));
}

/* Parents first: "/", "/var", "/var/log". */
static int by_length(const void *a, const void *b) {
        const char *const *x = a, *const *y = b;
        size_t m = strlen(x[0]), n = strlen(y[0]);

        return m != n ? (m < n ? -1 : 1) : strcmp(x[0], y[0]);
}

int system_mount(
                guestfs_h *g, const char *image, const char *root, bool writable, char **ret_root) {
        _cleanup_strv_free_ char **points = NULL;
        _cleanup_free_ char *found = NULL;
        int r;

        r = choose(g, image, root, &found);
        if (r < 0)
                return r;
        points = guestfs_inspect_get_mountpoints(g, found); /* point, device, point … */
        if (!points || !points[0])
                return log_error_return(-EINVAL, "%s: %s has no fstab that could be read: %s",
                                image, found, strempty(guestfs_last_error(g)));
        qsort(points, strv_length(points) / 2, 2 * sizeof(char *), by_length);
        for (size_t i = 0; points[i]; i += 2) {
                if (is_esp(g, points[i], points[i + 1]))
                        continue;
                if ((writable ? guestfs_mount(g, points[i + 1], points[i])
                              : guestfs_mount_ro(g, points[i + 1], points[i])) < 0)
                        return log_error_return(-EINVAL,
                                        "%s: %s (%s) cannot be mounted, so the system would not be whole: %s",
                                        image, points[i], points[i + 1],
                                        strempty(guestfs_last_error(g)));
        }
        *ret_root = TAKE_PTR(found);
        return 0;
}

/* The value of a line KEY=VALUE, without quotes; NULL where there is none. */
static char *find_value(char *const *lines, const char *key) {
        STRV_FOREACH (line, lines) {
                const char *v = startswith(*line, key);
                size_t n;

                if (!v || *v != '=')
                        continue;
                v++;
                n = strlen(v);
                if (n >= 2 && (*v == '"' || *v == '\'') && v[n - 1] == *v)
                        return strndup(v + 1, n - 2);
                return strdup(v);
        }
        return NULL;
}

/* *name: os-release's ID, replaced by what recipes call it. */
static bool is_el(char **name) {
        for (size_t i = 0; i < ELEMENTSOF(el_distros); i++) {
                char *ours = streq_ptr(*name, el_distros[i].id) ? strdup(el_distros[i].name) : NULL;

                if (!ours)
                        continue;
                free(*name);
                *name = ours;
                return true;
        }
        return false;
}

static int read_os_release(guestfs_h *g, const char *image, ImageFacts *f) {
        _cleanup_strv_free_ char **lines = guestfs_read_lines(g, "/etc/os-release");

        if (!lines)
                return log_error_return(-EINVAL,
                                "%s: its system has no /etc/os-release, so nobody knows what it is",
                                image);
        f->distro = find_value(lines, "ID");
        f->el = is_el(&f->distro);
        f->release = f->el ? NULL : find_value(lines, "VERSION_CODENAME");
        if (!f->release)
                f->release = find_value(lines, "VERSION_ID");
        if (f->distro && f->release)
                return 0;
        return log_error_return(-EINVAL, "%s: its /etc/os-release does not say %s", image,
                        f->distro ? "which release it is" : "what distribution it is");
}

/* The newest that has its modules, too. */
static int find_kernel(guestfs_h *g, ImageFacts *f) {
        _cleanup_strv_free_ char **images = guestfs_glob_expand(g, "/boot/vmlinuz-*");

        STRV_FOREACH (path, images) {
                const char *release = *path + strlen("/boot/vmlinuz-");
                _cleanup_free_ char *modules = strf("/lib/modules/%s", release);

                if (!modules)
                        return log_oom();
                if (guestfs_is_dir_opts(g, modules, GUESTFS_IS_DIR_OPTS_FOLLOWSYMLINKS, 1, -1) <= 0)
                        continue;
                if (f->kernel && version_compare(release, f->kernel) <= 0)
                        continue;
                free(f->kernel);
                f->kernel = strdup(release);
                if (!f->kernel)
                        return log_oom();
        }
        return 0;
}

/* What SQLite has written, but not into the file yet. */
static int refuse_log(guestfs_h *g, const char *image, const char *path) {
        _cleanup_free_ char *wal = strf("%s-wal", path);

        if (!wal)
                return log_oom();
        if (!guestfs_has_file(g, wal) || guestfs_filesize(g, wal) <= 0)
                return 0;
        return log_error_return(-EINVAL,
                        "%s: %s is not empty, so its system was not shut down while rpm had finished: boot it, run 'rpm -qa' as root, and shut it down",
                        image, wal);
}

/* rpm before 4.16 keeps it in Berkeley DB: its first page says how many follow. */
static int check_berkeley(const char *image, const char *path, const char *data, size_t size) {
        uint32_t magic = 0, page_size = 0, last = 0;

        if (size >= 36) {
                memcpy(&magic, data + 12, sizeof(magic));
                memcpy(&page_size, data + 20, sizeof(page_size));
                memcpy(&last, data + 32, sizeof(last));
        }
        if (magic != BERKELEY_HASH_MAGIC)
                return log_error_return(-EINVAL,
                                "%s: its %s is no hash of Berkeley DB on a little-endian machine, as rpm writes it",
                                image, path);
        if (((uint64_t) last + 1) * page_size > size)
                return log_error_return(-EINVAL,
                                "%s: its %s is cut off: its system was not shut down while rpm had finished",
                                image, path);
        return 0;
}

static int read_packages(guestfs_h *g, const char *image, ImageFacts *f) {
        static const char *const rpm[] = { "/usr/lib/sysimage/rpm/rpmdb.sqlite",
                "/var/lib/rpm/rpmdb.sqlite", BERKELEY_PACKAGES, NULL },
                                 *const dpkg[] = { "/var/lib/dpkg/status", NULL };
        const char *const *path = f->el ? rpm : dpkg;
        int r;

        while (*path && !guestfs_has_file(g, *path))
                path++;
        if (!*path)
                return 0;
        if (guestfs_filesize(g, *path) > (f->el ? RPMDB_SIZE_MAX : DPKG_STATUS_MAX))
                return log_error_return(
                                -EINVAL, "%s: its %s is larger than any there is", image, *path);
        r = f->el ? refuse_log(g, image, *path) : 0;
        if (r < 0)
                return r;
        f->packages = guestfs_read_file(g, *path, &f->packages_size);
        if (!f->packages)
                return log_error_return(-EINVAL, "%s: its %s cannot be read: %s", image, *path,
                                strempty(guestfs_last_error(g)));
        return streq(*path, BERKELEY_PACKAGES)
                               ? check_berkeley(image, *path, f->packages, f->packages_size)
                               : 0;
}

/* What libguestfs has no call for is asked of the appliance's own programs; nothing of the image is
 * run. */
static int find_newest(guestfs_h *g, const char *image, ImageFacts *f) {
        char script[] = "cd /sysroot && find . -printf '%T@\\n' | sort -n | tail -n 1";
        _cleanup_free_ char *output = guestfs_debug(g, "sh", ARGV(script));

        if (!output || *output < '0' || *output > '9')
                return log_error_return(-EINVAL,
                                "%s: its files cannot be read, so it is damaged: %s", image,
                                strempty(guestfs_last_error(g)));
        f->newest = strtoll(output, NULL, 10) + 1; /* what follows the point */
        return 0;
}

typedef struct Question {
        const char *image, *root;
        ImageFacts *facts;
} Question;

static int ask(guestfs_h *g, void *userdata) {
        const Question *q = userdata;
        _cleanup_image_facts_ ImageFacts f = {};
        _cleanup_free_ char *root = NULL;
        int r;

        r = system_mount(g, q->image, q->root, false, &root);
        if (r < 0)
                return r;
        r = read_os_release(g, q->image, &f);
        if (r < 0)
                return r;
        f.arch = guestfs_inspect_get_arch(g, root);
        r = find_kernel(g, &f);
        if (r < 0)
                return r;
        r = read_packages(g, q->image, &f);
        if (r < 0)
                return r;
        r = find_newest(g, q->image, &f);
        if (r < 0)
                return r;

        *q->facts = f;
        f = (ImageFacts) {};
        return 0;
}

int image_facts(const char *path, const char *format, const char *root, ImageFacts *ret) {
        return guestfs_use_readonly(path, format, ask,
                        &(Question) { .image = path, .root = root, .facts = ret });
}
