/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* rpm's database, which is nobody else's to read: SQLite, or Berkeley DB (release 8), which rpm
 * still reads. */

#include "inspect/rpm-database.h"
#include "common/rpm-list.h"
#include "inspect/internal.h"

#include "shared/file-util.h"
#include "shared/log.h"
#include "shared/spawn.h"

#include <fcntl.h>
#include <sys/resource.h>

#define SIZE_MAX_BYTES ((int64_t) 1 << 30)
#define INSIDE "/run/rpm"
#define TIMEOUT_USEC (120 * USEC_PER_SEC)
#define MEMORY_MAX ((rlim_t) 2 << 30)

static const char *const folders[] = { "/var/lib/rpm", "/usr/lib/sysimage/rpm" };
static const char *const names[] = { "rpmdb.sqlite", "Packages" };

void rpm_database_done(RpmDatabase *d) {
        d->name = NULL;
        d->fd = safe_close(d->fd);
        d->wal_fd = safe_close(d->wal_fd);
}

/* -ENOENT where there is no such file. */
static int copy_out(guestfs_h *g, const char *path, int *ret_fd) {
        int64_t size;

        if (guestfs_is_file_opts(g, path, GUESTFS_IS_FILE_OPTS_FOLLOWSYMLINKS, 1, -1) <= 0)
                return -ENOENT;
        size = guestfs_filesize(g, path);
        if (size < 0)
                return -EIO;
        if (size > SIZE_MAX_BYTES)
                return -EFBIG;
        return guest_open_file(g, path, ret_fd);
}

static int take(guestfs_h *g, const char *folder, const char *name, RpmDatabase *d) {
        _cleanup_free_ char *path = path_join(folder, name),
                            *wal = path ? strf("%s-wal", path) : NULL;
        int r;

        if (!wal)
                return -ENOMEM;
        r = copy_out(g, path, &d->fd);
        if (r < 0)
                return r;
        d->name = name;
        r = copy_out(g, wal, &d->wal_fd);
        return r == -ENOENT ? 0 : r;
}

int rpm_database_take(guestfs_h *g, RpmDatabase *ret) {
        _cleanup_rpm_database_ RpmDatabase d = RPM_DATABASE_NONE;
        int r = -ENOENT;

        for (size_t i = 0; i < ELEMENTSOF(folders) && r == -ENOENT; i++)
                for (size_t k = 0; k < ELEMENTSOF(names) && r == -ENOENT; k++)
                        r = take(g, folders[i], names[k], &d);
        if (r < 0)
                return r;
        rpm_database_done(ret);
        *ret = d;
        d = (RpmDatabase) RPM_DATABASE_NONE;
        return 0;
}

/* --- what rpm says ---------------------------------------------------------------------------- */

/* "nodejs:20:9040020240…:rhel9" */
static int set_module(json_object *o, const char *label) {
        const char *colon = strchr(label, ':');
        _cleanup_free_ char *module = NULL;

        if (!colon)
                return 0;
        module = strndup(label, (size_t) (colon - label) + 1 + strcspn(colon + 1, ":"));
        if (!module)
                return -ENOMEM;
        json_clean_utf8(module);
        return json_set_string(o, "module", module);
}

/* A stranger's words, NULL where there are none. */
static int set_word(json_object *o, const char *key, const char *word) {
        _cleanup_free_ char *clean = word ? strdup(word) : NULL;

        if (!word)
                return 0;
        if (!clean)
                return -ENOMEM;
        json_clean_utf8(clean);
        return json_set_string(o, key, clean);
}

static int add_rpm(const RpmPackage *p, void *userdata) {
        const struct {
                const char *key, *word;
        } words[] = { { "name", p->name }, { "version", p->version }, { "arch", p->arch },
                { "source", p->source }, { "source_version", p->source_version } };
        json_object *o = NULL;
        int r;

        if (!p->module) /* no line that was asked for */
                return 0;
        r = json_append_object(userdata, &o);
        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(words); i++)
                r = set_word(o, words[i].key, words[i].word);
        return r < 0 ? r : set_module(o, p->module);
}

int rpm_database_parse(const char *text, json_object **ret) {
        _cleanup_json_ json_object *packages = json_object_new_array();
        int r;

        if (!packages)
                return -ENOMEM;
        r = rpm_list_read(text, add_rpm, packages);
        if (r < 0)
                return r;
        json_object_array_sort(packages, inspect_by_name);
        *ret = TAKE_PTR(packages);
        return 0;
}

/* --- rpm in its sandbox ----------------------------------------------------------------------- */

static int in_child(void *userdata) {
        const RpmDatabase *d = userdata;
        const struct rlimit memory = { MEMORY_MAX, MEMORY_MAX }, core = { 0, 0 };

        if (fcntl(d->fd, F_SETFD, 0) < 0 || (d->wal_fd >= 0 && fcntl(d->wal_fd, F_SETFD, 0) < 0))
                return -errno;
        if (setrlimit(RLIMIT_AS, &memory) < 0 || setrlimit(RLIMIT_CORE, &core) < 0)
                return -errno;
        return 0;
}

/* The database's files are copies in the sandbox's memory, where SQLite writes beside them. */
static int add_file(int fd, const char *name, const char *suffix, char ***argv) {
        _cleanup_free_ char *number = strf("%d", fd), *path = strf(INSIDE "/%s%s", name, suffix);

        return number && path ? strv_extend_strv(argv, ARGV("--file", number, path)) : -ENOMEM;
}

static int make_command(const RpmDatabase *d, char ***argv) {
        int r;

        r = strv_extend_strv(argv,
                        ARGV("bwrap", "--unshare-all", "--die-with-parent", "--new-session",
                                        "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin",
                                        "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64",
                                        "/lib64", "--proc", "/proc", "--dev", "/dev"));
        if (r < 0)
                return r;
        r = add_file(d->fd, d->name, "", argv);
        if (r < 0)
                return r;
        r = d->wal_fd >= 0 ? add_file(d->wal_fd, d->name, "-wal", argv) : 0;
        if (r < 0)
                return r;
        return strv_extend_strv(
                        argv, ARGV("rpm", "--dbpath", INSIDE, "--nodigest", "--nosignature", "-qa",
                                              "--qf", RPM_LIST_FORMAT RPM_LIST_MODULE "\\n"));
}

static int run_rpm(const RpmDatabase *d, char **ret_text, int *ret_status) {
        const SpawnOptions options = {
                .env = ARGV("PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"),
                .prepare = in_child,
                .prepare_data = (void *) d,
                .timeout_usec = TIMEOUT_USEC,
        };
        _cleanup_strv_free_ char **argv = NULL;
        int r = make_command(d, &argv);

        return r < 0 ? r : spawn_capture(&options, argv, ret_text, ret_status);
}

int rpm_database_read(const RpmDatabase *d, json_object **ret) {
        _cleanup_free_ char *text = NULL;
        int r, status = 0;

        if (!program_find("rpm", NULL) || !program_find("bwrap", NULL))
                return log_error_return(-ENOPKG,
                                "The image's packages are RPMs, and rpm and bwrap have to read what they were made from: 'apt-get install rpm bubblewrap'");
        r = run_rpm(d, &text, &status);
        if (r == -ECANCELED)
                return r;
        if (r < 0)
                return log_error_errno(r, "Cannot run rpm for the image's database");
        if (status != 0)
                return log_error_return(-EINVAL, "rpm cannot read the image's database: %s",
                                isempty(text) ? "it says nothing" : text);
        return rpm_database_parse(text, ret) < 0 ? log_oom() : 0;
}
